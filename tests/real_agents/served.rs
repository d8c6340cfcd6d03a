//! Agents with skills from `metier serve`: each lists, loads, reads and runs skills through it, and finds none
//! by itself.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::command::metier;
use crate::driver::{Act, Run};
use crate::rig::Rig;

/// What the model calls, and the word that then comes back.
const CALLS: [(&str, &str); 4] = [
    ("list_skills", "Quagga-served"),
    ("load_skill", "Okapi-served"),
    ("read_skill_resource", "Tapir-guide"),
    ("run_skill_script", "ran-42-times"),
];

/// A skill that is served to a person with a home of their own.
struct Shelf {
    metier: PathBuf,
    home: PathBuf,
    root: String,
}

impl Shelf {
    fn new(rig: &Rig) -> Option<Self> {
        let metier = metier(rig)?;
        let skill = rig.skill("served/codeword-skill", "Quagga-served", "Okapi-served");
        rig.write("served/codeword-skill/references/guide.md", "Tapir-guide\n");
        let script =
            rig.write("served/codeword-skill/scripts/run.sh", "#!/bin/sh\necho \"ran-$((40 + 2))-times\"\n");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        let root = format!("{}:user", skill.parent().unwrap().display());
        let home = rig.path("served-home");
        fs::create_dir_all(&home).unwrap();
        let shelf = Self { metier, home, root };
        // An agent without a terminal cannot ask for approval.
        let approve =
            ["approve", "--root", &shelf.root, "codeword-skill", "--script", "scripts/run.sh", "--yes"];
        let approved = shelf.command(&approve).output().unwrap();
        assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
        Some(shelf)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.metier);
        command.args(args).env("HOME", &self.home);
        command
    }
}

/// A server that listens, and ends with this.
struct Listening(Child, String);

impl Listening {
    fn start(shelf: &Shelf, directory: &Path) -> Self {
        let mut command = shelf.command(&["serve", "--root", &shelf.root, "--http", "127.0.0.1:0"]);
        let child =
            command.current_dir(directory).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Ended with this also where it does not say what it should.
        let mut listening = Self(child, String::new());
        let mut lines = BufReader::new(listening.0.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| {
            let rest = line.strip_prefix("listening on http://")?.strip_suffix("/mcp")?;
            Some(rest.to_owned())
        });
        listening.1 = address.unwrap();
        // What else it says must go somewhere, or it waits.
        std::thread::spawn(move || lines.for_each(drop));
        listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn acts() -> Vec<Act<'static>> {
    let act = |(tool, _): &(&'static str, &str)| {
        let arguments = match *tool {
            "list_skills" => json!({}),
            "load_skill" => json!({ "skill_name": "codeword-skill" }),
            "read_skill_resource" => {
                json!({ "skill_name": "codeword-skill", "resource_name": "references/guide.md" })
            }
            _ => json!({ "skill_name": "codeword-skill", "script_name": "scripts/run.sh" }),
        };
        Act::Served(tool, arguments)
    };
    CALLS.iter().map(act).collect()
}

fn check(run: Run<'_>, rig: &Rig) {
    let outcome = run.start(rig);
    for (results, (tool, word)) in (1..).zip(CALLS) {
        assert!(outcome.saw_after(results, word), "{tool}: {}", outcome.story());
    }
    assert!(!outcome.saw_first("Okapi-served"), "{}", outcome.story());
    assert!(!outcome.saw("io.metier/result"), "a model is shown the text alone: {}", outcome.story());
}

/// Over standard input and output, as Claude Code starts it.
pub(crate) fn served(rig: &Rig) {
    let Some(shelf) = Shelf::new(rig) else { return };
    let mut run = Run::new(Vec::new()).acts(acts());
    let (program, home) = (shelf.metier.to_string_lossy(), shelf.home.to_string_lossy());
    let server = json!({ "type": "stdio", "command": program, "args": ["serve", "--root", shelf.root], "env": { "HOME": home } });
    let file = rig.write("mcp.json", &json!({ "mcpServers": { "metier": server } }).to_string());
    let tools: Vec<String> = CALLS.iter().map(|(tool, _)| format!("mcp__metier__{tool}")).collect();
    run.more =
        ["--mcp-config", &file.to_string_lossy(), "--strict-mcp-config", "--allowedTools", &tools.join(",")]
            .map(str::to_owned)
            .to_vec();
    check(run, rig);
}

/// Over HTTP, with the settings that are printed for Gemini CLI, as those of a project that it trusts. It takes no settings of the
/// machine from below a directory that everybody can write to.
pub(crate) fn served_over_http(rig: &Rig) {
    let Some(shelf) = Shelf::new(rig) else { return };
    let listening = Listening::start(&shelf, &rig.work());
    let print = ["serve", "--print-config", "gemini", "--http", &listening.1, "--quiet"];
    let printed = shelf.command(&print).output().unwrap();
    let mut settings: Value = serde_json::from_slice(&printed.stdout).unwrap();
    // Approval of tool calls cannot be requested here.
    settings["mcpServers"]["metier"]["trust"] = json!(true);
    fs::create_dir_all(rig.work().join(".gemini")).unwrap();
    fs::write(rig.work().join(".gemini/settings.json"), settings.to_string()).unwrap();
    let mut run = Run::new(Vec::new()).acts(acts());
    run.env = vec![("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned())];
    run.more = ["--approval-mode", "yolo"].map(str::to_owned).to_vec();
    check(run, rig);
}
