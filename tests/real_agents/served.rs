//! Claude Code, whose skills are served by `metier serve`: it lists, loads, reads and runs through it, and finds none by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

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

pub(crate) fn served(rig: &Rig) {
    let Some(metier) = metier(rig) else { return };
    let skill = rig.skill("served/codeword-skill", "Quagga-served", "Okapi-served");
    rig.write("served/codeword-skill/references/guide.md", "Tapir-guide\n");
    let script =
        rig.write("served/codeword-skill/scripts/run.sh", "#!/bin/sh\necho \"ran-$((40 + 2))-times\"\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let root = format!("{}:user", skill.parent().unwrap().display());
    let home = rig.path("served-home");
    fs::create_dir_all(&home).unwrap();
    // There is nobody to ask where an agent runs without a terminal.
    let approved = Command::new(&metier)
        .args(["approve", "--root", &root, "codeword-skill", "--script", "scripts/run.sh", "--yes"])
        .env("HOME", &home)
        .output()
        .unwrap();
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));

    let acts = CALLS.iter().map(|(tool, _)| {
        let arguments = match *tool {
            "list_skills" => json!({}),
            "load_skill" => json!({ "skill_name": "codeword-skill" }),
            "read_skill_resource" => {
                json!({ "skill_name": "codeword-skill", "resource_name": "references/guide.md" })
            }
            _ => json!({ "skill_name": "codeword-skill", "script_name": "scripts/run.sh" }),
        };
        Act::Served(tool, arguments)
    });
    let mut run = Run::new(Vec::new()).acts(acts.collect());
    let (program, home) = (metier.to_string_lossy(), home.to_string_lossy());
    let server = json!({ "type": "stdio", "command": program, "args": ["serve", "--root", root], "env": { "HOME": home } });
    let file = rig.write("mcp.json", &json!({ "mcpServers": { "metier": server } }).to_string());
    let tools: Vec<String> = CALLS.iter().map(|(tool, _)| format!("mcp__metier__{tool}")).collect();
    run.more =
        ["--mcp-config", &file.to_string_lossy(), "--strict-mcp-config", "--allowedTools", &tools.join(",")]
            .map(str::to_owned)
            .to_vec();
    let outcome = run.start(rig);
    for (results, (tool, word)) in (1..).zip(CALLS) {
        assert!(outcome.saw_after(results, word), "{tool}: {}", outcome.story());
    }
    assert!(!outcome.saw_first("Okapi-served"), "{}", outcome.story());
}
