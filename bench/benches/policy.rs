//! Measures one decision, compared with the time that another parser needs just to parse the command.
//!
//! `scripts/bench-policy` prints the table of `docs/benchmarks.md`. All candidates run in turns; each figure is
//! the best of the rounds, which has the least noise.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::hint::black_box;
use std::io::BufReader;
use std::time::{Duration, Instant};

use metier_policy::{Allowlist, Anchors, Denylist, Guard, GuardMode, GuardedSkill, ToolCall, Verdict};
use metier_skill::{Tier, ToolRules};

/// 200 characters: a pipeline, a list, wrappers, quotes, a redirection.
const COMMAND: &str = "git log --oneline --all --graph -n 20 | grep -v 'fix: something' | sort -u > out.txt 2>&1; \
                       NODE_ENV=test timeout 30 npm run test -- --coverage \"a b\" && cargo build --release --workspace --offline -qqq";

/// 30 rules; those that match stand last.
const RULES: &[&str] = &[
    "Read",
    "Grep",
    "Glob",
    "Edit(src/**)",
    "Edit(docs/*.md)",
    "Write(notes/**)",
    "WebFetch(domain:docs.rs)",
    "WebFetch(domain:*.example.com)",
    "mcp__github__get_*",
    "mcp__puppeteer",
    "Bash(ls *)",
    "Bash(cat:*)",
    "Bash(git status)",
    "Bash(git diff *)",
    "Bash(git commit -m *)",
    "Bash(cargo test *)",
    "Bash(cargo clippy *)",
    "Bash(npm install)",
    "Bash(npm run lint)",
    "Bash(jq *)",
    "Bash(find . -name *)",
    "Bash(python3 *)",
    "Bash(make *)",
    "Bash(wc -l *)",
    "Edit(out.txt)",
    "Bash(git log *)",
    "Bash(grep *)",
    "Bash(sort *)",
    "Bash(npm run test *)",
    "Bash(cargo build *)",
];

/// What a row is called, and what it measures.
type Row<'a> = (&'a str, Box<dyn FnMut() + 'a>);

const ROUNDS: usize = 200;
const EACH: u32 = 500;

fn main() {
    assert_eq!((COMMAND.len(), RULES.len()), (200, 30), "the goal is about so many characters and rules");
    let places = Anchors::new("/repo", "/me");
    let tools = ToolRules::from_rules(RULES);
    let list = Allowlist::new(&tools, &places);
    let guard = Guard::new(GuardMode::Allowlist, vec![GuardedSkill::new("x", Tier::User).allowing(list)]);
    let others =
        ToolRules::from_rules(RULES.iter().map(|rule| rule.replace("git", "hg").replace("npm", "yarn")));
    let denying = Guard::new(GuardMode::Allowlist, Vec::new())
        .denying("the command line", Denylist::new(&others, &places));
    let call = ToolCall::new("Bash", COMMAND);
    let denied = ToolCall::new("Bash", format!("{} && reboot", &COMMAND[..190]));
    assert_eq!(guard.decide(&call).verdict, Verdict::Allow);
    assert_eq!(guard.decide(&denied).verdict, Verdict::Deny);
    let mut rows: Vec<Row<'_>> = vec![
        (
            "only looking at every byte",
            Box::new(|| {
                black_box(black_box(COMMAND).bytes().map(u64::from).sum::<u64>());
            }),
        ),
        (
            "`brush-parser`, only reading the command",
            Box::new(|| {
                black_box(brush(black_box(COMMAND)));
            }),
        ),
        ("reading 30 rules", Box::new(|| drop(black_box(Allowlist::new(black_box(&tools), &places))))),
        (
            "a decision by 30 rules that allow, on an allowed command",
            Box::new(|| drop(black_box(guard.decide(black_box(&call))))),
        ),
        (
            "a decision by 30 rules that allow, on another one",
            Box::new(|| drop(black_box(guard.decide(black_box(&denied))))),
        ),
        ("a decision by 30 rules that deny", Box::new(|| drop(black_box(denying.decide(black_box(&call)))))),
    ];
    let mut best = vec![Duration::MAX; rows.len()];
    for _ in 0..ROUNDS {
        for ((_, run), best) in rows.iter_mut().zip(&mut best) {
            let start = Instant::now();
            (0..EACH).for_each(|_| run());
            *best = (*best).min(start.elapsed() / EACH);
        }
    }
    println!("| | time | against `brush-parser` |\n|---|---|---|");
    for ((title, _), time) in rows.iter().zip(&best) {
        let ratio = time.as_secs_f64() / best[1].as_secs_f64();
        println!("| {title} | {:.2} µs | {ratio:.2}× |", time.as_secs_f64() * 1e6);
    }
}

fn brush(line: &str) -> bool {
    let options = brush_parser::ParserOptions::default();
    brush_parser::Parser::new(BufReader::new(line.as_bytes()), &options).parse_program().is_ok()
}
