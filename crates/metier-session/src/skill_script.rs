//! A skill's script: which program runs it, and whether its dependencies are installed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use metier_sandbox::{
    Cancel, Ending, Executor, Job, Limit, Network, PinnedPath, SandboxError, SandboxProfile,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The maximum number of bytes that are read to find the interpreter.
const HEAD: u64 = 64 << 10;

/// The interpreters by file extension.
const BY_EXTENSION: &[(&str, &[&str])] = &[
    ("sh", &["sh"]),
    ("bash", &["bash"]),
    ("zsh", &["zsh"]),
    ("fish", &["fish"]),
    ("py", &["python3"]),
    ("js", &["node"]),
    ("mjs", &["node"]),
    ("cjs", &["node"]),
    ("ts", &["node", "--experimental-strip-types"]),
    ("rb", &["ruby"]),
    ("pl", &["perl"]),
    ("php", &["php"]),
    ("lua", &["lua"]),
    ("tcl", &["tclsh"]),
    ("r", &["Rscript"]),
    ("jl", &["julia"]),
    ("awk", &["awk", "-f"]),
    ("sed", &["sed", "-f"]),
    ("ps1", &["pwsh", "-NoProfile", "-File"]),
];

/// A file of a skill that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillScript {
    /// Its path, the same inside and outside of the sandbox.
    pub(crate) path: PathBuf,
    /// The interpreter, with its own arguments; empty if the file is a program itself.
    pub(crate) interpreter: Vec<OsString>,
    /// Its declared dependencies (`dependencies` in a PEP 723 header).
    pub(crate) dependencies: Vec<String>,
    /// Its declared Python version (`requires-python` there).
    pub(crate) requires_python: Option<String>,
}

impl SkillScript {
    /// Examines a file of a skill: its first line, then its extension, then its execute permission.
    pub(crate) fn find(skill: &PinnedPath, path: impl AsRef<Path>) -> Result<Self, SandboxError> {
        let path = path.as_ref();
        let not =
            |reason: &str| SandboxError::NotAScript { path: path.to_owned(), reason: reason.to_owned() };
        if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(not("only files of the skill can be run, by their path in the skill"));
        }
        let mut file = open_beneath(skill, path).map_err(|error| match error.raw_os_error() {
            Some(number) if number == Errno::LOOP.raw_os_error() => {
                not("it is a link, or its path contains one")
            }
            _ => not(&error.to_string()),
        })?;
        let metadata = file.metadata().map_err(|error| not(&error.to_string()))?;
        if !metadata.is_file() {
            return Err(not("it is not a file"));
        }
        let mut head = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut head).map_err(|error| not(&error.to_string()))?;
        let can_run = metadata.permissions().mode() & 0o111 != 0;
        let interpreter = match shebang(&head).or_else(|| by_extension(path)) {
            Some(interpreter) => interpreter,
            None if can_run => Vec::new(),
            None => {
                return Err(not("it has no `#!` line, no known file extension and no execute permission"));
            }
        };
        let (dependencies, requires_python) = header(&head).map_err(|reason| not(&reason))?;
        Ok(Self { path: skill.path().join(path), interpreter, dependencies, requires_python })
    }

    /// The job that runs it.
    pub(crate) fn job(&self, profile: SandboxProfile, arguments: Vec<OsString>) -> Job {
        let mut words = self.interpreter.iter().cloned().chain([self.path.clone().into_os_string()]);
        let program = words.next().unwrap_or_default();
        Job::new(profile, program, words.chain(arguments).collect())
    }

    /// Whether it declares dependencies, which are then checked.
    pub(crate) fn has_dependencies(&self) -> bool {
        !self.dependencies.is_empty() || self.requires_python.is_some()
    }

    /// Checks in the sandbox that all declared dependencies of the script are installed.
    ///
    /// The program is always the system's `python3`, isolated (`-I`): nothing from the skill or the work directory is
    /// run or writable. It has no network access and ten seconds.
    pub(crate) fn check_dependencies(
        &self,
        executor: &dyn Executor,
        profile: &SandboxProfile,
        cancel: &Cancel,
    ) -> Result<(), SandboxError> {
        if !self.has_dependencies() {
            return Ok(());
        }
        let failed = |reason: String| SandboxError::DependencyCheck { path: self.path.clone(), reason };
        let outcome = match executor.run(&self.dependency_job(profile, cancel), &mut ()) {
            Err(SandboxError::Program { source, .. }) => {
                return Err(failed(format!("cannot run `python3`: {source}")));
            }
            other => other?,
        };
        let missing: Vec<String> =
            String::from_utf8_lossy(&outcome.output.bytes).lines().map(str::to_owned).collect();
        match outcome.ending {
            Ending::Exited(0) if missing.is_empty() => Ok(()),
            Ending::Exited(0) => Err(SandboxError::Dependencies { path: self.path.clone(), missing }),
            Ending::Exited(code) => Err(failed(format!("`python3` exited with code {code}"))),
            Ending::Killed(signal) => Err(failed(format!("`python3` was killed by signal {signal}"))),
            Ending::Limit(Limit::Wall) => Err(failed("`python3` took too long".to_owned())),
            Ending::Limit(limit) => Err(failed(format!("`python3` reached a limit: {}", limit.as_str()))),
            _ => Err(failed("interrupted".to_owned())),
        }
    }

    fn dependency_job(&self, profile: &SandboxProfile, cancel: &Cancel) -> Job {
        let mut profile = profile.clone();
        profile.writable.clear();
        profile.directory = PathBuf::from("/");
        profile.network = Network::None;
        profile.limits.wall = profile.limits.wall.min(CHECK_TIME);
        let mut arguments: Vec<OsString> = vec!["-I".into(), "-c".into(), CHECK.into()];
        arguments.push(self.requires_python.clone().unwrap_or_default().into());
        arguments.extend(self.dependencies.iter().map(OsString::from));
        let mut job = Job::new(profile, "python3", arguments);
        job.cancel = cancel.clone();
        job
    }
}

/// The time limit for checking dependencies.
const CHECK_TIME: Duration = Duration::from_secs(10);

/// Prints each unmet requirement. Versions are compared if a library for that is installed.
const CHECK: &str = r#"
import re, sys
from importlib import metadata
try:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
except ImportError:
    try:
        from pip._vendor.packaging.requirements import Requirement
        from pip._vendor.packaging.specifiers import SpecifierSet
    except ImportError:
        Requirement = SpecifierSet = None
python, needed = sys.argv[1], sys.argv[2:]
if python:
    own = ".".join(map(str, sys.version_info[:3]))
    least = re.fullmatch(r"\s*>=\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?\s*", python)
    if SpecifierSet:
        fits = SpecifierSet(python).contains(own)
    else:
        fits = not least or sys.version_info[:3] >= tuple(int(part or 0) for part in least.groups())
    if not fits:
        print("Python " + python)
for text in needed:
    name = re.match(r"[A-Za-z0-9._-]+", text)
    try:
        requirement = Requirement(text) if Requirement else None
        if requirement and requirement.marker and not requirement.marker.evaluate():
            continue
        version = metadata.version(name.group())
        if requirement and not requirement.specifier.contains(version, prereleases=True):
            print(text + " (there is " + version + ")")
    except Exception:
        print(text)
"#;

/// Opens a file of a skill, each part of its path separately and never through a link.
fn open_beneath(skill: &PinnedPath, path: &Path) -> io::Result<File> {
    let plain = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut directory: File =
        rustix::fs::open(skill.path(), plain | OFlags::DIRECTORY, Mode::empty())?.into();
    if !skill.is(&directory.metadata()?) {
        return Err(Errno::LOOP.into());
    }
    let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_some() {
            let next =
                rustix::fs::openat(&directory, part.as_os_str(), plain | OFlags::DIRECTORY, Mode::empty());
            // A link in the place of a directory is reported as not a directory.
            let tell = |error| if error == Errno::NOTDIR { Errno::LOOP } else { error };
            directory = next.map_err(tell)?.into();
        } else {
            // Without blocking: it could be a pipe.
            let flags = plain | OFlags::NONBLOCK | OFlags::NOCTTY;
            return Ok(rustix::fs::openat(&directory, part.as_os_str(), flags, Mode::empty())?.into());
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// The program in the first line, found by name in the sandbox, because paths differ between machines.
fn shebang(head: &[u8]) -> Option<Vec<OsString>> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut words = line.split(is_blank).filter(|word| !word.is_empty()).map(std::ffi::OsStr::from_bytes);
    let program = words.next()?;
    let name = Path::new(program).file_name()?.to_owned();
    let mut rest: Vec<OsString> = words.map(OsString::from).collect();
    if name != "env" {
        let program = if Path::new(program).starts_with("/usr") || Path::new(program).starts_with("/bin") {
            program.to_owned()
        } else {
            name
        };
        return Some(std::iter::once(program).chain(rest).collect());
    }
    if rest.first().is_some_and(|word| word == "-S") {
        rest.remove(0);
    }
    // `#!/usr/bin/env NAME=value program` and options of env are left to env.
    let is_plain = rest
        .first()
        .is_some_and(|word| !word.as_bytes().contains(&b'=') && !word.as_bytes().starts_with(b"-"));
    let first = rest.first()?.to_string_lossy().into_owned();
    // These would download dependencies, but there is no network access.
    if matches!(first.as_str(), "uv" | "pipx") && rest.iter().any(|word| word == "run") {
        return Some(vec!["python3".into()]);
    }
    if is_plain { Some(rest) } else { Some(std::iter::once("env".into()).chain(rest).collect()) }
}

fn by_extension(path: &Path) -> Option<Vec<OsString>> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let (_, words) = BY_EXTENSION.iter().find(|(known, _)| *known == extension)?;
    Some(words.iter().map(OsString::from).collect())
}

/// The dependencies and the Python version of a PEP 723 header, if there is one.
fn header(head: &[u8]) -> Result<(Vec<String>, Option<String>), String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim_end);
    if !lines.any(|line| line == "# /// script") {
        return Ok((Vec::new(), None));
    }
    let mut toml = String::new();
    for line in lines {
        if line == "# ///" {
            let read: Header = toml::from_str(&toml)
                .map_err(|error| format!("its `# /// script` header: {}", error.message()))?;
            return Ok((read.dependencies, read.requires_python));
        }
        match line.strip_prefix('#') {
            Some(rest) => toml.push_str(rest.strip_prefix(' ').unwrap_or(rest)),
            None => break,
        }
        toml.push('\n');
    }
    Err("its `# /// script` header does not end with `# ///`".into())
}

#[derive(serde::Deserialize)]
struct Header {
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(rename = "requires-python")]
    requires_python: Option<String>,
}

#[cfg(test)]
mod tests {
    use metier_sandbox::WorkDirectory;
    use metier_skill::{Coded as _, Tier};

    use super::*;

    fn words(text: &str) -> Option<String> {
        let found = shebang(text.as_bytes())?;
        Some(found.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn first_lines() {
        assert_eq!(words("#!/bin/sh\n").as_deref(), Some("/bin/sh"));
        assert_eq!(words("#! /usr/bin/perl -w\r\n").as_deref(), Some("/usr/bin/perl -w"));
        assert_eq!(words("#!/usr/bin/env python3\n").as_deref(), Some("python3"));
        assert_eq!(words("#!/usr/bin/env -S node --no-warnings\n").as_deref(), Some("node --no-warnings"));
        assert_eq!(words("#!/opt/homebrew/bin/python3.12").as_deref(), Some("python3.12"));
        assert_eq!(words("#!/usr/bin/env -S uv run --script\n").as_deref(), Some("python3"));
        assert_eq!(words("#!/usr/bin/env A=1 sh\n").as_deref(), Some("env A=1 sh"));
        assert_eq!(words("#!\n"), None);
        assert_eq!(words("print()"), None);
    }

    #[test]
    fn headers() {
        let text = "#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.9\"\n# dependencies = [\n#   \"requests<3\",\n# ]\n# ///\nimport requests\n";
        assert_eq!(header(text.as_bytes()), Ok((vec!["requests<3".into()], Some(">=3.9".into()))));
        assert_eq!(header(b"print()"), Ok((Vec::new(), None)));
        assert!(header(b"# /// script\n# dependencies = [\n").is_err());
        assert!(header(b"# /// script\n# dependencies = 3\n# ///\n").unwrap_err().contains("header"));
    }

    /// Every restriction is checked, although each of them alone already keeps the work directory out.
    #[test]
    fn the_check_of_dependencies_is_isolated_and_has_no_network() {
        let mut profile = SandboxProfile::new(Tier::User, WorkDirectory::temporary().unwrap());
        profile.network = Network::Host;
        profile.limits.wall = Duration::from_mins(10);
        let script = SkillScript {
            path: "scripts/a.py".into(),
            interpreter: vec!["./x".into()],
            dependencies: vec!["requests".to_owned()],
            requires_python: None,
        };
        let Job { profile, program, arguments, .. } = script.dependency_job(&profile, &Cancel::never());
        assert_eq!(program, "python3");
        assert_eq!(arguments[..2], ["-I", "-c"]);
        assert_eq!(profile.network, Network::None);
        assert!(profile.writable.is_empty());
        assert_eq!((profile.directory.to_str(), profile.limits.wall), (Some("/"), CHECK_TIME));
    }

    #[test]
    fn only_files_of_the_skill() {
        let directory = tempfile::tempdir().unwrap();
        let skill = directory.path().join("skill");
        std::fs::create_dir_all(skill.join("scripts")).unwrap();
        std::fs::write(skill.join("scripts/a.py"), "print()").unwrap();
        std::fs::write(skill.join("scripts/notes.txt"), "text").unwrap();
        std::fs::write(directory.path().join("outside.sh"), "").unwrap();
        std::os::unix::fs::symlink("../../outside.sh", skill.join("scripts/link.sh")).unwrap();
        std::os::unix::fs::symlink("scripts", skill.join("other")).unwrap();
        let place = PinnedPath::pin(&skill).unwrap();
        assert_eq!(SkillScript::find(&place, "scripts/a.py").unwrap().interpreter, ["python3"]);
        assert_eq!(SkillScript::find(&place, "./scripts/a.py").unwrap().interpreter, ["python3"]);
        let absolute = skill.join("scripts/a.py");
        for bad in [
            "../outside.sh",
            "scripts/link.sh",
            "other/a.py",
            "scripts",
            "none.sh",
            "scripts/notes.txt",
            "",
            "scripts/../../outside.sh",
            absolute.to_str().unwrap(),
        ] {
            let error = SkillScript::find(&place, bad).unwrap_err();
            assert_eq!(error.code(), "sandbox-not-a-script", "{bad}");
        }
    }
}
