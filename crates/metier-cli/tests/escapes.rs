//! Scripts that try to get out of the sandbox: `tests/escapes/`. Each is first run with nothing to hold it, since
//! an attempt that fails even then proves nothing.
//!
//! `ESCAPES=name` runs only those with that in their names, and shows what they print.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "what came of it is for people to read")]

#[path = "escapes/attempt.rs"]
mod attempt;
#[path = "escapes/place.rs"]
mod place;
#[path = "escapes/run.rs"]
mod run;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use attempt::Attempt;
use place::{Base, User, tests_run_as_root};
use run::Run;

/// Attempts whose control must have succeeded, for each user.
const ENOUGH: usize = 60;

/// The machine is loaded enough by one of the two.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn nothing_escapes_from_root() {
    if tests_run_as_root() {
        nothing_escapes("root", User::this());
    } else {
        println!("not root: only the half of an ordinary user is run");
    }
}

#[test]
fn nothing_escapes_from_an_ordinary_user() {
    nothing_escapes("an ordinary user", User::ordinary());
}

/// What is known of an attempt after both runs.
enum Outcome {
    Held,
    /// Held as well, but who knows by what.
    NotCounted(String),
    Escaped(Vec<String>),
    /// The attempt itself, or the harness, is wrong.
    Broken(String),
}

fn nothing_escapes(who: &str, user: User) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    #[expect(clippy::disallowed_methods, reason = "a person asks for some attempts by a variable")]
    let part = std::env::var("ESCAPES").ok();
    let base = Base::new(user);
    let attempts = attempt::all(part.as_deref().unwrap_or(""));
    let outcomes = all(&base, &attempts, part.is_some());
    let table = table(who, &attempts, &outcomes);
    let escapes = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Escaped(_))).count();
    let broken = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Broken(_))).count();
    let held = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Held)).count();
    assert!(escapes == 0 && broken == 0, "{escapes} escapes, {broken} broken attempts\n{table}");
    assert!(part.is_some() || held >= ENOUGH, "only {held} attempts count\n{table}");
    println!("{table}");
}

/// Makes all attempts, two at a time.
fn all(base: &Base, attempts: &[Attempt], show: bool) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = attempts.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(at) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < attempts.len())
                {
                    *outcomes[at].lock().unwrap() = Some(one(base, &attempts[at], show));
                }
            });
        }
    });
    outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap().unwrap()).collect()
}

/// How often an attempt is made with nothing to hold it before it counts as broken. Some race with their victim,
/// and lose on a busy machine.
const CONTROLS: usize = 3;

/// Makes an attempt with nothing to hold it until it succeeds.
fn control(base: &Base, attempt: &Attempt) -> Run {
    let tries = if attempt.excuse(&base.user).is_some() { 1 } else { CONTROLS };
    let mut run = run::bare(base, attempt);
    for _ in 1..tries {
        if !run.evidence.is_empty() {
            break;
        }
        run = run::bare(base, attempt);
    }
    run
}

fn one(base: &Base, attempt: &Attempt, show: bool) -> Outcome {
    let control = attempt.unsafe_because().is_none().then(|| control(base, attempt));
    let inside = run::inside(base, attempt);
    if show {
        for (how, run) in [("bare", control.as_ref()), ("inside", Some(&inside))] {
            let Some(run) = run else { continue };
            println!("--- {attempt}, {how}\n{}evidence: {:#?}", run.output, run.evidence);
        }
    }
    if !inside.evidence.is_empty() {
        return Outcome::Escaped(inside.evidence);
    }
    if !inside.began {
        return Outcome::Broken(format!("did not begin inside: {}", inside.output.trim()));
    }
    match control {
        Some(control) if !control.evidence.is_empty() => Outcome::Held,
        control => match (attempt.excuse(&base.user), control) {
            (Some(why), _) => Outcome::NotCounted(why),
            (None, control) => Outcome::Broken(format!(
                "fails even with nothing to hold it: {}",
                control.map_or_else(String::new, |run| run.output.replace('\n', " "))
            )),
        },
    }
}

/// What came of it, by group.
fn table(who: &str, attempts: &[Attempt], outcomes: &[Outcome]) -> String {
    let mut groups: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut remarks = String::new();
    for (attempt, outcome) in attempts.iter().zip(outcomes) {
        let row = groups.entry(&attempt.group).or_default();
        row[0] += 1;
        match outcome {
            Outcome::Held => row[1] += 1,
            Outcome::NotCounted(why) => {
                row[2] += 1;
                writeln!(remarks, "not counted: {attempt}: {why}").unwrap();
            }
            Outcome::Escaped(evidence) => {
                row[3] += 1;
                writeln!(remarks, "ESCAPED: {attempt}: {}", evidence.join("; ")).unwrap();
            }
            Outcome::Broken(why) => writeln!(remarks, "BROKEN: {attempt}: {why}").unwrap(),
        }
    }
    let mut text = format!("started by {who}\n");
    let mut line = |name: &str, row: [&dyn std::fmt::Display; 4]| {
        writeln!(text, "{name:<12} {:>9} {:>9} {:>12} {:>9}", row[0], row[1], row[2], row[3]).unwrap();
    };
    line("group", [&"attempts", &"held", &"not counted", &"escaped"]);
    let mut sum = [0; 4];
    for (group, row) in &groups {
        line(group, row.each_ref().map(|n| n as &dyn std::fmt::Display));
        for (total, n) in sum.iter_mut().zip(row) {
            *total += n;
        }
    }
    line("all", sum.each_ref().map(|n| n as &dyn std::fmt::Display));
    text + &remarks
}
