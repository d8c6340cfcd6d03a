//! Installing and removing for every agent, around every form of settings, and when something goes wrong in between.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::environment::Environment;

const SCOPES: [GuardScope; 2] = [GuardScope::User, GuardScope::Project];

/// A home, a project and every agent.
struct Here {
    _place: tempfile::TempDir,
    root: PathBuf,
    metier: Metier,
}

impl Here {
    fn new() -> Self {
        Self::with(|environment| environment)
    }

    fn with(change: impl FnOnce(Environment) -> Environment) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for directory in ["home", "project", "bin"] {
            fs::create_dir(root.join(directory)).unwrap();
        }
        for agent in Agent::ALL {
            script(
                &root.join("bin").join(agent.program()),
                &format!("echo {} {}", agent.name(), measured_version(agent)),
            );
        }
        script(&root.join("bin/metier"), "exit 0");
        let mut environment = Environment::new(root.join("home"), root.join("project"));
        environment.path = root.join("bin").into();
        environment.temporary = root.clone();
        // The journal is not in the way when directories are compared.
        let environment =
            change(environment.with_variable("XDG_STATE_HOME", root.join("state").to_string_lossy()));
        fs::create_dir_all(root.join("state/metier")).unwrap();
        let metier = Metier::builder().environment(environment).build().unwrap();
        Self { _place: place, root, metier }
    }

    fn base(&self, scope: GuardScope) -> PathBuf {
        self.root.join(if scope == GuardScope::User { "home" } else { "project" })
    }

    fn plan(&self, agent: Agent, scope: GuardScope) -> Result<GuardChange, HostError> {
        self.metier.install_guard(&GuardInstall::new(agent, scope, self.root.join("bin/metier")))
    }

    fn install(&self, agent: Agent, scope: GuardScope) {
        self.plan(agent, scope).unwrap().apply().unwrap();
    }

    fn remove(&self, agent: Agent, scope: GuardScope) {
        self.metier.remove_guard(agent, scope).unwrap().apply().unwrap();
    }

    fn status(&self, agent: Agent, scope: GuardScope) -> InstalledGuard {
        self.metier.guard_status(agent, scope).unwrap()
    }

    fn code(&self, agent: Agent, scope: GuardScope) -> &'static str {
        metier_skill::Coded::code(&self.plan(agent, scope).unwrap_err())
    }
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Everything in a directory: what it is, its permissions, its content.
fn tree(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let mode = meta.permissions().mode();
        if meta.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(path, (mode, target.into_os_string().into_encoded_bytes()));
        } else if meta.is_dir() {
            found.extend(tree(&path));
            found.insert(path, (mode, Vec::new()));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, (mode, content));
        }
    }
    found
}

/// A settings file of each agent, relative to a home or a project.
fn settings_of(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => ".claude/settings.json",
        Agent::Codex => ".codex/hooks.json",
        Agent::Gemini => ".gemini/settings.json",
        Agent::OpenCode => "opencode.json",
        Agent::Goose => ".agents/plugins/mine/hooks/hooks.json",
        _ => ".copilot/hooks/mine.json",
    }
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn examples() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../metier-guard/tests/guard/settings");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    texts.push(texts[0].replace('\n', "\r\n"));
    texts.push(format!("\u{feff}{}", texts[1]));
    texts
}

#[test]
fn every_agent_is_left_as_it_was_whatever_its_settings() {
    let here = Here::new();
    let examples = examples();
    assert!(examples.len() >= 20);
    for agent in Agent::ALL {
        for scope in SCOPES {
            for (index, text) in examples.iter().enumerate() {
                let path = here.base(scope).join(settings_of(agent));
                write(&path, text);
                fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
                let before = tree(&here.base(scope));
                here.install(agent, scope);
                let installed = tree(&here.base(scope));
                assert_ne!(installed, before, "{agent} {scope:?} {index}");
                assert!(!here.status(agent, scope).files.is_empty());
                assert!(!here.plan(agent, scope).unwrap().is_change(), "{agent} {scope:?} {index}: again");
                here.remove(agent, scope);
                assert_eq!(tree(&here.base(scope)), before, "{agent} {scope:?} {index}: {text}");
                fs::remove_file(path).unwrap();
            }
        }
    }
}

#[test]
fn what_did_not_exist_is_gone_again_unless_someone_uses_it() {
    for agent in Agent::ALL {
        for scope in SCOPES {
            let here = Here::new();
            here.install(agent, scope);
            let status = here.status(agent, scope);
            let untrusted = agent == Agent::Codex && status.problems.len() == 1;
            assert!(status.state == GuardState::Installed || untrusted, "{status:?}");
            here.remove(agent, scope);
            assert_eq!(tree(&here.base(scope)), BTreeMap::new(), "{agent} {scope:?}");
            assert_eq!(here.status(agent, scope).state, GuardState::NotInstalled);
            here.install(agent, scope);
            let file = here.status(agent, scope).files[0].clone();
            let other = file.parent().unwrap().join("other.txt");
            write(&other, "mine");
            here.remove(agent, scope);
            assert!(other.is_file() && !file.exists(), "{agent} {scope:?}");
        }
    }
}

#[test]
fn a_guard_is_updated_and_still_leaves_no_trace() {
    for agent in Agent::ALL {
        let here = Here::new();
        let path = here.root.join("home").join(settings_of(agent));
        write(&path, &examples()[0]);
        let before = tree(&here.root.join("home"));
        here.install(agent, GuardScope::User);
        let old = here.status(agent, GuardScope::User);
        let mut install = GuardInstall::new(agent, GuardScope::User, here.root.join("bin/other"));
        install.suggests = true;
        script(&here.root.join("bin/other"), "exit 0");
        here.metier.install_guard(&install).unwrap().apply().unwrap();
        let new = here.status(agent, GuardScope::User);
        assert_eq!(new.files, old.files, "{agent}");
        assert_eq!(new.program.as_deref(), here.root.join("bin/other").to_str());
        assert_eq!(new.suggests, agent != Agent::Goose);
        // Also without what was remembered.
        fs::remove_dir_all(here.root.join("state/metier/installed-guards")).unwrap();
        assert_eq!(here.status(agent, GuardScope::User).state, new.state);
        here.install(agent, GuardScope::User);
        fs::remove_dir_all(here.root.join("state/metier/installed-guards")).unwrap();
        here.remove(agent, GuardScope::User);
        let after = tree(&here.root.join("home"));
        let is_ours = |(_, content): &(u32, Vec<u8>)| String::from_utf8_lossy(content).contains("metier");
        assert!(!after.values().any(is_ours), "{agent}");
        assert!(before.keys().all(|path| after.contains_key(path)), "{agent}");
    }
}

#[test]
fn symlinks_of_a_person_are_followed_and_stay() {
    for agent in [Agent::ClaudeCode, Agent::Codex, Agent::Gemini] {
        let here = Here::new();
        let (home, path) = (here.root.join("home"), here.root.join("home").join(settings_of(agent)));
        // The directory is a link, and the file in it is one.
        write(&home.join("dotfiles/real.json"), "{\n  // mine\n  \"a\": 1\n}\n");
        fs::create_dir_all(home.join("dotfiles/agent")).unwrap();
        symlink("dotfiles/agent", path.parent().unwrap()).unwrap();
        symlink("../real.json", home.join("dotfiles/agent").join(path.file_name().unwrap())).unwrap();
        let before = tree(&home);
        here.install(agent, GuardScope::User);
        assert!(path.symlink_metadata().unwrap().is_symlink());
        assert!(fs::read_to_string(home.join("dotfiles/real.json")).unwrap().contains("metier"));
        here.remove(agent, GuardScope::User);
        assert_eq!(tree(&home), before, "{agent}");
    }
}

#[test]
fn links_that_lead_nowhere_or_out_of_a_project_are_refused() {
    let here = Here::new();
    let path = here.root.join("home/.claude/settings.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    symlink("nowhere", &path).unwrap();
    assert_eq!(here.code(Agent::ClaudeCode, GuardScope::User), "guard-settings-link");
    write(&here.root.join("home/secret.json"), "{}");
    fs::create_dir(here.root.join("project/.claude")).unwrap();
    symlink("../../home/secret.json", here.root.join("project/.claude/settings.json")).unwrap();
    symlink("../home", here.root.join("project/.opencode")).unwrap();
    for agent in [Agent::ClaudeCode, Agent::OpenCode] {
        assert_eq!(here.code(agent, GuardScope::Project), "guard-settings-link");
    }
    assert_eq!(fs::read_to_string(here.root.join("home/secret.json")).unwrap(), "{}");
    symlink("/dev/null", here.root.join("project/.mcp")).unwrap();
    fs::create_dir(here.root.join("home/.gemini")).unwrap();
    symlink("/dev/null", here.root.join("home/.gemini/settings.json")).unwrap();
    assert_eq!(here.code(Agent::Gemini, GuardScope::User), "host-io");
    fs::hard_link(here.root.join("home/secret.json"), here.root.join("home/other.json")).unwrap();
    fs::create_dir(here.root.join("home/.codex")).unwrap();
    symlink("../secret.json", here.root.join("home/.codex/hooks.json")).unwrap();
    let refused = here.plan(Agent::Codex, GuardScope::User).unwrap().apply().unwrap_err();
    assert_eq!(metier_skill::Coded::code(&refused), "guard-settings-link");
}

#[test]
fn what_cannot_be_parsed_is_left_alone() {
    let here = Here::new();
    for (agent, text) in [(Agent::ClaudeCode, "{\"a\": }"), (Agent::Codex, "{"), (Agent::Gemini, "hooks: []")]
    {
        write(&here.root.join("home").join(settings_of(agent)), text);
        let before = tree(&here.root.join("home"));
        assert_eq!(here.code(agent, GuardScope::User), "guard-settings");
        let removed = here.metier.remove_guard(agent, GuardScope::User).unwrap_err();
        assert_eq!(metier_skill::Coded::code(&removed), "guard-settings");
        let status = here.status(agent, GuardScope::User);
        assert_eq!((status.state, status.problems.len()), (GuardState::NotInstalled, 1), "{agent}");
        assert_eq!(tree(&here.root.join("home")), before, "{agent}");
        // A guard that was installed there is not reported as removed.
        fs::remove_file(here.root.join("home").join(settings_of(agent))).unwrap();
        here.install(agent, GuardScope::User);
        write(&here.root.join("home").join(settings_of(agent)), text);
        assert_eq!(here.status(agent, GuardScope::User).state, GuardState::Broken, "{agent}");
        fs::remove_dir_all(here.root.join("home").join(settings_of(agent)).parent().unwrap()).unwrap();
        here.remove(agent, GuardScope::User);
    }
    write(&here.root.join("home/.claude/settings.json"), b"{\"a\": \"\xff\"}");
    assert_eq!(here.code(Agent::ClaudeCode, GuardScope::User), "host-io");
}

/// Stops a change after each of its steps, as if it was killed there, and finishes the work with the next command.
#[test]
fn a_change_that_is_killed_leaves_each_file_as_before_or_after() {
    for agent in Agent::ALL {
        for stop in 0..4_usize {
            for finishes_installing in [true, false] {
                let here = Here::new();
                let home = here.root.join("home");
                write(&home.join(settings_of(agent)), &examples()[1]);
                let before = tree(&home);
                let change = here.plan(agent, GuardScope::User).unwrap();
                if stop > 0 {
                    change.file.write(change.memory.as_ref().unwrap()).unwrap();
                }
                for file in change.files.iter().take(stop.saturating_sub(1)) {
                    file.apply().unwrap();
                }
                // In the middle of writing a file, there is another one beside it.
                let beside = change.files[0].real.parent().unwrap().to_owned();
                if beside.is_dir() {
                    fs::write(beside.join(".metier-guard-x1"), "half").unwrap();
                }
                for file in &change.files {
                    let now = fs::read_to_string(&file.real).ok();
                    assert!(now == file.before || now == file.after, "{agent} {stop}");
                }
                drop(change);
                if finishes_installing {
                    here.install(agent, GuardScope::User);
                    assert!(!here.status(agent, GuardScope::User).files.is_empty());
                }
                here.remove(agent, GuardScope::User);
                assert_eq!(tree(&home), before, "{agent} {stop} {finishes_installing}");
            }
        }
    }
}

#[test]
fn a_removal_that_is_killed_is_finished_by_the_next() {
    for agent in Agent::ALL {
        for stop in 0..3_usize {
            let here = Here::new();
            let home = here.root.join("home");
            write(&home.join(settings_of(agent)), &examples()[0]);
            let before = tree(&home);
            here.install(agent, GuardScope::User);
            let change = here.metier.remove_guard(agent, GuardScope::User).unwrap();
            for file in change.files.iter().take(stop) {
                file.apply().unwrap();
            }
            drop(change);
            here.remove(agent, GuardScope::User);
            assert_eq!(tree(&home), before, "{agent} {stop}");
        }
    }
}

#[test]
fn a_file_that_changes_meanwhile_is_not_overwritten() {
    let here = Here::new();
    let path = here.root.join("home/.claude/settings.json");
    write(&path, "{}");
    let change = here.plan(Agent::ClaudeCode, GuardScope::User).unwrap();
    write(&path, "{\"new\": 1}");
    let error = change.apply().unwrap_err();
    assert_eq!(metier_skill::Coded::code(&error), "guard-settings-changed");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
    drop(change);
    // One that appears meanwhile is not either.
    fs::remove_file(&path).unwrap();
    let change = here.plan(Agent::ClaudeCode, GuardScope::User).unwrap();
    write(&path, "{\"new\": 2}");
    assert!(change.apply().is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 2}");
}

#[test]
fn files_of_metier_that_someone_changed_are_not_removed() {
    for agent in [Agent::OpenCode, Agent::Goose, Agent::Copilot] {
        let here = Here::new();
        here.install(agent, GuardScope::User);
        let file = here.status(agent, GuardScope::User).files[0].clone();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}\n\n")).unwrap();
        let error = here.metier.remove_guard(agent, GuardScope::User).unwrap_err();
        assert_eq!(metier_skill::Coded::code(&error), "guard-settings-changed");
        assert_eq!(here.code(agent, GuardScope::User), "guard-settings-changed");
        fs::write(&file, text).unwrap();
        here.remove(agent, GuardScope::User);
        assert!(!file.exists());
    }
}

#[test]
fn agents_that_are_missing_or_too_old_are_refused() {
    let here = Here::new();
    script(&here.root.join("bin/claude"), "echo '2.1.100 (Claude Code)'");
    script(&here.root.join("bin/codex"), "echo codex");
    fs::remove_file(here.root.join("bin/goose")).unwrap();
    let code = |agent| here.code(agent, GuardScope::User);
    assert_eq!(code(Agent::ClaudeCode), "guard-agent-version");
    assert_eq!(code(Agent::Codex), "guard-agent-version");
    assert_eq!(code(Agent::Goose), "agent-not-found");
    let mut install = GuardInstall::new(Agent::ClaudeCode, GuardScope::User, "/m/metier");
    install.any_version = true;
    assert!(here.metier.install_guard(&install).unwrap().is_change());
    script(&here.root.join("bin/claude"), "echo '3.0.0 (Claude Code)'");
    assert!(here.plan(Agent::ClaudeCode, GuardScope::User).is_ok());
}

#[test]
fn settings_that_stop_a_guard_are_found() {
    let here = Here::new();
    for agent in Agent::ALL {
        here.install(agent, GuardScope::User);
    }
    let problems = |agent| here.status(agent, GuardScope::User).problems.join("\n");
    assert!(problems(Agent::Codex).contains("does not trust 7 of 7 hooks"));
    let path = here.root.join("home/.codex/hooks.json").display().to_string();
    let events = [
        "pre_tool_use",
        "post_tool_use",
        "permission_request",
        "user_prompt_submit",
        "session_start",
        "session_end",
        "post_compact",
    ];
    let state: Vec<String> = events
        .iter()
        .map(|event| format!("[hooks.state.\"{path}:{event}:0:0\"]\ntrusted_hash = \"sha256:0\"\n"))
        .collect();
    write(&here.root.join("home/.codex/config.toml"), state.concat());
    for agent in Agent::ALL {
        assert_eq!(problems(agent), "", "{agent}");
    }
    write(&here.root.join("project/.codex/config.toml"), "[features]\nhooks = false\n");
    assert!(problems(Agent::Codex).contains("`features.hooks = false`"));
    write(&here.root.join("project/.claude/settings.local.json"), "{ /* x */ \"disableAllHooks\": true, }");
    assert!(problems(Agent::ClaudeCode).contains("`disableAllHooks = true`"));
    write(&here.root.join("project/.gemini/settings.json"), "{\"hooksConfig\": {\"enabled\": false}}");
    assert!(problems(Agent::Gemini).contains("`hooksConfig.enabled = false`"));
    write(&here.root.join("project/.github/copilot/settings.json"), "{\"disableAllHooks\": ");
    assert!(problems(Agent::Copilot).contains("not known whether"));
    write(&here.root.join("project/.github/copilot/settings.json"), "{\"disableAllHooks\": true}");
    assert!(problems(Agent::Copilot).contains("`disableAllHooks = true`"));
    let goose = here.status(Agent::Goose, GuardScope::User).files[0].clone();
    let name = goose.ancestors().nth(2).unwrap().file_name().unwrap().to_owned();
    write(&here.root.join("project/.agents/plugins").join(name).join("plugin.json"), "{}");
    assert!(problems(Agent::Goose).contains("replaces it"));
    fs::remove_file(here.root.join("bin/metier")).unwrap();
    for agent in Agent::ALL {
        assert!(problems(agent).contains("cannot be run"), "{agent}");
        assert_eq!(here.status(agent, GuardScope::User).state, GuardState::Broken);
    }
}

#[test]
fn hooks_that_were_removed_by_someone_else_are_reported() {
    let here = Here::new();
    here.install(Agent::ClaudeCode, GuardScope::User);
    fs::write(here.root.join("home/.claude/settings.json"), "{}").unwrap();
    assert_eq!(here.status(Agent::ClaudeCode, GuardScope::User).state, GuardState::Gone);
    let checkup = here.metier.doctor().unwrap();
    let check = checkup.checks.iter().find(|check| check.name == "guard").unwrap();
    assert!(check.message.contains("no longer there"), "{check:?}");
    here.remove(Agent::ClaudeCode, GuardScope::User);
    assert_eq!(here.status(Agent::ClaudeCode, GuardScope::User).state, GuardState::NotInstalled);
}

#[test]
fn variables_that_move_settings_are_obeyed() {
    let moved =
        [("CLAUDE_CONFIG_DIR", "c"), ("CODEX_HOME", "x"), ("XDG_CONFIG_HOME", "o"), ("GEMINI_CLI_HOME", "g")];
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let here = Here::with(|environment| {
        moved.iter().fold(environment, |environment, (variable, name)| {
            environment.with_variable(*variable, at(name).to_string_lossy())
        })
    });
    for (agent, path) in [
        (Agent::ClaudeCode, "c/settings.json"),
        (Agent::Codex, "x/hooks.json"),
        (Agent::OpenCode, "o/opencode/plugins"),
        (Agent::Gemini, "g/.gemini/settings.json"),
    ] {
        here.install(agent, GuardScope::User);
        assert!(at(path).exists(), "{agent}");
    }
    assert_eq!(tree(&here.root.join("home")), BTreeMap::new());
}

#[test]
fn nothing_is_changed_that_cannot_be_recorded() {
    let here = Here::with(|environment| environment.with_variable("METIER_JOURNAL", "nosuch/journal.db"));
    assert!(here.plan(Agent::ClaudeCode, GuardScope::User).unwrap().apply().is_err());
    assert_eq!(tree(&here.root.join("home")), BTreeMap::new());
}

#[test]
fn a_model_cannot_simply_write_to_what_hooks_depend_on() {
    use metier_policy::{ToolCall, Verdict};

    let here = Here::new();
    let metier = here.metier.protecting_hooks();
    let anchors = metier.anchors(None, None).unwrap();
    let decide = |metier: &Metier, tool: &str, input: &str| {
        metier.policy().unwrap().guard(Vec::new(), &anchors).decide(&ToolCall::new(tool, input)).verdict
    };
    for agent in Agent::ALL {
        for scope in SCOPES {
            for change in here.plan(agent, scope).unwrap().files {
                let path = change.path.display().to_string();
                for (tool, input) in [
                    ("Edit", path.clone()),
                    ("Write", path.clone()),
                    ("Bash", format!("rm -f {path}")),
                    ("Bash", format!("echo '{{}}' > {path}")),
                    ("Bash", format!("git status; mv {path} /tmp/x")),
                ] {
                    assert_eq!(decide(&metier, tool, &input), Verdict::Deny, "{tool} {input}");
                    assert_eq!(decide(&here.metier, tool, &input), Verdict::Allow, "{tool} {input}");
                }
                assert_eq!(decide(&metier, "Read", &path), Verdict::Allow, "{path}");
                assert_eq!(decide(&metier, "Bash", &format!("cat {path}")), Verdict::Allow, "{path}");
            }
        }
    }
    assert_eq!(decide(&metier, "Write", "src/settings.json"), Verdict::Allow);
}
