//! What is said about rules: those that can never match, and those that mean something else than they seem to.

use metier_policy::{Allowlist, Anchors, Denylist};
use metier_skill::{Code, ToolRules};

fn places() -> Anchors {
    Anchors::new("/repo", "/me").with_skill("/me/skill")
}

fn notes(rule: &str) -> (Vec<Code>, Vec<Code>) {
    let tools = ToolRules::from_rules([rule]);
    let codes = |notes: &[metier_policy::RuleNote]| notes.iter().map(|note| note.code).collect();
    (codes(Allowlist::new(&tools, &places()).notes()), codes(Denylist::new(&tools, &places()).notes()))
}

#[test]
fn good_rules_have_no_note() {
    for rule in [
        "Read",
        "Bash",
        "Bash(*)",
        "Bash(git log *)",
        "Bash(npm run test:*)",
        "Bash(npm run test:unit)",
        "Bash(git commit -m \"a, b\")",
        "Bash(ls*)",
        "Bash(${CLAUDE_SKILL_DIR}/scripts/x.sh *)",
        "Bash(curl http://site.com/:*)",
        "Read(src/**)",
        "Read(~/x)",
        "Read(//etc/**)",
        "Edit(./Finance (2024)/**)",
        "WebFetch(domain:*.example.com)",
        "WebFetch",
        "mcp__github",
        "mcp__github__get_*",
        "Agent(a, b)",
        "Agent(plugin:x)",
        "Skill(plugin:x *)",
        "exec_command",
        "file:read",
        "CustomTool",
        "Bash(docker compose up *)",
        "Bash(git config --get *)",
        "Bash(npx tsc)",
        "Task(Explore)",
    ] {
        assert_eq!(notes(rule), (vec![], vec![]), "{rule}");
    }
}

#[test]
fn rules_that_can_never_match_say_so() {
    let never = vec![Code::RuleNeverMatches];
    for rule in [
        "bash",
        "Raed",
        "Shell(git *)",
        "Bash:*",
        "github:*",
        "Server/tool",
        "mcp_github_x",
        "MCP__github__x",
        "Bash()",
        "Bash(git",
        "(git *)",
        "Bash)",
        "Bash(git:* push)",
        "Bash(command:rm *)",
        "Bash(a && b)",
        "Bash(a | b *)",
        "Bash(echo $HOME)",
        "Bash(echo \"$HOME\")",
        "Bash(${HOME}/x)",
        "Bash(echo \"a)",
        "Bash(rm *, curl *)",
        "Bash(git:status)",
        "Bash(FOO=1 rm *)",
        "Bash(:*)",
        "Bash(**)",
        "Read(!x)",
        "Read(../x)",
        "Read(path:/etc)",
        "Read(*.{ts,tsx})",
        "WebFetch(https://x.io/*)",
        "WebFetch(domain:)",
        "mcp__",
        "mcp__x__",
        "Read, Write",
        "\"Read\"",
        "Read|Write",
        "Bash{git}",
        "Bash(${CLAUDE_PLUGIN_ROOT}/x)",
    ] {
        let (allow, deny) = notes(rule);
        assert_eq!(allow, never, "{rule}");
        assert_eq!(deny, never, "{rule}");
    }
    // What only a list of what is allowed cannot have.
    for rule in [
        "playwright/*",
        "*",
        "B*",
        "mcp__*",
        "Bash(sudo *)",
        "Bash(npx x *)",
        "Bash(uv run *)",
        "Bash(/usr/bin/env *)",
        "Read([a)",
        "WebSearch(x:y)",
        "mcp__a__b(c:d)",
        "Agent(model:opus)",
        "Bash(~/bin/x *)",
        "WebFetch(*)",
    ] {
        let (allow, deny) = notes(rule);
        assert_eq!((allow, deny), (never.clone(), vec![]), "{rule}");
    }
}

#[test]
fn rules_that_mean_something_else_say_so() {
    for rule in ["Write(docs/**)", "Glob(src/**)", "NotebookEdit(x)", "Read(${CLAUDE_SKILL_DIR}/**)"] {
        assert_eq!(notes(rule).0, [Code::RuleRewritten], "{rule}");
    }
    for rule in ["Bash(* install)", "Bash(* --help *)"] {
        assert_eq!(notes(rule).0, [Code::RuleBroad], "{rule}");
    }
}
