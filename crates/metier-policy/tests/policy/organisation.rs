//! Nothing below an organisation's prohibition can allow what it forbids: every setting that could is tried.

use metier_policy::{
    Access, Action, Allowlist, Anchors, Answer, Approval, Approvals, Approver, DecisionCode, GuardMode,
    GuardedSkill, Lifetime, Policy, PolicySettings, Question, Request, ToolCall, Verdict,
};
use metier_skill::{Digest, Tier, ToolRules};
use serde_json::{Value, json};

const SKILL: &str = "deploy";
const SCRIPT: &str = "scripts/go.sh";

fn digest() -> Digest {
    Digest::of(b"the skill")
}

fn settings(value: Value) -> PolicySettings {
    serde_json::from_value(value).unwrap()
}

fn policy(organisation: Value, others: &[Value]) -> Policy {
    let others: Vec<PolicySettings> = others.iter().cloned().map(settings).collect();
    let others: Vec<(&str, &PolicySettings)> =
        others.iter().map(|settings| ("metier.toml", settings)).collect();
    Policy::new(Some(("policy.toml", &settings(organisation))), &others).unwrap()
}

/// Every way to say which skills a rule is about, so that it is about ours.
fn selectors(tier: Tier) -> Vec<Value> {
    vec![
        json!({}),
        json!({ "tier": tier }),
        json!({ "skill": SKILL }),
        json!({ "skill": "de*" }),
        json!({ "script": SCRIPT }),
        json!({ "script": "**/*.sh" }),
        json!({ "digest": digest() }),
        json!({ "tier": tier, "skill": SKILL, "script": SCRIPT, "digest": digest() }),
    ]
}

/// A rule that says the same about every kind of access, so that none is forgotten.
fn rule(selector: &Value, verdict: &str) -> Value {
    let mut rule = selector.clone();
    // Loading is about the whole skill, so that a rule about a file says nothing of it.
    let is_about_file = selector.get("script").is_some();
    // Rules about the tools of servers say nothing of skills.
    let of_skills = Access::ALL.into_iter().filter(|access| *access != Access::Tools);
    for access in of_skills.filter(|access| !is_about_file || *access != Access::Activate) {
        rule[access.as_str()] = json!(verdict);
    }
    rule
}

struct Always;

impl Approver for Always {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        Answer::Approve(Lifetime::Digest)
    }
}

fn requests(tier: Tier) -> Vec<Request<'static>> {
    let run = Request::new(tier, SKILL, digest(), Action::Run { script: SCRIPT });
    vec![
        Request::new(tier, SKILL, digest(), Action::Activate),
        Request::new(tier, SKILL, digest(), Action::Read { path: SCRIPT }),
        run,
        run.with_network(),
        run.destructive(),
        run.with_network().destructive(),
    ]
}

/// Yes to everything, in every way.
fn approvals(request: &Request<'_>) -> Approvals {
    let mut approvals = Approvals::default();
    for access in Access::ALL {
        for lifetime in [Lifetime::Once, Lifetime::Session("s".to_owned()), Lifetime::Digest] {
            approvals.record(Approval::answer(&Question::new(request, access, ""), true, lifetime));
        }
    }
    approvals
}

#[test]
fn no_setting_tier_or_approval_allows_what_is_forbidden() {
    let mut tried = 0;
    for tier in Tier::ALL {
        for request in requests(tier) {
            for forbids in selectors(tier) {
                let is_about_script = forbids.get("script").is_some();
                if is_about_script && matches!(request.action, Action::Activate) {
                    continue;
                }
                let organisation = json!({ "rules": [rule(&json!({}), "allow"), rule(&forbids, "deny"), rule(&json!({}), "allow")] });
                for allows in selectors(tier) {
                    let person = json!({ "mode": "advisory", "rules": [rule(&allows, "allow")] });
                    let policy = policy(organisation.clone(), &[person.clone(), person]);
                    let mut approvals = approvals(&request);
                    for decision in [
                        policy.decide(&request),
                        policy.recall(&request, Some("s"), &approvals),
                        policy.settle(&request, Some("s"), &mut approvals, &mut Always).decision,
                    ] {
                        tried += 1;
                        assert_eq!(decision.verdict, Verdict::Deny, "{request:?} {forbids} {allows}");
                        assert_eq!(
                            decision.code,
                            DecisionCode::OrganisationForbids,
                            "{request:?} {forbids} {allows}"
                        );
                    }
                }
            }
        }
    }
    assert!(tried > 3_000, "{tried}");
}

#[test]
fn without_the_prohibition_the_same_settings_allow() {
    for tier in Tier::ALL {
        for request in requests(tier) {
            let person = json!({ "rules": [rule(&json!({ "digest": digest() }), "allow")] });
            let policy = policy(json!({}), &[person]);
            assert_eq!(policy.decide(&request).verdict, Verdict::Allow, "{request:?}");
        }
    }
}

/// The settings there are, by what reading refuses to take for one.
fn known(path: &str) -> Vec<String> {
    let wrong = if path.is_empty() { json!({ "no-such": 1 }) } else { json!({ path: [{ "no-such": 1 }] }) };
    let error = serde_json::from_value::<PolicySettings>(wrong).unwrap_err().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn no_setting_is_left_out_here() {
    assert_eq!(known(""), ["mode", "deny", "only_through_skills", "rules"]);
    let mut rules = vec!["name", "message", "tier", "skill", "script", "server", "tool", "digest"];
    rules.extend(Access::ALL.map(Access::as_str));
    assert_eq!(known("rules"), rules);
}

#[test]
fn no_list_or_mode_allows_a_tool_that_is_forbidden() {
    let places = Anchors::new("/repo", "/me");
    let organisation = json!({ "deny": ["Bash(curl *)", "WebFetch", "mcp__evil", "load_skill"] });
    let lists = [
        "Bash",
        "Bash(*)",
        "Bash(curl *)",
        "Bash(curl https://x)",
        "WebFetch(domain:x)",
        "WebFetch",
        "mcp__evil__*",
        "mcp__evil",
    ];
    let calls = [
        ToolCall::new("BASH", "curl https://x"),
        ToolCall::new("functions.exec_command", "curl https://x"),
        ToolCall::new("run_terminal_cmd", json!({ "command": "curl https://x" })),
        ToolCall::new("Bash", json!({ "command": "ls", "cmd": "curl https://x" })),
        ToolCall::new("Web_Fetch", "https://x"),
        ToolCall::new("fetch_url", json!({ "url": "https://x" })),
        ToolCall::new("Bash", "curl https://x"),
        ToolCall::new("exec_command", json!({ "cmd": ["curl", "https://x"] })),
        ToolCall::new("WebFetch", "https://x"),
        ToolCall::new("mcp__evil__x", ""),
        ToolCall::new("load_skill", ""),
    ];
    for mode in GuardMode::ALL {
        for person in [json!({ "mode": mode }), json!({ "mode": mode, "deny": ["Read"] })] {
            let policy = policy(organisation.clone(), &[person]);
            for tier in Tier::ALL {
                let none = vec![GuardedSkill::new("x", tier)];
                let listed = lists.map(|list| {
                    let list = Allowlist::new(&ToolRules::split(list), &places);
                    vec![GuardedSkill::new("x", tier).allowing(list)]
                });
                for active in listed.into_iter().chain([none, Vec::new()]) {
                    for call in &calls {
                        let decision = policy.guard(active.clone(), &places).decide(call);
                        assert_eq!(decision.verdict, Verdict::Deny, "{mode} {call:?}");
                        assert_eq!(decision.code, DecisionCode::OrganisationForbids, "{mode} {call:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_mode_is_no_milder_than_the_organisation_s() {
    for floor in GuardMode::ALL {
        for wanted in GuardMode::ALL {
            let policy = policy(json!({ "mode": floor }), &[json!({ "mode": wanted })]);
            assert_eq!(policy.mode(), floor.max(wanted));
        }
    }
    assert_eq!(policy(json!({ "mode": "advisory" }), &[]).mode(), GuardMode::Advisory);
    assert_eq!(Policy::default().mode(), GuardMode::Allowlist);
}
