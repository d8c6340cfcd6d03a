//! Runs a skill's scripts: decided, recorded, and from a private copy of exactly the approved content.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metier_journal::{
    Event, JournalError, Privacy, RecordedAnswer, RunFacts, ScriptExecuted, ScriptOutcome, Time,
};
use metier_policy::{Action, Approval, Decision, Reach, Request};
use metier_sandbox::{
    Cancel, Executor, Job, Network, PinnedPath, PrivateDirectory, Protection, Purpose, RunLimits,
    SandboxError, SandboxProfile, Sink, Strictness, WorkDirectory,
};
use metier_skill::{Coded as _, ManifestFile};
use serde_json::json;

use crate::active_skill::ActiveSkill;
use crate::check::of_dependencies;
use crate::error::SessionError;
use crate::report::{OfRun as _, RunReport, ScriptReport};
use crate::session::{Recording, Session, recorded_rule};
use crate::skill_script::SkillScript;
use crate::source::Source;

/// The tool name under which decisions about scripts are recorded.
const TOOL: &str = "run_skill_script";

/// A script to run, with its inputs and limits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScriptCall {
    /// The skill's name or id.
    pub skill: String,
    /// The script's path in the skill.
    pub script: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its standard input.
    pub input: Vec<u8>,
    /// The directory that it may change; without one, it gets an empty one that is removed afterwards.
    pub work: Option<WorkDirectory>,
    /// Whether it starts in the skill's directory instead of the work directory.
    pub starts_in_skill: bool,
    /// How long it may take, if shorter than the limits.
    pub timeout: Option<Duration>,
    /// Its limits.
    pub limits: RunLimits,
    /// Its network access.
    pub network: Network,
    /// Whether it is marked as destructive.
    pub is_destructive: bool,
    /// Its environment variables.
    pub variables: BTreeMap<String, String>,
    /// Whether the user accepts Landlock and the system call filter alone if namespaces are not available.
    pub allows_weaker: bool,
    /// Stops it early.
    pub cancel: Cancel,
}

impl ScriptCall {
    /// A script without arguments, with default limits, and without network access. [`Session::work_directory`] opens
    /// the directory it may change; with `None`, it gets an empty one that is removed afterwards.
    pub fn new(
        skill: impl Into<String>,
        script: impl Into<String>,
        work: impl Into<Option<WorkDirectory>>,
    ) -> Self {
        Self {
            skill: skill.into(),
            script: script.into(),
            arguments: Vec::new(),
            input: Vec::new(),
            work: work.into(),
            starts_in_skill: false,
            timeout: None,
            limits: RunLimits::default(),
            network: Network::default(),
            is_destructive: false,
            variables: BTreeMap::new(),
            allows_weaker: false,
            cancel: Cancel::never(),
        }
    }
}

/// A script that may run now. A host with other work for the session can run it without the session.
pub struct PreparedScript {
    job: Box<Job>,
    script: SkillScript,
    executor: Arc<dyn Executor + Send + Sync>,
    record: Box<ScriptExecuted>,
    skill_id: String,
    start: Time,
    /// The one-time answers that this run uses up.
    used: Vec<Approval>,
    /// The job to run.
    copy: PrivateDirectory,
}

/// A script that has run, or could not be started.
#[derive(Debug)]
pub struct FinishedScript {
    outcome: Result<Box<RunReport>, SandboxError>,
    /// The result of checking its dependencies, if it declares any.
    check: Option<Event>,
    record: Box<ScriptExecuted>,
    skill_id: String,
    start: Time,
    /// Answers that were used up although nothing was started.
    unused: Vec<Approval>,
    made: Made,
}

/// Directories that were created for a run. They are removed with this value, after the run was recorded, because
/// removal can take long or fail.
#[derive(Debug)]
struct Made {
    _copy: PrivateDirectory,
    _work: Vec<WorkDirectory>,
}

impl fmt::Debug for PreparedScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedScript").field("job", &self.job).finish_non_exhaustive()
    }
}

impl PreparedScript {
    /// The job that is about to run.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Does not run the script, because the host cannot.
    pub fn give_up(self, source: io::Error) -> FinishedScript {
        let Self { job, record, skill_id, start, used: unused, copy, .. } = self;
        let error = SandboxError::Launch { step: "preparing to be ended".to_owned(), source };
        let made = Made { _copy: copy, _work: job.profile.writable };
        FinishedScript { outcome: Err(error), check: None, record, skill_id, start, unused, made }
    }

    /// Runs the script to its end, if its dependencies are installed.
    pub fn run(self, sink: &mut dyn Sink) -> FinishedScript {
        let Self { job, script, executor, record, skill_id, start, used, copy } = self;
        let checked = script.check_dependencies(&*executor, &job.profile, &job.cancel);
        let check = script.has_dependencies().then(|| of_dependencies(&record, checked.as_ref().err()));
        let is_tried = checked.is_ok();
        let outcome = checked.and_then(|()| executor.run(&job, sink));
        let unused = match &outcome {
            Err(error) if !is_tried || never_started(error) => used,
            _ => Vec::new(),
        };
        let outcome = outcome.map(|outcome| Box::new(RunReport::new(&job.profile, outcome)));
        let made = Made { _copy: copy, _work: job.profile.writable };
        FinishedScript { outcome, check, record, skill_id, start, unused, made }
    }
}

impl Session {
    /// Runs a script of a skill: checked against the policy, sandboxed and recorded.
    pub fn run_script(
        &mut self,
        call: ScriptCall,
        sink: &mut dyn Sink,
    ) -> Result<ScriptReport, SessionError> {
        let finished = self.prepare_script(call)?.run(sink);
        self.finish_script(finished)
    }

    /// Does everything that comes before a script runs. A refusal is recorded.
    pub fn prepare_script(&mut self, call: ScriptCall) -> Result<PreparedScript, SessionError> {
        let name = call.skill.clone();
        let prepared = self.prepare_or_say_why_not(call);
        self.note_failed_check(&name, prepared)
    }

    fn prepare_or_say_why_not(&mut self, call: ScriptCall) -> Result<PreparedScript, SessionError> {
        self.check_budget()?;
        let start = self.options.clock.now();
        let (entry, held) = self.hold(&call.skill)?;
        let source = Source::open(&self.catalog, &entry)?;
        let file = self.file_of(&held, &source, &call.script)?;
        let mut record = self.record_of(&held, &file, &call);
        self.check_record(&record)?;
        let prepared = self.try_prepare(call, &held, &source, &file, &mut record);
        let (job, script, copy, used) = match prepared {
            Ok(prepared) => prepared,
            Err(asked @ SessionError::Asked { .. }) => return Err(asked),
            Err(error) => {
                let is_denied = matches!(error, SessionError::Denied { .. });
                let outcome = if is_denied { ScriptOutcome::Denied } else { ScriptOutcome::Failed };
                let code = match &error {
                    SessionError::Denied { decision } => decision.code.as_str(),
                    other => other.code(),
                };
                let duration_us = self.since(start);
                let (code, rule) = (Some(code.to_owned()), error.deciding_rule().map(recorded_rule));
                let record = ScriptExecuted { outcome, code, rule, duration_us, ..record };
                self.record(&Event::SkillScriptExecuted(Box::new(record)))?;
                return Err(error);
            }
        };
        let executor = Arc::clone(&self.options.executor);
        let (job, record) = (Box::new(job), Box::new(record));
        Ok(PreparedScript { job, script, executor, record, skill_id: held.id, start, used, copy })
    }

    /// Records the result of a script.
    pub fn finish_script(&mut self, finished: FinishedScript) -> Result<ScriptReport, SessionError> {
        let FinishedScript { outcome, check, record, skill_id, start, unused, made } = finished;
        let mut record = ScriptExecuted { duration_us: self.since(start), ..*record };
        match &outcome {
            Ok(run) => run.describe(&self.options.privacy, &mut record),
            Err(error) => {
                (record.outcome, record.code) = (ScriptOutcome::Failed, Some(error.code().to_owned()));
            }
        }
        let (script, script_digest, tree_digest) =
            (record.script.clone(), record.script_digest, record.tree_digest);
        let checked = check.map_or(Ok(()), |check| self.record(&check));
        let recorded = self.record_end(record).and(checked);
        drop(made);
        // The reason why it did not start is what matters. An answer that cannot be stored again stays used up.
        let _ = self.give_back(&unused);
        let run = *outcome?;
        recorded.map_err(|error| match error {
            SessionError::Journal(source) => SessionError::Unrecorded { source },
            other => other,
        })?;
        Ok(ScriptReport { skill_id, script, script_digest, tree_digest, run })
    }

    fn try_prepare(
        &mut self,
        call: ScriptCall,
        held: &ActiveSkill,
        source: &Source,
        file: &ManifestFile,
        record: &mut ScriptExecuted,
    ) -> Result<(Job, SkillScript, PrivateDirectory, Vec<Approval>), SessionError> {
        let script = file.path.to_string_lossy().into_owned();
        let mut request =
            Request::new(held.tier, &held.name, held.tree_digest, Action::Run { script: &script });
        let reach = reach(&call.network)?;
        request.network = reach.as_ref();
        request.destructive = call.is_destructive;
        let work = call.work.as_ref().filter(|work| !work.is_temporary());
        (request.arguments, request.work) = (Some(call.arguments.as_slice()), work.map(WorkDirectory::path));
        (request.input, request.variables) = (Some(call.input.as_slice()), Some(&call.variables));
        let is_asked = !self.options.policy.decide(&request).is_allowed();
        let content = is_asked.then(|| shown(source, file)).flatten();
        request.content = content.as_deref();
        let permission = self.permit(&request)?;
        record.facts.approved = Some(permission.approved.clone());
        let strictness = self.strictness(&call, held)?;
        let copy = self.copy_of(held, source)?;
        let place = PinnedPath::pin(copy.path().join(&held.name))?;
        let profile = self.profile(&call, held, place.clone(), strictness)?;
        let found = SkillScript::find(&place, &file.path)?;
        let arguments = call.arguments.iter().map(OsString::from).collect();
        let mut job = found.job(profile, arguments);
        // The last step before the script starts: if metier is killed in between, the answer is used up; of two
        // processes, only one gets it.
        let permission = self.use_up(&request, permission)?;
        if let Err(error) = self.announce(&call, held, &script, &permission.decision) {
            let _ = self.give_back(&permission.once);
            return Err(error);
        }
        (job.input, job.cancel) = (call.input, call.cancel);
        Ok((job, found, copy, permission.once))
    }

    /// Records that a script is about to run, so that the journal also has scripts whose end was not seen.
    fn announce(
        &mut self,
        call: &ScriptCall,
        held: &ActiveSkill,
        script: &str,
        decision: &Decision,
    ) -> Result<(), SessionError> {
        let arguments = json!({ "skill_name": held.id, "script_name": script, "args": call.arguments });
        self.record_decision(
            TOOL,
            &arguments.to_string(),
            decision,
            [(held.name.clone(), held.tree_digest)].into(),
        )?;
        match &self.options.recording {
            Recording::Journal(journal) => Ok(journal.ready()?),
            Recording::Nowhere => Ok(()),
        }
    }

    /// A private copy of exactly the approved content of the skill: it cannot be changed after it was checked.
    fn copy_of(&self, held: &ActiveSkill, source: &Source) -> Result<PrivateDirectory, SessionError> {
        let limits = &self.options.rules.limits;
        let copy = PrivateDirectory::make(Purpose::Skill)?;
        let path = copy.path().join(&held.name);
        let made =
            fs::create_dir(&path).and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)));
        made.map_err(|source| SessionError::Copy { path: path.clone(), source })?;
        let manifest = source.copy_to(&path, limits)?;
        if manifest == held.manifest {
            return Ok(copy);
        }
        let what = difference(&held.manifest, &manifest);
        Err(SessionError::Changed { name: held.name.clone(), what })
    }

    /// The protections that the script requires.
    fn strictness(&mut self, call: &ScriptCall, held: &ActiveSkill) -> Result<Strictness, SessionError> {
        let usual = Strictness::of_tier(held.tier);
        if !call.allows_weaker || usual == Strictness::Core {
            return Ok(usual);
        }
        let floor = Strictness::floor_of_tier(held.tier);
        if floor < usual {
            // Accepted risks are recorded like any other answer.
            self.record(&Event::SkillApproval {
                name: held.name.clone(),
                tree_digest: held.tree_digest,
                script: Some(call.script.clone()),
                access: "weaker_sandbox".to_owned(),
                network: None,
                answer: RecordedAnswer::Granted,
                lifetime: "once".to_owned(),
                by: self.options.principal.clone(),
                how: None,
            })?;
        }
        Ok(floor)
    }

    fn profile(
        &self,
        call: &ScriptCall,
        held: &ActiveSkill,
        skill: PinnedPath,
        strictness: Strictness,
    ) -> Result<SandboxProfile, SessionError> {
        let work = self.work_of(call, held)?;
        let mut profile = SandboxProfile::new(held.tier, work);
        profile.strictness = strictness;
        profile.limits = call.limits.clone();
        profile.limits.wall = self.time_left(call);
        profile.network = call.network.clone();
        if call.starts_in_skill {
            skill.path().clone_into(&mut profile.directory);
        }
        profile.add_skill_copy(skill, &held.directory);
        let variables = call.variables.iter().map(|(name, value)| (name.into(), value.into()));
        profile.environment.extend(variables);
        self.protect(&mut profile)?;
        Ok(profile)
    }

    /// How long a script may take: its limits, the caller's timeout, and the remaining budget of the session.
    fn time_left(&self, call: &ScriptCall) -> Duration {
        let wall = call.timeout.map_or(call.limits.wall, |timeout| timeout.min(call.limits.wall));
        let Some(deadline) = self.options.budget.and_then(|budget| budget.deadline) else { return wall };
        let left = deadline.as_micros().saturating_sub(self.options.clock.now().as_micros());
        wall.min(Duration::from_micros(u64::try_from(left).unwrap_or(0)).max(Duration::from_millis(1)))
    }

    /// The record of a run, as far as it is known before.
    fn record_of(&self, held: &ActiveSkill, file: &ManifestFile, call: &ScriptCall) -> ScriptExecuted {
        let privacy = &self.options.privacy;
        let variables = call.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        ScriptExecuted {
            name: held.name.clone(),
            tree_digest: held.tree_digest,
            script: file.path.to_string_lossy().into_owned(),
            script_digest: file.digest,
            arguments: privacy.arguments(&call.arguments),
            input: (!call.input.is_empty()).then(|| privacy.content(&call.input)),
            variables: privacy.variables(variables),
            outcome: ScriptOutcome::Failed,
            exit: None,
            code: None,
            rule: None,
            duration_us: 0,
            protections: Vec::new(),
            stdout: None,
            stderr: None,
            facts: RunFacts::before(call.work.as_ref().map(WorkDirectory::path), &call.network),
        }
    }

    /// Whether the record of a run fits, whatever the result: after the run it is too late.
    fn check_record(&self, record: &ScriptExecuted) -> Result<(), SessionError> {
        let Recording::Journal(_) = &self.options.recording else { return Ok(()) };
        let nothing = Privacy::default().content(b"");
        let longest = ScriptExecuted {
            code: Some(" ".repeat(100)),
            rule: Some(" ".repeat(400)),
            exit: Some(i64::from(i32::MIN)),
            duration_us: u64::from(u32::MAX),
            protections: Protection::ALL.iter().map(|one| one.as_str().to_owned()).collect(),
            stdout: Some(nothing.clone()),
            stderr: Some(nothing),
            ..record.clone()
        };
        let event = Event::SkillScriptExecuted(Box::new(longest));
        metier_journal::PendingRecord::new(&*self.options.clock, &self.context, &event)?;
        Ok(())
    }

    /// Records how a script ended; without its output and lists, if they do not fit.
    fn record_end(&mut self, mut record: ScriptExecuted) -> Result<(), SessionError> {
        let done = self.record(&Event::SkillScriptExecuted(Box::new(record.clone())));
        let Err(SessionError::Journal(JournalError::Event { .. })) = done else { return done };
        for printed in [&mut record.stdout, &mut record.stderr].into_iter().flatten() {
            printed.text = None;
        }
        record.facts = record.facts.without_lists();
        self.record(&Event::SkillScriptExecuted(Box::new(record)))
    }
}

/// The text of a script, for an approval question; `None` if it is too long or does not match its digest.
fn shown(source: &Source, file: &ManifestFile) -> Option<String> {
    const MOST: u64 = 256 << 10;
    let bytes = source.read(&file.path, MOST).ok()?;
    (metier_skill::Digest::of(&bytes) == file.digest).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether an executor's error means that the script has certainly not started. [`SandboxError::Launch`] does not,
/// because the launcher can also be lost afterwards.
const fn never_started(error: &SandboxError) -> bool {
    matches!(
        error,
        SandboxError::Missing { .. }
            | SandboxError::Path { .. }
            | SandboxError::Swapped { .. }
            | SandboxError::TooWide { .. }
            | SandboxError::Reserved { .. }
            | SandboxError::Private { .. }
            | SandboxError::Note { .. }
            | SandboxError::Link { .. }
            | SandboxError::ProtectedLink { .. }
            | SandboxError::NotWritable { .. }
            | SandboxError::LauncherGone { .. }
            | SandboxError::Program { .. }
            | SandboxError::NotAScript { .. }
            | SandboxError::Unsupported
    )
}

/// The network access of a call, if it is more than the script's own loopback.
fn reach(network: &Network) -> Result<Option<Reach>, SessionError> {
    Ok(match network {
        Network::None | Network::Loopback => None,
        Network::Proxy(hosts) => Some(Reach::hosts(hosts.iter().map(ToString::to_string))?),
        _ => Some(Reach::WHOLE),
    })
}

/// The first file that differs.
fn difference(old: &metier_skill::Manifest, new: &metier_skill::Manifest) -> String {
    let shown = |path: &Path| format!("`{}`", path.display());
    let changed = old.files().iter().find(|file| new.get(&file.path) != Some(*file));
    match changed.or_else(|| new.files().iter().find(|file| old.get(&file.path).is_none())) {
        Some(file) if old.get(&file.path).is_none() => format!("{} is new", shown(&file.path)),
        Some(file) if new.get(&file.path).is_none() => format!("{} was removed", shown(&file.path)),
        Some(file) => format!("{} has changed", shown(&file.path)),
        None => "its files".to_owned(),
    }
}
