//! The prompt's skills for a model without files: loaded through tools of the session, or part of its instructions from the start.

use std::path::PathBuf;

use metier_catalog::Entry;
use metier_home::{MountOptions, MountedSkill, Workspace, add_skills};
use metier_prompt::{
    ActivationHint, ListedSkill, MountSource, Prompt, RenderedList, RenderedPrompt, RenderedSkill, SkillKind,
    SkillList, SkillMount, ToolNames,
};
use metier_session::tools::SkillToolKind;
use metier_session::{AgentSkill, OfferedSkills, Session, SkillTool};
use metier_skill::Digest;
use serde_json::Value;

use crate::error::HarnessError;
use crate::evaluation::LoadedSkill;
use crate::event::{AgentEvent, AgentEventKind};
use crate::message::{PromptToolCall, ToolAnswered};
use crate::mounted::Mounted;
use crate::run::Run;
use crate::setup::{agent_skills, prompt_skills};

/// How the prompt's skills reach a model that has no files.
///
/// Copies of them are made for each conversation, as for other agents. The model lists, loads and reads them, and runs their scripts,
/// with the tools of the session: so the policy applies and everything is recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkillTools {
    /// The directory in which copies are made. They are removed when the conversation ends.
    pub base: PathBuf,
    /// How skills are copied.
    pub mount: MountOptions,
    /// Skills whose instructions the model has from the start.
    pub injected: InjectedSkills,
}

impl SkillTools {
    /// All skills are loaded by the model.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), mount: MountOptions::default(), injected: InjectedSkills::default() }
    }
}

/// Skills whose instructions are given to a model from the start. They are activated, and recorded as activated by the person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InjectedSkills {
    /// None: the model loads what it needs.
    #[default]
    None,
    /// These, by name. Each must be a skill of the prompt.
    These(Vec<String>),
    /// All skills of the prompt.
    All,
}

/// The skills of one conversation.
#[derive(Debug)]
pub(crate) struct Offered {
    skills: OfferedSkills,
    pub(crate) tools: Vec<SkillTool>,
    pub(crate) instructions: Option<String>,
    pub(crate) injected: Vec<LoadedSkill>,
    /// The copies.
    _workspace: Workspace,
}

/// What a call of a skill tool did.
pub(crate) struct Called {
    pub(crate) answer: ToolAnswered,
    pub(crate) loaded: Option<LoadedSkill>,
}

impl Offered {
    /// Copies the prompt's skills, and activates those that are injected. `None` if the prompt has no skills.
    pub(crate) fn new(
        session: &mut Session,
        rendered: &RenderedPrompt,
        how: &SkillTools,
        prompt: &Prompt,
    ) -> Result<Option<Self>, HarnessError> {
        if rendered.skills.is_empty() {
            return Ok(None);
        }
        let workspace = Workspace::new(&how.base, &[], &[])?;
        let directory = workspace.path().join("skills");
        let mounts: Vec<SkillMount> = rendered.skills.iter().map(|skill| (*skill.mount).clone()).collect();
        let mounted = add_skills(&mounts, &directory, &how.mount)?;
        let agent_skills = agent_skills(&mounted);
        let origins = mounted.iter().map(|skill| origin_of(skill, &rendered.skills));
        let copies: Vec<(AgentSkill, Option<PathBuf>)> = agent_skills.iter().cloned().zip(origins).collect();
        let record = prompt_skills(prompt, |kind| names(&rendered.skills, kind), &directory);
        if !agent_skills.is_empty() {
            session.prompt_skills_installed(&agent_skills, record)?;
        }
        let skills = session.offer(&copies);
        let tools = skills.tools();
        let mut offered =
            Self { skills, tools, instructions: None, injected: Vec::new(), _workspace: workspace };
        let injected = match &how.injected {
            InjectedSkills::None => Vec::new(),
            InjectedSkills::These(names) => names.clone(),
            InjectedSkills::All => agent_skills.iter().map(|skill| skill.name.clone()).collect(),
        };
        match offered.inject(session, &injected) {
            Ok(texts) => {
                let (instructions, tokens) = offered.instructions(&injected, &texts);
                offered.instructions = Some(instructions);
                session.disclosed(offered.open(&injected).zip(tokens))?;
            }
            Err(error) => {
                offered.withdraw(session)?;
                return Err(error);
            }
        }
        Ok(Some(offered))
    }

    /// Activates skills; their texts.
    fn inject(&mut self, session: &mut Session, names: &[String]) -> Result<Vec<String>, HarnessError> {
        let mut texts = Vec::new();
        for name in names {
            let activation = session.inject_offered(&mut self.skills, name)?;
            let digest = Some(activation.tree_digest);
            self.injected.push(LoadedSkill { name: activation.name, digest });
            texts.push(activation.content);
        }
        Ok(texts)
    }

    /// What the model is told of its skills: which it can load, and the texts of those that it has.
    /// Also the tokens of each that it can load.
    fn instructions(&self, injected: &[String], texts: &[String]) -> (String, Vec<u64>) {
        let open: Vec<&Entry> = self.open(injected).collect();
        let listed: Vec<ListedSkill<'_>> = open
            .iter()
            .map(|entry| {
                let description = entry.listing().and_then(|listing| listing.description);
                ListedSkill { name: entry.name(), description, location: None }
            })
            .collect();
        let load = self.tools.iter().find(|tool| is_load(&tool.name));
        let hint = load.map(|tool| ActivationHint::Tool(&tool.name));
        let RenderedList { text: list, items, .. } =
            SkillList::new(&listed).activation(hint).search(None).render();
        let begin = (!texts.is_empty()).then(|| {
            "These skills are active. Follow their instructions where the task is about them.".to_owned()
        });
        let parts = begin.into_iter().chain(texts.iter().cloned()).chain((!list.is_empty()).then_some(list));
        let text = parts.map(|part| part.trim_end().to_owned()).collect::<Vec<_>>().join("\n\n");
        (text, items.into_iter().map(|tokens| tokens as u64).collect())
    }

    /// The skills that the model can load, and does not have from the start.
    fn open<'a>(&'a self, injected: &'a [String]) -> impl Iterator<Item = &'a Entry> {
        self.skills.listed().filter(|entry| !injected.iter().any(|name| name == entry.name()))
    }

    /// Whether a tool is one of these.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|known| known.name == tool)
    }

    /// Calls a tool. What fails is told to the model.
    pub(crate) fn call(&mut self, session: &mut Session, call: &PromptToolCall) -> Called {
        match session.dispatch_offered(&mut self.skills, &call.tool, call.arguments.clone()) {
            Ok(answer) => {
                let loads = is_load(&call.tool);
                let loaded = loads.then(|| loaded(&answer.facts)).flatten();
                Called { answer: ToolAnswered { text: answer.text, is_error: false }, loaded }
            }
            Err(error) => {
                Called { answer: ToolAnswered { text: error.text(), is_error: true }, loaded: None }
            }
        }
    }

    /// Ends the conversation for the session.
    pub(crate) fn withdraw(self, session: &mut Session) -> Result<(), HarnessError> {
        Ok(session.withdraw(self.skills)?)
    }
}

impl Run<'_> {
    /// Offers the prompt's skills to an agent that has no home.
    pub(crate) fn offer(
        &mut self,
        session: &mut Session,
        rendered: &RenderedPrompt,
    ) -> Result<Option<Offered>, HarnessError> {
        let Some(how) = self.options.harness.skill_tools() else { return Ok(None) };
        let prompt = self.options.rendering.prompt();
        let offered = Offered::new(session, rendered, how, prompt)?;
        let Some(offered) = offered else { return Ok(None) };
        if offered.tools.iter().any(|tool| rendered.tool(&tool.name).is_some()) {
            offered.withdraw(session)?;
            let what = "a tool of a prompt with the name of a skill tool";
            return Err(HarnessError::Unsupported { agent: self.agent(), what });
        }
        offered.injected.iter().for_each(|skill| self.note_loaded(skill.clone()));
        Ok(Some(offered))
    }

    /// Calls a tool that loads skills. `None` if it is another tool.
    pub(crate) fn skill_tool(
        &mut self,
        session: &mut Session,
        mounted: &mut Mounted,
        call: &PromptToolCall,
    ) -> Option<ToolAnswered> {
        let offered = mounted.offered.as_mut().filter(|offered| offered.has(&call.tool))?;
        let Called { answer, loaded } = offered.call(session, call);
        if let Some(skill) = loaded {
            self.note_loaded(skill);
        }
        Some(answer)
    }

    fn note_loaded(&mut self, skill: LoadedSkill) {
        let (name, digest) = (skill.name.clone(), skill.digest);
        self.skills.push(skill);
        self.emit(&AgentEvent::synthetic(AgentEventKind::SkillActivated { name, digest, path: None }));
    }
}

fn is_load(tool: &str) -> bool {
    SkillToolKind::find(tool, ToolNames::Plain) == Some(SkillToolKind::Load)
}

/// The skill that was loaded, unless the conversation had it before.
fn loaded(facts: &Value) -> Option<LoadedSkill> {
    if facts.get("already_active") == Some(&Value::Bool(true)) {
        return None;
    }
    let name = facts.get("name")?.as_str()?.to_owned();
    let digest: Option<Digest> = facts.get("tree_digest")?.as_str()?.parse().ok();
    Some(LoadedSkill { name, digest })
}

fn origin_of(mounted: &MountedSkill, rendered: &[RenderedSkill]) -> Option<PathBuf> {
    let skill = rendered.iter().find(|skill| *skill.name == *mounted.name)?;
    match skill.mount.source() {
        MountSource::Path(path) => Some(path.clone()),
        _ => None,
    }
}

fn names(skills: &[RenderedSkill], kind: SkillKind) -> Vec<String> {
    skills.iter().filter(|skill| skill.kind == kind).map(|skill| skill.name.to_string()).collect()
}
