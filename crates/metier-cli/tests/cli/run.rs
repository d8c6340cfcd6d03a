//! `metier mount` and `metier run`: skills where an agent looks for them, and an agent that sees nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Place, skips_namespaces};

fn place() -> Place {
    let place = Place::new();
    place.skill("skills/one", "Use one.");
    place.skill("skills/two", "Use two.");
    place.write("note.md", "---\nname: note\ndescription: Use a note.\n---\nNote.\n");
    place
}

/// A program that stands for an agent.
fn agent(place: &Place, script: &str) -> String {
    let path = place.write("agent", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run(place: &Place, script: &str, more: &[&str]) -> Command {
    let program = agent(place, script);
    let mut args = vec!["run", "claude", "--program", &program];
    args.extend(more);
    let mut command = place.at_home(&args);
    command.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.temporary());
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
}

fn homes(place: &Place) -> usize {
    fs::read_dir(place.temporary()).unwrap().count()
}

#[test]
fn skills_are_mounted_all_or_none() {
    let place = place();
    for (name, args) in [
        (
            "mount",
            &["mount", "out", "--skill", "skills/one", "--skill", "note.md", "--skill", "skills/two=three"][..],
        ),
        ("mount again", &["mount", "out", "--skill", "skills/two"]),
        ("mount added", &["mount", "out", "--add", "--root", "skills"]),
        ("mount two of a name", &["mount", "other", "--skill", "skills/one", "--skill", "skills/two=one"]),
        ("mount nothing", &["mount", "other"]),
        ("mount nobody", &["mount", "other", "--skill", "nobody"]),
        ("mount nowhere", &["mount", "other", "--skill", "./nowhere"]),
        ("mount a bad name", &["mount", "other", "--skill", "skills/one=Bad_Name"]),
    ] {
        insta::assert_snapshot!(name, place.transcript_at_home(args));
    }
    assert!(!place.path().join("other").exists());
    assert!(place.read("out/three/SKILL.md").contains("name: three\n"));
    let log = said(&mut place.at_home(&["audit", "log", "--json"]));
    assert_eq!(log.matches("skills.mounted").count(), 1, "what was not mounted is not recorded: {log}");
}

#[test]
fn what_is_mounted_is_said_as_json() {
    let place = place();
    let said = place.json_at_home(&["mount", "out", "--json", "--skill", "skills/one=uno"]);
    let skill = &said["skills"][0];
    assert_eq!((skill["name"].as_str(), skill["own_name"].as_str()), (Some("uno"), Some("one")));
    let digest = said_digest(&place, "out/uno");
    assert_eq!(skill["tree_digest"], Value::String(digest));
}

fn said_digest(place: &Place, path: &str) -> String {
    let output = place.run(&["digest", path]).stdout;
    String::from_utf8(output).unwrap().split_whitespace().next().unwrap().to_owned()
}

#[test]
fn an_agent_gets_exactly_the_environment_of_its_home() {
    let place = place();
    let mut command =
        run(&place, "env -0 | sort -z | tr '\\0' '\\n'", &["--skill", "skills/one", "--env", "MINE=1"]);
    command.envs([
        ("FOO", "bar"),
        ("GITHUB_TOKEN", "secret"),
        ("ANTHROPIC_API_KEY", "key"),
        ("CLAUDE_CONFIG_DIR", "/host"),
        ("LANG", "C.UTF-8"),
    ]);
    let text = said(&mut command);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    let own = ["PWD", "_", "SHLVL", "OLDPWD"];
    let names: Vec<&str> =
        names.into_iter().filter(|name| !own.contains(name) && *name != "IS_SANDBOX").collect();
    assert_eq!(
        names,
        [
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_TELEMETRY",
            "HOME",
            "LANG",
            "MINE",
            "PATH",
            "TMPDIR",
        ],
        "{text}"
    );
    assert_eq!(homes(&place), 0, "the home is gone");
}

#[test]
fn an_agent_finds_the_skills_and_ends_as_it_ends() {
    let place = place();
    let script =
        "ls \"$HOME/.claude/skills\"; stat -c %a \"$HOME\" \"$HOME/.claude/skills/one/SKILL.md\"; exit 7";
    let output = run(&place, script, &["--root", "skills"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n700\n444\n");
    assert_eq!((output.status.code(), homes(&place)), (Some(7), 0));
    let output = run(&place, "kill -9 $$", &["--skill", "skills/one"]).output().unwrap();
    assert_eq!((output.status.code(), homes(&place)), (Some(137), 0));
    let kept = said(&mut run(&place, "true", &["--skill", "skills/one", "--keep"]));
    assert!(kept.contains("kept the home: ") && homes(&place) == 1, "{kept}");
}

#[test]
fn metier_that_is_told_to_end_ends_the_agent_and_removes_the_home() {
    let place = place();
    let script = "trap 'echo told; exit 3' TERM; echo here; for i in $(seq 200); do sleep 0.05; done";
    let mut child = run(&place, script, &["--skill", "skills/one"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!((line.as_str(), homes(&place)), ("here\n", 1));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal(), homes(&place)), (Some(3), None, 0));
}

#[test]
fn what_a_killed_metier_left_is_removed_by_the_next_when_the_agent_is_gone_as_well() {
    let place = place();
    let mut child = run(&place, "echo $$; exec sleep 600", &["--skill", "skills/one"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(homes(&place), 1);
    let mark = || {
        let home = fs::read_dir(place.temporary()).unwrap().next().unwrap().unwrap().path();
        fs::read_to_string(home.join(".metier-home")).unwrap().lines().count()
    };
    // It is lent to the agent as soon as that is there.
    while mark() < 2 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let next = || said(&mut run(&place, "true", &["--skill", "skills/one"]));
    next();
    assert_eq!(homes(&place), 1, "the agent still has it");
    let agent = rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(agent, rustix::process::Signal::KILL).unwrap();
    let is_gone = (0..100).any(|_| {
        next();
        homes(&place) == 0
    });
    assert!(is_gone);
}

#[test]
fn an_agent_that_leaves_somebody_writing_keeps_its_exit_code() {
    let place = place();
    let script = "cd; (while :; do : > x$i; i=1$i; [ ${#i} -gt 200 ] && i=; done) & exit 7";
    let output = run(&place, script, &["--skill", "skills/one"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_skill_that_is_switched_off_is_not_mounted() {
    let place = place();
    for command in [&["mount", "out"][..], &["run", "claude", "--program", "/bin/true"], &["link", "claude"]]
    {
        let args = [command, &["--root", "skills", "--state", "one=off", "--skill", "one"]].concat();
        let output = place.at_home(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("`one` is switched off by --state (name one)"),
            "{output:?}"
        );
    }
}

#[test]
fn what_is_added_is_added_whole() {
    let place = place();
    place.skill("eq=x/three", "Use three.");
    let mount = |more: &[&str]| {
        let args = [&["mount", "out", "--add"], more].concat();
        place.at_home(&args).output().unwrap().status.code()
    };
    assert_eq!(mount(&["--skill", "skills/one", "--skill", "./nowhere"]), Some(4));
    assert!(!place.path().join("out/one").exists());
    assert_eq!(mount(&["--skill", "skills/one", "--skill", "skills/two=one"]), Some(2), "twice the same");
    assert_eq!(mount(&["--skill", "skills/one", "--skill", "./eq=x/three"]), Some(0));
    assert!(place.path().join("out/one").exists() && place.path().join("out/three").exists());
}

#[test]
fn skills_in_the_working_directory_are_said_or_kept_out() {
    let place = place();
    place.skill(".claude/skills/foreign", "Use never.");
    place.skill(".goose/skills/foreign", "Use never.");
    let text = said(&mut run(&place, "echo \"$@\"", &["--skill", "skills/one", "--", "-p", "hello"]));
    // No project can switch the hooks of the guard off. The program has another name than the agent, so it may need its own
    // arguments first.
    let hooks = "--settings={\"disableAllHooks\":false}";
    assert!(text.starts_with(&format!("-p hello {hooks}\n")), "{text}");
    assert!(text.contains("also finds 1 skill in "), "{text}");
    let text =
        said(&mut run(&place, "echo \"$@\"", &["--hermetic", "--skill", "skills/one", "--", "-p", "hello"]));
    assert_eq!(text, format!("--setting-sources user -p hello {hooks}\n"));
    if skips_namespaces() {
        return;
    }
    let program = agent(&place, "ls .goose; id -u");
    let args = ["run", "goose", "--hermetic", "--program", &program, "--skill", "skills/one"];
    // No program of the path is needed.
    let mut command = place.at_home(&args);
    let text = said(command.env("PATH", "/nowhere:/bin").env("TMPDIR", place.temporary()));
    assert_eq!(
        text,
        format!("{}\n", rustix::process::geteuid().as_raw()),
        "nothing is there, for the same user"
    );
    assert!(Path::new(&place.path().join(".goose/skills/foreign")).exists());
}

/// What agents read beside skills, here and above, is said; with `--hermetic` it is not there, and the agent has no powers.
#[test]
fn what_agents_read_of_a_project_is_said_or_kept_out() {
    let place = place();
    place.write("CLAUDE.md", "Always say yes.");
    place.write(".mcp.json", "{\"mcpServers\":{}}");
    place.write(".claude/commands/x.md", "x");
    place.write("sub/AGENTS.md", "Always say no.");
    let script =
        "cat CLAUDE.md .mcp.json sub/AGENTS.md; ls -A .claude; grep CapEff /proc/self/status; cat README";
    place.write("README", "kept\n");
    let text = said(&mut run(&place, script, &["--skill", "skills/one"]));
    for (file, kind) in [
        ("CLAUDE.md", "instructions"),
        (".mcp.json", "MCP servers"),
        (".claude/commands", "commands"),
        ("sub/AGENTS.md", "instructions"),
    ] {
        let line = format!("note: Claude Code also reads {}/{file} ({kind})", place.path().display());
        assert!(text.contains(&line), "{line}: {text}");
    }
    if skips_namespaces() {
        return;
    }
    let text = said(&mut run(&place, script, &["--hermetic", "--skill", "skills/one"]));
    assert_eq!(text, "{}\nCapEff:\t0000000000000000\nkept\n");
    assert_eq!(place.read("CLAUDE.md"), "Always say yes.");
}

/// There is nothing to cover files with where namespaces are refused: the agent does not start, and it is said what would help.
#[test]
fn an_agent_does_not_start_where_nothing_can_be_covered() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    place.write("CLAUDE.md", "Always say yes.");
    let program = agent(&place, "echo started");
    // No user namespace can be made below this one, and root's powers are gone.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let mut inner =
        place.at_home(&["run", "claude", "--hermetic", "--program", &program, "--skill", "skills/one"]);
    inner.env("PATH", "/usr/bin:/bin").env("TMPDIR", place.temporary());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]).arg(inner.get_program());
    command.args(inner.get_args()).env_clear().current_dir(inner.get_current_dir().unwrap());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(
        errors.contains("Claude Code was not started") && errors.contains("allow user namespaces"),
        "{errors}"
    );
    assert!(output.stdout.is_empty());
}

/// What an agent leaves running would go on without its home.
#[test]
fn what_an_agent_leaves_running_ends_with_it() {
    let place = place();
    let script = "sleep 600 & echo $!; setsid sleep 601 & echo $!; exit 7";
    for more in [&["--skill", "skills/one"][..], &["--skill", "skills/one", "--hermetic"]] {
        let output = run(&place, script, more).output().unwrap();
        assert_eq!((output.status.code(), homes(&place)), (Some(7), 0));
        for pid in String::from_utf8(output.stdout).unwrap().lines() {
            let status = fs::read_to_string(format!("/proc/{pid}/stat"));
            assert!(status.is_err(), "{pid} still runs: {status:?}");
        }
    }
}

/// A run to compare with.
#[test]
fn an_agent_can_run_without_skills() {
    let place = place();
    fs::create_dir(place.path().join("empty")).unwrap();
    for more in [&["--no-skills"][..], &["--root", "empty"]] {
        let output = run(&place, "ls $HOME/.claude/skills 2>/dev/null; echo there", more).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!((output.status.code(), text.as_ref()), (Some(0), "there\n"), "{more:?}");
    }
    let output = run(&place, "true", &["--no-skills", "--skill", "skills/one"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn doctor_says_which_agents_there_are_and_what_they_find() {
    let place = place();
    place.skill(".claude/skills/foreign", "Use never.");
    let program = agent(&place, "echo; echo '9.9 (Somebody)'; exec sleep 0");
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::rename(program, place.path().join("bin/claude")).unwrap();
    let path = format!("{}:/usr/bin:/bin", place.path().join("bin").display());
    let output = place.at_home(&["doctor", "--json"]).env("PATH", path).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &said["agents"][0];
    assert_eq!(
        (found["agent"].as_str(), found["version"].as_str()),
        (Some("claude"), Some("9.9 (Somebody)"))
    );
    let leak = found["leaks"][0]["skills"][0].as_str().unwrap();
    assert!(leak.ends_with(".claude/skills/foreign/SKILL.md"), "{leak}");
}

/// What an agent finds in its home it reads by itself, so that what must not be loaded is not put there.
#[test]
fn a_skill_that_must_not_be_loaded_is_not_mounted() {
    let place = place();
    let refuse = ["approve", "one", "--root", "skills", "--refuse"];
    assert!(place.at_home(&refuse).output().unwrap().status.success());
    place.write("me/.config/metier/config.toml", "[[policy.rules]]\nskill = \"two\"\nactivate = \"deny\"\n");
    for (name, why) in [("one", "refused"), ("two", "does not allow")] {
        for command in
            [&["mount", "out"][..], &["link", "claude"], &["run", "claude", "--program", "/bin/true"]]
        {
            // By its name and by its path.
            for skill in [name.to_owned(), format!("skills/{name}")] {
                let args = [command, &["--root", "skills", "--skill", &skill]].concat();
                let output = place.at_home(&args).env("PATH", "/usr/bin:/bin").output().unwrap();
                let told = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(3), "{args:?}: {told}");
                assert!(told.contains(why), "{args:?}: {told}");
            }
        }
    }
    place.skill("skills/three", "Does something else.");
    let output = place.at_home(&["mount", "out", "--root", "skills"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("left out: `one`") && told.contains("left out: `two`"), "{told}");
    let mounted: Vec<_> = fs::read_dir(place.path().join("out")).unwrap().flatten().collect();
    assert_eq!(mounted.len(), 1, "{mounted:?}");
}

/// Scripts that work in the working directory could read what an agent authenticates with.
#[test]
fn no_home_is_made_in_the_working_directory() {
    let place = place();
    let temporary = fs::canonicalize(place.path()).unwrap().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = run(&place, "echo $HOME", &["--no-skills"]);
    let home = said(command.env("TMPDIR", &temporary));
    assert!(home.starts_with("/tmp/") && !home.contains(place.path().to_str().unwrap()), "{home}");
}

#[test]
fn doctor_removes_what_killed_processes_left_and_nothing_else() {
    let place = place();
    let make = |name: &str, mark: Option<&str>| {
        let path = place.temporary().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        if let Some(mark) = mark {
            fs::write(path.join(".metier-home"), mark).unwrap();
        }
        path
    };
    let left = make("goose-agent-999999999-1-1-00000000.0", Some("999999999-1-1-00000000\n"));
    let others = [
        make("somebody-elses", None),
        make("backup-2024-01-15.d", None),
        make("2024-01-15.old", None),
        make("mine", Some("999999999-1-1-00000000\n")),
        make("notes-999999999-1-1-00000000.1", Some("999999999-1-1-00000001\n")),
        make("pipe-999999999-1-1-00000000.2", None),
    ];
    rustix::fs::mkfifoat(rustix::fs::CWD, others[5].join(".metier-home"), rustix::fs::Mode::RUSR).unwrap();
    let clean = || said(place.at_home(&["doctor", "--clean"]).env("TMPDIR", place.temporary()));
    assert_eq!((clean().as_str(), clean().as_str()), ("1 leftover removed\n", "0 leftovers removed\n"));
    assert!(!left.exists() && others.iter().all(|path| path.exists()));
}

#[test]
fn links_are_made_and_taken_away() {
    let place = place();
    for (name, args) in [
        ("link", &["link", "claude", "--root", "skills"][..]),
        ("link again", &["link", "claude", "--skill", "skills/one"]),
        ("link another of the name", &["link", "claude", "--skill", "skills/two=one"]),
        ("link a file", &["link", "claude", "--skill", "note.md"]),
        ("link what is no skill", &["link", "claude", "--skill", "skills=all"]),
        ("link undone elsewhere", &["link", "claude", "--skill", "skills/one=../../one", "--undo"]),
        ("link undone", &["link", "claude", "--root", "skills", "--undo"]),
        ("link nobody", &["link", "emacs", "--root", "skills"]),
    ] {
        insta::assert_snapshot!(name, place.transcript_at_home(args));
    }
    assert!(fs::read_dir(place.path().join("me/.claude/skills")).unwrap().next().is_none());
}

/// E50: at the start the home is there, with the skills in it, and says in its name whose it is. E51: it is gone when the agent fails.
#[test]
fn e50_e51_skills_are_there_at_the_start_and_gone_after_a_failure() {
    let place = place();
    let script = "echo $HOME; cat $HOME/.claude/skills/one/SKILL.md; exit 3";
    let output = run(&place, script, &["--skill", "skills/one"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().next().unwrap().contains("/claude-agent-"), "{text}");
    assert!(text.contains("Use one."), "{text}");
    assert_eq!(homes(&place), 0);
}

/// E52, as a person asks for it.
#[test]
fn an_agent_can_work_in_a_directory_that_is_gone_afterwards() {
    let place = place();
    place.write("data/form.txt", "a form");
    for (exit, flags, files) in [
        ("exit 0", &["--workspace"][..], ""),
        ("exit 1", &["--copy", "data", "--copy", "note.md"], "data note.md "),
    ] {
        let flags = [&["--skill", "skills/one"], flags].concat();
        let text = said(&mut run(&place, &format!("pwd; ls -A | tr '\\n' ' '; {exit}"), &flags));
        let (path, listing) = text.split_once('\n').unwrap();
        assert_eq!(listing, files, "{text}");
        assert!(path.contains("/metier-workspace-") && !Path::new(path).exists(), "{text}");
        assert_eq!(homes(&place), 0);
    }
    let flags = ["--skill", "skills/one", "--copy", "data/form.txt", "--keep"];
    let text = said(&mut run(&place, "echo filled > form.txt", &flags));
    let kept = text.lines().find_map(|line| line.strip_prefix("kept the working directory: ")).unwrap();
    assert_eq!(fs::read_to_string(Path::new(kept).join("form.txt")).unwrap(), "filled\n");
    assert_eq!(place.read("data/form.txt"), "a form", "it is a copy");
    let text = said(&mut run(&place, "true", &["--skill", "skills/one", "--copy", "nowhere"]));
    assert!(text.contains("nowhere") && text.contains("it does not exist"), "{text}");
}

#[test]
fn what_is_in_a_root_is_mounted_or_said() {
    let place = place();
    place.write("skills/broken/SKILL.md", "no frontmatter");
    for (name, args) in [
        ("mount a root with a broken skill", &["mount", "out", "--root", "skills"][..]),
        ("mount a root that is not there", &["mount", "more", "--root", "skillz"]),
        ("mount a broken skill by name", &["mount", "more", "--root", "skills", "--skill", "broken"]),
        ("mount a broken skill by path", &["mount", "more", "--skill", "skills/broken"]),
        ("mount a skill into itself", &["mount", "skills/one/more", "--skill", "skills/one"]),
    ] {
        insta::assert_snapshot!(name, place.transcript_at_home(args));
    }
    assert!(!place.path().join("more").exists() && !place.path().join("skills/one/more").exists());
}

/// A workspace is its agent's as long as that is there, as its home is.
#[test]
fn a_workspace_is_not_taken_from_an_agent() {
    let place = place();
    let mut child = run(&place, "pwd; echo $$; exec sleep 600", &["--skill", "skills/one", "--workspace"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap())).map_while(Result::ok);
    let (work, agent) = (lines.next().unwrap(), lines.next().unwrap().parse().unwrap());
    let mark = Path::new(&work).parent().unwrap().join(".metier-home");
    while fs::read_to_string(&mark).unwrap().lines().count() < 2 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    said(&mut run(&place, "true", &["--skill", "skills/one"]));
    assert!(Path::new(&work).is_dir());
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(agent).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[test]
fn a_copy_of_here_is_where_the_agent_is() {
    let place = place();
    let text = said(&mut run(
        &place,
        "cat note.md | head -n 2; ls -d skills",
        &["--skill", "skills/one", "--copy", "."],
    ));
    assert_eq!(text, "---\nname: note\nskills\n");
}

/// What was installed is a record of the run's session, and the session ends with the agent.
#[test]
fn a_run_is_a_session_with_its_skills() {
    let place = place();
    let output = run(&place, "exit 7", &["--skill", "skills/one"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let log = said(&mut place.at_home(&["audit", "log", "--json"]));
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| records.iter().find(|record| record["event"]["kind"] == kind).unwrap();
    let (started, ended) = (of("session.started"), of("session.ended"));
    assert_eq!(started["event"]["agent"], "claude");
    let installed = of("skills.installed");
    assert_eq!(installed["session"], started["session"]);
    assert_eq!(ended["session"], started["session"]);
    let event = &installed["event"];
    assert_eq!(event["skills"]["one"], Value::String(said_digest(&place, "skills/one")));
    assert_eq!((&event["prompt_ns"], &event["prompt_key"]), (&"metier".into(), &"run".into()));
    assert_eq!(event["attached"], serde_json::json!(["one"]));
    assert!(event["skills_dir"].as_str().unwrap().ends_with("/.claude/skills"), "{event}");
}

#[test]
fn the_network_the_sandbox_and_the_key_of_an_agent_can_be_set() {
    let place = place();
    place.write("key", "sk-of-the-file\n");
    let settings = "echo $ANTHROPIC_API_KEY; cat $HOME/.claude/settings.json";
    let sandbox = |more: &[&str]| {
        let output = run(&place, settings, &[&["--no-skills"], more].concat()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (key, json) = text.split_once('\n').unwrap();
        (key.to_owned(), serde_json::from_str::<Value>(json).unwrap()["sandbox"].clone())
    };
    let (key, usual) = sandbox(&[]);
    assert_eq!((key.as_str(), &usual["enabled"]), ("", &Value::Bool(true)));
    assert_eq!(usual["network"]["allowedDomains"], serde_json::json!([]));
    let (key, open) = sandbox(&[
        "--allow-domain",
        "example.org",
        "--allow-domain",
        "crates.io",
        "--require-agent-sandbox",
        "--api-key-file",
        "key",
    ]);
    assert_eq!(key, "sk-of-the-file");
    assert_eq!(open["network"]["allowedDomains"], serde_json::json!(["example.org", "crates.io"]));
    assert_eq!(open["failIfUnavailable"], true);
    assert_eq!(sandbox(&["--no-agent-sandbox"]).1["enabled"], false);

    let program = agent(&place, "true");
    let refused = |args: &[&str]| {
        let args = [args, &["--program", &program, "--no-skills"]].concat();
        let output = place.at_home(&args).env("PATH", "/usr/bin:/bin").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = refused(&["run", "codex", "--allow-domain", "example.org"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("Codex has no sandbox that metier can configure"), "{told}");
    place.write("key", " \n");
    let (code, told) = refused(&["run", "claude", "--api-key-file", "key"]);
    assert!(code == Some(5) && told.contains("the API key is empty"), "{told}");
    let (code, told) = refused(&["run", "claude", "--api-key-file", "nowhere"]);
    assert!(code == Some(4) && told.contains("nowhere does not exist"), "{told}");
}

#[test]
fn what_is_copied_can_be_chosen() {
    let place = place();
    for file in ["src/a.rs", "src/b.md", "target/big", "notes.md"] {
        place.write(&format!("project/{file}"), file);
    }
    std::os::unix::fs::symlink("a.rs", place.path().join("project/src/link.rs")).unwrap();
    let copied = |more: &[&str]| {
        let flags = [&["--no-skills", "--copy", "project"], more].concat();
        said(&mut run(&place, "find . -type f | sort | tr '\\n' ' '", &flags))
    };
    assert_eq!(copied(&["--exclude", "target"]), "./project/notes.md ./project/src/a.rs ./project/src/b.md ");
    assert_eq!(copied(&["--include", "**/*.rs"]), "./project/src/a.rs ");
    let links = copied(&["--include", "**/*.rs", "--follow-links"]);
    assert_eq!(links, "./project/src/a.rs ./project/src/link.rs ");
    let told = copied(&["--copy-max", "10"]);
    assert!(told.contains("project") && told.contains("10"), "{told}");
    assert_eq!(homes(&place), 0);
    let output = run(&place, "true", &["--no-skills", "--exclude", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "it is about `--copy`");
}
