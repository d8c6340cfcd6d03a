//! What holds for every input.
//!
//! The cases are the same in every run. `PROPTEST_RNG_SEED=<number>` gives others, `PROPTEST_CASES=<number>` gives more.

use std::cell::Cell;

use metier_policy::{Allowlist, Anchors, Denylist, Guard, GuardMode, GuardedSkill, ToolCall, Verdict};
use metier_skill::{Tier, ToolRules};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::independent::{programs, run_by_shells};

/// `times` as many cases as usual, from a fixed seed unless the environment gives one.
fn config(times: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    let rng_seed = match usual.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given @ RngSeed::Fixed(_) => given,
    };
    ProptestConfig { cases: usual.cases * times, rng_seed, failure_persistence: None, ..usual }
}

fn places() -> Anchors {
    Anchors::new("/repo", "/me")
}

fn allowlist(rules: &str) -> Allowlist {
    Allowlist::new(&ToolRules::split(rules), &places())
}

fn is_allowed(list: &Allowlist, line: &str) -> bool {
    list.find(&ToolCall::new("Bash", line)).is_ok()
}

/// Pieces that command lines are made of, in any order. Nothing but `aa`, `bb` and `zz` is a program.
const PIECES: &[&str] = &[
    "aa",
    "aa ",
    "bb",
    "bb ",
    "zz",
    "zz ",
    " ",
    " ",
    "  ",
    "\t",
    ";",
    " && ",
    " || ",
    " | ",
    " |& ",
    " & ",
    "\n",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    ")",
    "`",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "<<EOF\n",
    "\nEOF\n",
    "<<'EOF'\n",
    "<<-EOF\n",
    "# ",
    "if ",
    "; then ",
    "; else ",
    "; fi",
    "for x in a b; do ",
    "; done",
    " > f",
    " >> f",
    " 2>&1",
    " >&2",
    " < f",
    " <<< a",
    " &> f",
    "$x",
    "${x}",
    "${x:-",
    "}",
    "case a in a) ",
    ";; esac",
    "<(",
    ">(",
    "$((1+1))",
    "((1))",
    "x=1 ",
    "LANG=C ",
    "-a",
    "a",
    "\\\n",
    "!",
    "time ",
    "$'a'",
    "$\"a\"",
    "[[ a ]]",
    "{a,b}",
    "*",
    "~",
    "EOF",
    "do ",
    "done",
    "esac",
    "in",
    "function ",
    "coproc ",
    "\\\n",
    "\\\n",
    "$\\\n(",
    "&> f ",
    "&>",
    "\r",
    "\u{a0}",
    "=",
    "a=(",
    "$",
    "\\\"",
];

/// Command lines that are mostly right: commands joined, grouped and put into one another.
fn line() -> impl Strategy<Value = String> {
    let name = select(&["aa", "aa", "bb", "bb", "zz"][..]);
    let argument = select(
        &[
            "a",
            "'b c'",
            "\"$x\"",
            "-l",
            "*.txt",
            "\"d; zz\"",
            "'$(zz)'",
            "\\;",
            "$'e\\n'",
            "${x:-f}",
            "\\`",
            "a#b",
        ][..],
    );
    let simple = (name, vec(argument, 0..3))
        .prop_map(|(name, words)| format!("{name} {}", words.join(" ")).trim().to_owned());
    simple.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let joined = (
            two.clone(),
            select(&["; ", " && ", " || ", " | ", "\n", " & ", "\n\n", " |& ", " && \\\n"][..]),
        );
        prop_oneof![
            joined.prop_map(|((a, b), by)| format!("{a}{by}{b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("{{ {a}; }}")),
            inner.clone().prop_map(|a| format!("aa \"$({a})\" b")),
            inner.clone().prop_map(|a| format!("bb $({a}\n)")),
            inner.clone().prop_map(|a| format!("aa <({a})")),
            inner.clone().prop_map(|a| format!("bb `{}`", a.replace('\\', "\\\\").replace('`', "\\`"))),
            inner.clone().prop_map(|a| format!("aa <<EOF\nx $({a}) y\nEOF")),
            inner.clone().prop_map(|a| format!("aa <<'EOF'\nx $({a}) y\nEOF")),
            inner.clone().prop_map(|a| format!("for x in 1; do {a}\ndone")),
            two.clone().prop_map(|(a, b)| format!("if {a}\nthen {b}\nfi")),
            two.clone().prop_map(|(a, b)| format!("case a in a) {a};; *) {b}\nesac")),
            inner.clone().prop_map(|a| format!("aa \"${{x:-$({a})}}\"")),
            inner.clone().prop_map(|a| format!("! {a} # zz")),
            inner.prop_map(|a| format!("time {a}")),
        ]
    })
}

fn any_line() -> impl Strategy<Value = String> {
    let mutated = (line(), any::<prop::sample::Index>(), select(PIECES));
    prop_oneof![
        line(),
        vec(select(PIECES), 1..14).prop_map(|pieces| pieces.concat()),
        mutated.prop_map(|(mut line, at, piece)| {
            let at = at.index(line.len() + 1);
            let at = (0..=at).rev().find(|at| line.is_char_boundary(*at)).unwrap();
            line.insert_str(at, piece);
            line
        }),
    ]
}

#[test]
fn what_is_allowed_runs_nothing_else() {
    let list = allowlist("Bash(aa *) Bash(bb *) Edit(f)");
    let (allowed, read) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(config(40));
    runner
        .run(&any_line(), |line| {
            if !is_allowed(&list, &line) {
                return Ok(());
            }
            allowed.set(allowed.get() + 1);
            if let Some(programs) = programs(&line) {
                read.set(read.get() + 1);
                for program in &programs {
                    // The other parser takes `time` for a program before some commands.
                    let is_fine = ["aa", "bb", "time"].contains(&program.as_str());
                    prop_assert!(is_fine, "{program:?} in {line:?}");
                }
            }
            for status in if allowed.get() % 8 == 0 { 0..2 } else { 0..0 } {
                let run = run_by_shells(&line, &["aa", "bb", "zz"], status);
                prop_assert!(!run.iter().any(|name| name == "zz"), "a shell runs {run:?} for {line:?}");
            }
            Ok(())
        })
        .unwrap();
    assert!(allowed.get() > 500, "only {} lines were allowed", allowed.get());
    assert!(
        read.get() * 10 > allowed.get() * 9,
        "the other parser read only {} of {}",
        read.get(),
        allowed.get()
    );
}

#[test]
fn what_no_rule_denies_does_not_run_it() {
    let list = Denylist::new(&ToolRules::split("Bash(zz *)"), &places());
    let passed = Cell::new(0);
    let mut runner = TestRunner::new(config(40));
    runner
        .run(&any_line(), |line| {
            if list.find(&ToolCall::new("Bash", line.as_str())).is_some() {
                return Ok(());
            }
            passed.set(passed.get() + 1);
            if let Some(programs) = programs(&line) {
                prop_assert!(!programs.iter().any(|program| program == "zz"), "{line:?}");
            }
            if passed.get() % 8 == 0 {
                let run = run_by_shells(&line, &["aa", "bb", "zz"], 0);
                prop_assert!(!run.iter().any(|name| name == "zz"), "a shell runs {run:?} for {line:?}");
            }
            Ok(())
        })
        .unwrap();
    assert!(passed.get() > 500, "only {} lines passed", passed.get());
}

const RULES: &[&str] = &[
    "Bash",
    "Bash(aa *)",
    "Bash(bb)",
    "Bash(* -l)",
    "Bash(a*)",
    "Bash(zz:*)",
    "Read",
    "Read(src/**)",
    "Edit(docs/*.md)",
    "Edit(**)",
    "Write",
    "WebFetch(domain:*.example.com)",
    "WebFetch",
    "mcp__git",
    "mcp__github__get_*",
    "mcp__*",
    "*",
    "B*",
    "Skill(deploy *)",
    "Agent(Explore, Plan)",
    "Agent(model:opus)",
    "PowerShell(git *)",
    "Glob(src/**)",
    "nonsense(",
    "(x)",
    "Read(!x)",
    "Read(./.env)",
];

fn call() -> impl Strategy<Value = ToolCall> {
    let file = select(
        &["/repo/src/a", "src/../x", "docs/a.md", "/etc/passwd", ".env", "~/x", "src -> /etc", "/repo/docs"]
            [..],
    );
    let url = select(&["https://a.example.com/", "http://example.com", "https://a@b.example.com", "x"][..]);
    prop_oneof![
        4 => any_line().prop_map(|line| ToolCall::new("Bash", line)),
        2 => (select(&["Read", "Edit", "Write", "Grep", "Glob", "read_file"][..]), file).prop_map(|(tool, path)| ToolCall::new(tool, path)),
        1 => url.prop_map(|url| ToolCall::new("WebFetch", url)),
        1 => select(&["mcp__git__x", "mcp__github__get_x", "mcp__github__", "TodoWrite", "load_skill"][..]).prop_map(|tool| ToolCall::new(tool, "")),
        1 => select(&["deploy", "deploy now", "commit"][..]).prop_map(|name| ToolCall::new("Skill", name)),
        1 => any_line().prop_map(|line| ToolCall::new("PowerShell", line)),
    ]
}

fn rules() -> impl Strategy<Value = ToolRules> {
    vec(select(RULES), 0..5).prop_map(ToolRules::from_rules)
}

fn guard(allowed: &ToolRules, denied: &ToolRules) -> Guard {
    let skill = GuardedSkill::new("x", Tier::User).allowing(Allowlist::new(allowed, &places()));
    Guard::new(GuardMode::Allowlist, vec![skill])
        .denying("the command line", Denylist::new(denied, &places()))
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn more_rules_allow_no_less(some in rules(), more in rules(), call in call()) {
        // A rule that begins with a parenthesis takes the one before it along; that is a mistake, not a rule.
        prop_assume!(!more.rules().first().is_some_and(|rule| rule.starts_with('(')));
        let nothing = ToolRules::default();
        let before = guard(&some, &nothing).decide(&call).verdict;
        let both = ToolRules::from_rules(some.rules().iter().chain(more.rules()));
        prop_assert!(guard(&both, &nothing).decide(&call).verdict <= before, "{both:?} {call:?}");
    }

    #[test]
    fn more_rules_deny_no_less(some in rules(), denied in rules(), more in rules(), call in call()) {
        let before = guard(&some, &denied).decide(&call).verdict;
        let both = ToolRules::from_rules(denied.rules().iter().chain(more.rules()));
        prop_assert!(guard(&some, &both).decide(&call).verdict >= before, "{both:?} {call:?}");
    }

    #[test]
    fn more_active_skills_allow_no_more(some in rules(), other in rules(), call in call()) {
        let list = |rules: &ToolRules| GuardedSkill::new("x", Tier::User).allowing(Allowlist::new(rules, &places()));
        let one = Guard::new(GuardMode::Allowlist, vec![list(&some)]).decide(&call).verdict;
        let two = Guard::new(GuardMode::Allowlist, vec![list(&some), list(&other)]).decide(&call).verdict;
        prop_assert!(two >= one);
    }

    #[test]
    fn a_command_that_is_allowed_and_denied_is_denied(rules in rules(), line in any_line()) {
        let both = guard(&rules, &rules).decide(&ToolCall::new("Bash", line));
        prop_assert_eq!(both.verdict, Verdict::Deny, "{:?}", both);
    }

    #[test]
    fn how_words_are_written_does_not_matter(words in vec("[a-z./=:,-]{1,6}", 1..5), styles in vec(0..7_u8, 5), seps in vec(0..6_u8, 6)) {
        let rules = ["Bash(aa *)".to_owned(), format!("Bash(aa {})", words.join(" ")), "Bash(aa -x *)".to_owned(), "Bash(aa * -l)".to_owned()];
        let plain = format!("aa {}", words.join(" "));
        let mut written = blank(seps[5]).replace("\\\n", "") + "aa";
        for (index, word) in words.iter().enumerate() {
            written += &blank(seps[index]);
            written += &style(word, styles[index]);
        }
        for rule in rules {
            let list = Allowlist::new(&ToolRules::from_rules([&rule]), &places());
            prop_assert_eq!(is_allowed(&list, &plain), is_allowed(&list, &written), "{} {:?}", rule, written);
            let list = Denylist::new(&ToolRules::from_rules([&rule]), &places());
            let denied = |line: &str| list.find(&ToolCall::new("Bash", line)).is_some();
            prop_assert_eq!(denied(&plain), denied(&written), "{} {:?}", rule, written);
        }
    }
}

fn blank(kind: u8) -> String {
    [" ", "  ", "\t", " \\\n ", " \t ", " \\\n\t\\\n "][usize::from(kind)].to_owned()
}

/// A word written in another way that means the same.
fn style(word: &str, kind: u8) -> String {
    let (first, rest) = word.split_at(1);
    match kind {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("\\{word}"),
        3 => format!("{first}\"{rest}\""),
        4 => format!("''{word}"),
        5 => format!("$'{word}'"),
        _ => word.to_owned(),
    }
}
