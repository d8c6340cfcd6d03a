//! What tiers, settings and people decide about skills.

use metier_policy::{
    Access, Action, Allowlist, Anchors, Answer, Approval, Approvals, Approver, Decision, GuardMode,
    GuardedSkill, Lifetime, NoApprover, Policy, PolicyError, PolicySettings, Question, Reach, Request,
    ToolCall, Verdict,
};
use metier_skill::{Coded as _, Digest, Tier, ToolRules};
use serde_json::{Value, json};

fn digest() -> Digest {
    Digest::of(b"the skill")
}

fn run(tier: Tier) -> Request<'static> {
    Request::new(tier, "deploy", digest(), Action::Run { script: "go.sh" })
}

fn policy(settings: &[Value]) -> Policy {
    let settings: Vec<PolicySettings> =
        settings.iter().map(|value| serde_json::from_value(value.clone()).unwrap()).collect();
    let named: Vec<(&str, &PolicySettings)> =
        settings.iter().map(|settings| ("metier.toml", settings)).collect();
    Policy::new(None, &named).unwrap()
}

fn shown(decision: &Decision) -> (Verdict, &str) {
    (decision.verdict, decision.code.as_str())
}

#[test]
fn the_table_of_tiers() {
    let policy = Policy::default();
    for tier in Tier::ALL {
        let activate = Request::new(tier, "deploy", digest(), Action::Activate);
        let read = Request::new(tier, "deploy", digest(), Action::Read { path: "x" });
        assert_eq!(shown(&policy.decide(&activate)), (Verdict::Allow, "tier-allows"));
        assert_eq!(shown(&policy.decide(&read)), (Verdict::Allow, "tier-allows"));
        let is_trusted = matches!(tier, Tier::Builtin | Tier::Org);
        let expected = if is_trusted { (Verdict::Allow, "tier-allows") } else { (Verdict::Ask, "tier-asks") };
        assert_eq!(shown(&policy.decide(&run(tier))), expected);
        // These ask whatever the tier.
        assert_eq!(policy.decide(&run(tier).with_network()).verdict, Verdict::Ask);
        assert_eq!(policy.decide(&run(tier).destructive()).verdict, Verdict::Ask);
    }
    assert_eq!(shown(&policy.decide(&run(Tier::Org).with_network())), (Verdict::Ask, "network-asks"));
    assert_eq!(shown(&policy.decide(&run(Tier::Builtin).destructive())), (Verdict::Ask, "destructive-asks"));
}

#[test]
fn settings_decide_by_tier_skill_script_and_digest() {
    let decide = |rule: Value, request: Request<'_>| {
        let decision = policy(&[json!({ "rules": [rule] })]).decide(&request);
        (decision.verdict, decision.code.as_str())
    };
    let user = run(Tier::User);
    assert_eq!(decide(json!({ "scripts": "allow" }), user), (Verdict::Allow, "policy-allows"));
    assert_eq!(decide(json!({ "tier": "user", "scripts": "deny" }), user), (Verdict::Deny, "policy-denies"));
    assert_eq!(decide(json!({ "tier": "org", "scripts": "deny" }), user), (Verdict::Ask, "tier-asks"));
    assert_eq!(
        decide(json!({ "skill": "dep*", "scripts": "allow" }), user),
        (Verdict::Allow, "policy-allows")
    );
    assert_eq!(decide(json!({ "skill": "x", "scripts": "allow" }), user), (Verdict::Ask, "tier-asks"));
    assert_eq!(
        decide(json!({ "script": "*.sh", "scripts": "allow" }), user),
        (Verdict::Allow, "policy-allows")
    );
    assert_eq!(decide(json!({ "script": "*.py", "scripts": "allow" }), user), (Verdict::Ask, "tier-asks"));
    assert_eq!(
        decide(json!({ "digest": digest(), "scripts": "allow" }), user),
        (Verdict::Allow, "policy-allows")
    );
    assert_eq!(
        decide(json!({ "digest": Digest::of(b""), "scripts": "allow" }), user),
        (Verdict::Ask, "tier-asks")
    );
    // Running is one thing, the network another.
    assert_eq!(decide(json!({ "scripts": "allow" }), user.with_network()), (Verdict::Ask, "network-asks"));
    assert_eq!(
        decide(json!({ "scripts": "allow", "network": "allow" }), user.with_network()),
        (Verdict::Allow, "policy-allows")
    );
    // A third party's skill is only trusted as the very bytes.
    let third = run(Tier::ThirdParty);
    assert_eq!(decide(json!({ "scripts": "allow" }), third), (Verdict::Ask, "policy-asks"));
    assert_eq!(
        decide(json!({ "tier": "third_party", "scripts": "allow" }), third),
        (Verdict::Ask, "policy-asks")
    );
    assert_eq!(
        decide(json!({ "digest": digest(), "scripts": "allow" }), third),
        (Verdict::Allow, "policy-allows")
    );
    assert_eq!(
        decide(json!({ "activate": "ask" }), Request::new(Tier::ThirdParty, "x", digest(), Action::Activate))
            .0,
        Verdict::Ask
    );
}

#[test]
fn later_rules_and_layers_win() {
    let allow = json!({ "scripts": "allow" });
    let deny = json!({ "scripts": "deny" });
    let decide = |layers: &[Value]| policy(layers).decide(&run(Tier::User)).verdict;
    assert_eq!(decide(&[json!({ "rules": [allow, deny] })]), Verdict::Deny);
    assert_eq!(decide(&[json!({ "rules": [deny, allow] })]), Verdict::Allow);
    assert_eq!(decide(&[json!({ "rules": [deny] }), json!({ "rules": [allow] })]), Verdict::Allow);
    assert_eq!(decide(&[json!({ "rules": [allow] }), json!({})]), Verdict::Allow);
}

#[test]
fn what_would_do_nothing_is_an_error() {
    let read = |value: Value| {
        let settings: PolicySettings = serde_json::from_value(value).unwrap();
        Policy::new(None, &[("metier.toml", &settings)]).unwrap_err()
    };
    assert!(matches!(
        read(json!({ "rules": [{ "tier": "user" }] })),
        PolicyError::EmptyRule { number: 1, .. }
    ));
    assert!(matches!(
        read(json!({ "rules": [{ "skill": "[", "scripts": "deny" }] })),
        PolicyError::Pattern { .. }
    ));
    let error = read(json!({ "deny": ["bash(rm *)"] }));
    assert_eq!(
        error.to_string(),
        "metier.toml: deny rule `bash(rm *)` has no effect: unknown tool `bash`; did you mean `Bash`?"
    );
    assert_eq!(error.code(), "policy-deny-rule");
}

/// Answers with what it is given, and counts.
struct Person {
    answer: Answer,
    asked: Vec<String>,
}

impl Approver for Person {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        self.asked.push(format!("{} {}", question.access, question.sentence()));
        self.answer.clone()
    }
}

fn person(answer: Answer) -> Person {
    Person { answer, asked: Vec::new() }
}

#[test]
fn answers_last_as_long_as_was_said() {
    let policy = Policy::default();
    let request = run(Tier::User);
    for (lifetime, asked_again_here, asked_again_elsewhere) in [
        (Lifetime::Once, true, true),
        (Lifetime::Session("a".to_owned()), false, true),
        (Lifetime::Digest, false, false),
    ] {
        for answer in [Answer::Approve(lifetime.clone()), Answer::Refuse(lifetime)] {
            let expected = if matches!(answer, Answer::Approve(_)) { Verdict::Allow } else { Verdict::Deny };
            let mut approvals = Approvals::default();
            let mut person = person(answer);
            let mut times = |session| {
                let before = person.asked.len();
                let decision = policy.settle(&request, Some(session), &mut approvals, &mut person).decision;
                assert_eq!(decision.verdict, expected);
                person.asked.len() > before
            };
            assert!(times("a"));
            assert_eq!(times("a"), asked_again_here);
            assert_eq!(times("b"), asked_again_elsewhere);
        }
    }
}

#[test]
fn an_answer_is_about_these_bytes_this_script_and_this_access() {
    let policy = Policy::default();
    let request = run(Tier::ThirdParty);
    let mut approvals = Approvals::default();
    let mut yes = person(Answer::Approve(Lifetime::Digest));
    assert_eq!(policy.settle(&request, None, &mut approvals, &mut yes).decision.verdict, Verdict::Allow);
    assert_eq!(policy.recall(&request, None, &approvals).code.as_str(), "approved");
    let changed =
        Request::new(Tier::ThirdParty, "deploy", Digest::of(b"changed"), Action::Run { script: "go.sh" });
    let other = Request::new(Tier::ThirdParty, "deploy", digest(), Action::Run { script: "other.sh" });
    for request in [changed, other, request.with_network(), request.destructive()] {
        assert_eq!(policy.recall(&request, None, &approvals).verdict, Verdict::Ask);
        let decision = policy.settle(&request, None, &mut approvals, &mut NoApprover).decision;
        assert_eq!(shown(&decision), (Verdict::Deny, "nobody-to-ask"));
    }
    // Each kind of access is a question of its own.
    let mut yes = person(Answer::Approve(Lifetime::Once));
    assert_eq!(
        policy.settle(&request.with_network().destructive(), None, &mut approvals, &mut yes).decision.verdict,
        Verdict::Allow
    );
    assert_eq!(
        yes.asked,
        [
            "network Allow `deploy` (third-party skill) to reach the whole network in `go.sh`?",
            "destructive Allow `deploy` (third-party skill) to perform destructive operations in `go.sh`?"
        ]
    );
}

#[test]
fn a_no_outweighs_a_yes_and_what_is_once_is_used_up_only_by_what_happens() {
    let policy = Policy::default();
    let request = run(Tier::User).with_network();
    let answer =
        |access, granted, lifetime| Approval::answer(&Question::new(&request, access, ""), granted, lifetime);
    let mut approvals = Approvals::new(vec![
        answer(Access::Scripts, true, Lifetime::Once),
        answer(Access::Network, true, Lifetime::Digest),
        answer(Access::Network, false, Lifetime::Session("a".to_owned())),
    ]);
    assert_eq!(
        shown(&policy.settle(&request, Some("a"), &mut approvals, &mut NoApprover).decision),
        (Verdict::Deny, "refused")
    );
    // The script did not run, so that its approval is still there.
    assert_eq!(
        shown(&policy.settle(&request, Some("b"), &mut approvals, &mut NoApprover).decision),
        (Verdict::Allow, "approved")
    );
    assert_eq!(
        shown(&policy.settle(&request, Some("b"), &mut approvals, &mut NoApprover).decision),
        (Verdict::Deny, "nobody-to-ask")
    );
    // The same question again replaces the answer.
    approvals.record(answer(Access::Network, false, Lifetime::Digest));
    let count = approvals.list().iter().filter(|approval| approval.lifetime == Lifetime::Digest).count();
    assert_eq!(count, 1);
}

/// What becomes of a request for some hosts, after an answer about others.
fn after(answered: &str, granted: bool, wanted: &str) -> Verdict {
    let (answered, wanted): (Reach, Reach) = (answered.parse().unwrap(), wanted.parse().unwrap());
    let request = run(Tier::Org).reaching(&answered);
    let answer = Approval::answer(&Question::new(&request, Access::Network, ""), granted, Lifetime::Digest);
    let request = run(Tier::Org).reaching(&wanted);
    Policy::default().recall(&request, None, &Approvals::new(vec![answer])).verdict
}

#[test]
fn an_answer_about_the_network_is_about_what_is_reached() {
    let (asked, approved, refused) = (Verdict::Ask, Verdict::Allow, Verdict::Deny);
    for (answered, wanted, after_yes, after_no) in [
        ("a.org:443", "a.org:443", approved, refused),
        ("a.org:443", "b.org:443", asked, asked),
        ("a.org:443", "a.org:80", asked, asked),
        ("a.org:443", "host", asked, refused),
        // Whoever adds another host to one that was refused has not asked something else.
        ("a.org:443", "a.org:443,b.org:443", asked, refused),
        ("a.org:443,b.org:443", "b.org:443", approved, refused),
        ("host", "a.org:443", approved, refused),
        ("host", "host", approved, refused),
    ] {
        assert_eq!(after(answered, true, wanted), after_yes, "yes to {answered}, then {wanted}");
        assert_eq!(after(answered, false, wanted), after_no, "no to {answered}, then {wanted}");
    }
}

#[test]
fn of_answers_about_the_network_the_one_about_just_that_counts() {
    let reach = |text: &str| text.parse::<Reach>().unwrap();
    let (one, both, whole) = (reach("a.org:443"), reach("a.org:443,b.org:443"), Reach::WHOLE);
    let answer = |reach: &Reach, granted| {
        let request = run(Tier::User).reaching(reach);
        Approval::answer(&Question::new(&request, Access::Network, ""), granted, Lifetime::Digest)
    };
    let mut approvals = Approvals::new(vec![answer(&whole, false), answer(&one, true)]);
    let verdict = |approvals: &Approvals, reach: &Reach| {
        let request = run(Tier::Org).reaching(reach);
        Policy::default().recall(&request, None, approvals).verdict
    };
    assert_eq!(verdict(&approvals, &one), Verdict::Allow);
    assert_eq!(verdict(&approvals, &both), Verdict::Deny);
    approvals.record(answer(&both, true));
    approvals.record(answer(&one, false));
    assert_eq!(approvals.list().len(), 3, "only the answer to the same question is replaced");
    assert_eq!((verdict(&approvals, &one), verdict(&approvals, &both)), (Verdict::Deny, Verdict::Allow));
    // A rule for the network is one for all of it.
    let policy = policy(&[json!({ "rules": [{ "tier": "org", "network": "allow" }] })]);
    let request = run(Tier::Org).reaching(&one);
    assert_eq!(policy.decide_access(&request, Access::Network).code.as_str(), "policy-allows");
    assert_eq!(shown(&policy.recall(&request, None, &approvals)), (Verdict::Deny, "refused"));
}

#[test]
fn a_question_about_the_network_says_what_is_reached() {
    let reach: Reach = "B.org:80,a.org".parse().unwrap();
    let mut no = person(Answer::Refuse(Lifetime::Digest));
    let mut approvals = Approvals::default();
    let settled = Policy::default().settle(&run(Tier::Org).reaching(&reach), None, &mut approvals, &mut no);
    assert_eq!(
        settled.decision.reason,
        "`deploy` may not reach `a.org:443`, `b.org:80` (`go.sh`): approval was refused"
    );
    assert_eq!(
        no.asked,
        ["network Allow `deploy` (your organisation's skill) to reach `a.org:443`, `b.org:80` in `go.sh`?"]
    );
}

#[test]
fn an_old_answer_about_the_network_was_about_all_of_it() {
    let request = run(Tier::Org).with_network();
    let new = Approval::answer(&Question::new(&request, Access::Network, ""), true, Lifetime::Digest);
    let mut text = serde_json::to_value(&new).unwrap();
    assert_eq!(text["network"], "host");
    text.as_object_mut().unwrap().remove("network");
    let old: Approval = serde_json::from_value(text.clone()).unwrap();
    assert!(old.is_same_question(&new) && old.reach() == Some(&Reach::WHOLE));
    let recalled = Policy::default().recall(&request, None, &Approvals::new(vec![old]));
    assert_eq!(recalled.verdict, Verdict::Allow);
    for wrong in [json!(""), json!("a.org:443,"), json!("*"), json!(true)] {
        text["network"] = wrong;
        assert!(serde_json::from_value::<Approval>(text.clone()).is_err(), "{text}");
    }
    // What is not about the network says nothing of it.
    let script = Approval::answer(&Question::new(&request, Access::Scripts, ""), true, Lifetime::Digest);
    assert!(script.reach().is_none() && serde_json::to_value(&script).unwrap().get("network").is_none());
}

#[test]
fn a_refusal_holds_whatever_the_tier_allows() {
    let policy = Policy::default();
    for tier in Tier::ALL {
        let run = run(tier);
        let all = [
            Request::new(tier, "deploy", digest(), Action::Activate),
            Request::new(tier, "deploy", digest(), Action::Read { path: "go.sh" }),
            run,
            run.with_network(),
            run.destructive(),
        ];
        for request in all {
            for access in request.accesses() {
                let no = Approval::answer(&Question::new(&request, access, ""), false, Lifetime::Digest);
                let mut approvals = Approvals::new(vec![no]);
                assert_eq!(shown(&policy.recall(&request, None, &approvals)), (Verdict::Deny, "refused"));
                let mut yes = person(Answer::Approve(Lifetime::Digest));
                let settled = policy.settle(&request, None, &mut approvals, &mut yes);
                assert_eq!(shown(&settled.decision), (Verdict::Deny, "refused"));
                assert!(yes.asked.is_empty(), "who refused is not asked again");
            }
        }
    }
}

#[test]
fn the_narrower_answer_wins() {
    let policy = Policy::default();
    let request = run(Tier::User);
    let answer = |granted, lifetime| {
        Approval::answer(&Question::new(&request, Access::Scripts, ""), granted, lifetime)
    };
    let mut approvals = Approvals::new(vec![answer(false, Lifetime::Digest)]);
    approvals.record(answer(true, Lifetime::Session("a".to_owned())));
    assert_eq!(policy.recall(&request, Some("a"), &approvals).verdict, Verdict::Allow);
    assert_eq!(policy.recall(&request, Some("b"), &approvals).verdict, Verdict::Deny);
    approvals.record(answer(true, Lifetime::Once));
    let settled = policy.settle(&request, Some("b"), &mut approvals, &mut NoApprover);
    assert_eq!((settled.decision.verdict, settled.used.len()), (Verdict::Allow, 1));
    assert_eq!(policy.recall(&request, Some("b"), &approvals).verdict, Verdict::Deny);
}

#[test]
fn the_owner_s_no_comes_before_a_token_holder_s_yes() {
    let policy = Policy::default();
    let (owner, mut holder) = (run(Tier::User), run(Tier::User));
    holder.principal = Some("build-server");
    let answer = |request: &Request<'_>, granted, lifetime| {
        Approval::answer(&Question::new(request, Access::Scripts, ""), granted, lifetime)
    };
    let verdict = |approvals: &Approvals| policy.recall(&holder, Some("a"), approvals).verdict;
    for lifetime in [Lifetime::Once, Lifetime::Session("a".to_owned()), Lifetime::Digest] {
        let mut approvals = Approvals::new(vec![answer(&holder, true, lifetime)]);
        assert_eq!(verdict(&approvals), Verdict::Allow);
        approvals.record(answer(&owner, false, Lifetime::Digest));
        assert_eq!(verdict(&approvals), Verdict::Deny);
        // Among the owner's own answers the one for the shorter time counts, as ever.
        approvals.record(answer(&owner, true, Lifetime::Session("a".to_owned())));
        assert_eq!(verdict(&approvals), Verdict::Allow);
    }
}

#[test]
fn a_yes_for_once_does_not_outlive_a_denied_attempt() {
    /// Yes to the script, no to the network, both for now only.
    struct Choosy;
    impl Approver for Choosy {
        fn ask(&mut self, question: &Question<'_>) -> Answer {
            let yes = question.access == Access::Scripts;
            if yes { Answer::Approve(Lifetime::Once) } else { Answer::Refuse(Lifetime::Once) }
        }
    }
    let mut approvals = Approvals::default();
    let settled =
        Policy::default().settle(&run(Tier::User).with_network(), None, &mut approvals, &mut Choosy);
    assert_eq!(shown(&settled.decision), (Verdict::Deny, "refused"));
    assert!(approvals.list().is_empty() && settled.recorded.is_empty());
    assert_eq!(Policy::default().open(&run(Tier::User), None, &approvals), [Access::Scripts]);
}

#[test]
fn a_path_has_one_meaning() {
    let rule = json!({ "rules": [{ "script": "scripts/go.sh", "scripts": "deny" }, { "script": "secret/*", "resources": "deny" }] });
    let policy = policy(&[rule]);
    for script in ["scripts/go.sh", "./scripts/go.sh", "scripts//go.sh", "scripts/./go.sh", "Scripts/GO.sh"] {
        let request = Request::new(Tier::Org, "x", digest(), Action::Run { script });
        assert_eq!(shown(&policy.decide(&request)), (Verdict::Deny, "policy-denies"), "{script}");
    }
    for script in ["/scripts/go.sh", "../x/scripts/go.sh", "scripts\\go.sh", "a\nb", ""] {
        let request = Request::new(Tier::Builtin, "x", digest(), Action::Run { script });
        assert_eq!(shown(&policy.decide(&request)), (Verdict::Deny, "not-a-file"), "{script}");
    }
    let read = |path| policy.decide(&Request::new(Tier::Org, "x", digest(), Action::Read { path })).verdict;
    assert_eq!(
        (read("secret/a"), read("secret/a/b"), read("b")),
        (Verdict::Deny, Verdict::Allow, Verdict::Allow)
    );
    // A name cannot pass for part of the question.
    let odd = Request::new(Tier::User, "a`?\n  why  because", digest(), Action::Activate);
    assert!(!Question::new(&odd, Access::Activate, "").sentence().contains('\n'));
}

#[test]
fn modes() {
    let places = Anchors::new("/repo", "/me");
    let list = Allowlist::new(&ToolRules::split("Read"), &places);
    let decide = |mode: GuardMode, skills: Vec<GuardedSkill>, tool: &str| {
        let decision = metier_policy::Guard::new(mode, skills).decide(&ToolCall::new(tool, "x"));
        (decision.verdict, decision.code.as_str())
    };
    let listed = |tier| vec![GuardedSkill::new("a", tier).allowing(list.clone())];
    let silent = || vec![GuardedSkill::new("b", Tier::User)];
    for tier in Tier::ALL {
        assert_eq!(decide(GuardMode::Allowlist, listed(tier), "Read"), (Verdict::Allow, "rule-matched"));
        assert_eq!(decide(GuardMode::Allowlist, listed(tier), "Write"), (Verdict::Deny, "outside-list"));
        assert_eq!(decide(GuardMode::Advisory, listed(tier), "Write"), (Verdict::Allow, "advisory"));
        assert_eq!(decide(GuardMode::PreApprove, listed(tier), "Write"), (Verdict::Ask, "not-pre-approved"));
    }
    assert_eq!(decide(GuardMode::PreApprove, listed(Tier::User), "Read"), (Verdict::Allow, "rule-matched"));
    assert_eq!(
        decide(GuardMode::PreApprove, listed(Tier::ThirdParty), "Read"),
        (Verdict::Ask, "not-pre-approved")
    );
    assert_eq!(decide(GuardMode::Allowlist, silent(), "Write"), (Verdict::Allow, "no-list"));
    assert_eq!(decide(GuardMode::Allowlist, Vec::new(), "Write"), (Verdict::Allow, "no-list"));
    assert_eq!(decide(GuardMode::Allowlist, listed(Tier::User), "load_skill"), (Verdict::Allow, "own-tool"));
    let nothing =
        vec![GuardedSkill::new("c", Tier::User).allowing(Allowlist::new(&ToolRules::default(), &places))];
    assert_eq!(decide(GuardMode::Allowlist, nothing, "Read"), (Verdict::Deny, "empty-list"));
}

fn allows(rules: &[&str], tool: &str, input: Value) -> bool {
    let places = Anchors::new("/repo", "/me");
    let active = rules.iter().map(|rules| {
        GuardedSkill::new("a", Tier::User).allowing(Allowlist::new(&ToolRules::split(rules), &places))
    });
    metier_policy::Guard::new(GuardMode::Allowlist, active.collect())
        .decide(&ToolCall::new(tool, input))
        .verdict
        == Verdict::Allow
}

#[test]
fn k06_and_k07_any_host_s_names() {
    assert!(allows(&["file:read"], "file:read", json!("x")));
    assert!(
        allows(&["file:read"], "Read", json!("x"))
            && allows(&["Read"], "read_file", json!({ "absolute_path": "x" }))
    );
    assert!(!allows(&["file:read"], "bash:execute", json!("ls")));
    let rules = "Bash(git:*) Read";
    for (tool, input) in [
        ("exec_command", json!({ "cmd": "git status" })),
        ("shell", json!({ "command": ["git", "status"] })),
        ("shell", json!({ "command": ["bash", "-lc", "git status"] })),
        ("run_shell_command", json!({ "command": "git status", "description": "x" })),
        ("bash", json!({ "command": "git status" })),
    ] {
        assert!(allows(&[rules], tool, input.clone()), "{tool} {input}");
        let other = serde_json::from_str(&input.to_string().replace("git", "ls")).unwrap();
        assert!(!allows(&[rules], tool, other), "{tool}");
    }
    assert!(
        !allows(&[rules], "file.write", json!("x"))
            && !allows(&[rules], "shell", json!({ "command": ["git", "x;", "rm"], "cmd": "y" }))
    );
    // One word of a list is one word, whatever is in it.
    assert!(allows(&["Bash(echo *)"], "shell", json!({ "command": ["echo", "a; rm x", "$(rm x)", "it's"] })));
}

#[test]
fn k08_a_call_must_be_on_every_list() {
    assert!(allows(&["Read Bash(git *)", "Bash(git log *)"], "Bash", json!("git log")));
    assert!(!allows(&["Read Bash(git *)", "Bash(git log *)"], "Bash", json!("git push")));
    assert!(!allows(&["Read", "Write"], "Read", json!("x")));
    assert!(!allows(&["Read", ""], "Read", json!("x")));
}

#[test]
fn k09_a_compound_does_not_ride_on_a_prefix() {
    assert!(!allows(&["Bash(git:*)"], "Bash", json!("git status; rm -rf /")));
}
