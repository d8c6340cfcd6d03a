//! Calls of tools of MCP servers: rules, questions, stored answers, and tools that only skills may use.

use metier_policy::{
    Access, Allowlist, Anchors, Answer, Approvals, Approver, Decision, DecisionCode, GuardedSkill, Lifetime,
    NoApprover, Policy, PolicySettings, Question, Request, ToolCall, ToolConcern, Verdict,
};
use metier_skill::{Digest, Tier, ToolRules};
use serde_json::{Value, json};

fn settings(value: Value) -> PolicySettings {
    serde_json::from_value(value).unwrap()
}

fn policy(organisation: Value, own: Value) -> Policy {
    Policy::new(Some(("policy.toml", &settings(organisation))), &[("metier.toml", &settings(own))]).unwrap()
}

fn definition() -> Digest {
    Digest::of(b"query(sql)")
}

fn query(concern: Option<ToolConcern>) -> Request<'static> {
    Request::to_call("db", "query", definition(), concern)
}

fn code(policy: &Policy, request: &Request<'_>) -> DecisionCode {
    policy.decide(request).code
}

#[test]
fn rules_about_tools_decide_by_server_and_tool() {
    let rules = |rules: Value| policy(json!({}), json!({ "rules": rules }));
    let none = rules(json!([]));
    assert_eq!(code(&none, &query(None)), DecisionCode::ToolAllowed);
    let deny = rules(json!([{ "server": "d*", "tool": "que*", "tools": "deny" }]));
    let denied = deny.decide(&query(None));
    assert_eq!((denied.verdict, denied.code), (Verdict::Deny, DecisionCode::PolicyDenies));
    assert_eq!(
        denied.reason,
        "metier.toml, rule 1 does not allow calls of the tool `query` of the MCP server `db`"
    );
    let shouted = Request::to_call("DB", "QUERY", definition(), None);
    assert_eq!(code(&deny, &shouted), DecisionCode::PolicyDenies, "a rule that denies ignores case");
    let other = Request::to_call("db", "list", definition(), None);
    assert_eq!(code(&deny, &other), DecisionCode::ToolAllowed);
    let ask = rules(json!([{ "tools": "ask" }, { "server": "db", "tool": "list", "tools": "allow" }]));
    assert_eq!(code(&ask, &query(None)), DecisionCode::PolicyAsks);
    assert_eq!(code(&ask, &other), DecisionCode::PolicyAllows);
    // Rules about skills say nothing of tools.
    let skills = rules(json!([{ "scripts": "deny" }, { "activate": "deny", "resources": "deny" }]));
    assert_eq!(code(&skills, &query(None)), DecisionCode::ToolAllowed);
    for mixed in [
        json!({ "skill": "pdf", "tools": "deny" }),
        json!({ "tier": "user", "tools": "deny" }),
        json!({ "server": "db", "scripts": "deny" }),
        json!({ "tool": "query", "tools": "deny", "network": "deny" }),
    ] {
        let made = Policy::new(None, &[("metier.toml", &settings(json!({ "rules": [mixed] })))]);
        assert!(made.unwrap_err().to_string().contains("mixes skills and tools"));
    }
}

#[test]
fn the_floor_of_the_organisation_holds_for_tools() {
    let organisation = json!({ "rules": [
        { "server": "db", "tools": "ask" },
        { "server": "db", "tool": "drop", "tools": "deny" },
    ] });
    let own = json!({ "rules": [{ "tools": "allow" }] });
    let policy = policy(organisation, own);
    assert_eq!(code(&policy, &query(None)), DecisionCode::OrganisationAsks);
    let drop = Request::to_call("db", "drop", definition(), None);
    assert_eq!(code(&policy, &drop), DecisionCode::OrganisationForbids);
    let mut approvals = Approvals::default();
    let settled = policy.settle(&drop, None, &mut approvals, &mut Says(Answer::Approve(Lifetime::Digest)));
    assert_eq!(settled.decision.code, DecisionCode::OrganisationForbids);
    assert!(settled.answered.is_empty(), "nobody is asked");
}

/// Gives one answer.
struct Says(Answer);

impl Approver for Says {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        self.0.clone()
    }
}

fn settle(policy: &Policy, request: &Request<'_>, approvals: &mut Approvals, answer: Answer) -> Decision {
    policy.settle(request, Some("s1"), approvals, &mut Says(answer)).decision
}

#[test]
fn an_answer_is_remembered_for_the_definition_it_was_given_for() {
    let policy = policy(json!({}), json!({ "rules": [{ "tools": "ask" }] }));
    let mut approvals = Approvals::default();
    let nobody = policy.settle(&query(None), Some("s1"), &mut approvals, &mut NoApprover).decision;
    assert_eq!(nobody.code, DecisionCode::NobodyToAsk);
    let always = Answer::Approve(Lifetime::Digest);
    assert!(settle(&policy, &query(None), &mut approvals, always).is_allowed());
    let again = policy.settle(&query(None), None, &mut approvals, &mut NoApprover).decision;
    assert_eq!((again.verdict, again.code), (Verdict::Allow, DecisionCode::Approved));
    let others = [
        Request::to_call("db", "drop", definition(), None),
        Request::to_call("db", "query", Digest::of(b"query(sql, as_root)"), None),
    ];
    for other in others {
        let decision = policy.settle(&other, None, &mut approvals, &mut NoApprover).decision;
        assert_eq!(decision.code, DecisionCode::NobodyToAsk, "{other:?}");
    }
    let no = settle(&policy, &others[0], &mut approvals, Answer::Refuse(Lifetime::Digest));
    assert_eq!(no.code, DecisionCode::Refused);
    let expected = "`db` will not have its tool `drop` called until the tool's definition changes";
    let later = policy.recall(&others[0], None, &approvals);
    assert!(later.reason.starts_with(expected), "{}", later.reason);
}

#[test]
fn a_changed_tool_is_asked_about_whatever_allowed_the_old_one() {
    let changed = query(Some(ToolConcern::Changed));
    for rules in [json!([]), json!([{ "tools": "allow" }]), json!([{ "server": "db", "tools": "allow" }])] {
        let policy = policy(json!({}), json!({ "rules": rules }));
        assert_eq!(code(&policy, &changed), DecisionCode::ToolChanged);
    }
    let pinned = json!({ "rules": [{ "server": "db", "digest": definition(), "tools": "allow" }] });
    let pinned = policy(json!({}), pinned);
    assert_eq!(code(&pinned, &changed), DecisionCode::PolicyAllows);
    let mut approvals = Approvals::default();
    let policy = policy(json!({}), json!({}));
    let once = Answer::Approve(Lifetime::Once);
    assert!(settle(&policy, &changed, &mut approvals, once).is_allowed());
    let next = policy.settle(&changed, None, &mut approvals, &mut NoApprover).decision;
    assert_eq!(next.code, DecisionCode::NobodyToAsk, "once is once");
    let unapproved = query(Some(ToolConcern::NotPreApproved));
    assert_eq!(code(&policy, &unapproved), DecisionCode::NotPreApproved);
}

#[test]
fn the_question_names_everything_that_is_decided() {
    let arguments = ["{\"sql\":\"drop \u{202e}x\"}".to_owned()];
    let mut request = query(Some(ToolConcern::Changed));
    request.arguments = Some(&arguments);
    let decision = policy(json!({}), json!({})).decide(&request);
    let question = Question::new(&request, Access::Tools, &decision.reason);
    let text = question.text();
    assert!(text.starts_with("Allow a call of the tool `query` of the MCP server `db`?\n"), "{text}");
    assert!(text.contains("  arguments  {\"sql\":\"drop \u{fffd}x\"}\n"), "{text}");
    assert!(text.contains("why        calls of the tool `query` of the MCP server `db` need approval again"));
    assert_eq!(question.covers(&Lifetime::Once), "this once");
    assert_eq!(question.covers(&Lifetime::Digest), "with any arguments, until the tool's definition changes");
}

#[test]
fn a_reserved_tool_needs_an_active_skill_that_declares_it() {
    let places = Anchors::new("/repo", "/me");
    let call = ToolCall::new("mcp__db__query", json!({ "sql": "select 1" }));
    let skill = |name: &str, tier: Tier, tools: &str| {
        GuardedSkill::new(name, tier).allowing(Allowlist::new(&ToolRules::split(tools), &places))
    };
    let reserving = json!({ "only_through_skills": ["mcp__db__*"] });
    for policy in
        [policy(json!({}), reserving.clone()), policy(reserving.clone(), json!({ "mode": "pre_approve" }))]
    {
        let decide = |skills: Vec<GuardedSkill>| policy.guard(skills, &places).decide(&call);
        let closed = decide(Vec::new());
        assert_eq!((closed.verdict, closed.code), (Verdict::Deny, DecisionCode::OnlyThroughSkills));
        assert!(closed.reason.contains("load such a skill first"), "{}", closed.reason);
        assert!(decide(vec![skill("reports", Tier::User, "mcp__db__query")]).is_allowed());
        for (other, why) in [
            (skill("other", Tier::User, "Read"), "another skill"),
            (GuardedSkill::new("plain", Tier::User), "a skill that declares nothing"),
            (skill("stranger", Tier::ThirdParty, "mcp__db__query"), "a third-party skill"),
        ] {
            assert_eq!(decide(vec![other]).code, DecisionCode::OnlyThroughSkills, "{why} does not open it");
        }
    }
    let free = ToolCall::new("mcp__jira__list", json!({}));
    let policy = policy(json!({}), reserving);
    assert!(policy.guard(Vec::new(), &places).decide(&free).is_allowed());
    let wrong = settings(json!({ "only_through_skills": ["bash(x)"] }));
    assert!(Policy::new(None, &[("metier.toml", &wrong)]).is_err(), "a rule that never matches");
    assert!(wrong.lint().iter().any(|finding| finding.is_error), "{:?}", wrong.lint());
}
