//! What holds for every input: reading never panics and never drops a skill without a word, findings point
//! into the text, fixes remove their findings and add none, and what is written reads back equal.
//!
//! The cases are the same in every run. `PROPTEST_RNG_SEED=<number>` gives others, `PROPTEST_CASES=<number>`
//! gives more.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashSet;
use std::fs;

use metier_skill::{
    Code, Data, Diagnostic, Field, Fix, Origin, Reading, Rules, Scalar, Skill, SkillName, Span, ToolRules,
    Value, apply_fixes, read, validate_skill, validate_skill_name,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use near_miss::{DIRECTORY, KEYS, VALUES, any_bytes, any_origin, near_miss};

#[path = "support/near_miss.rs"]
mod near_miss;

/// `times` as many cases as usual, from a fixed seed unless the environment gives one.
fn config(times: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    let rng_seed = match usual.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given @ RngSeed::Fixed(_) => given,
    };
    ProptestConfig { cases: usual.cases * times, rng_seed, failure_persistence: None, ..usual }
}

fn profiles() -> [Rules; 3] {
    [Rules::strict(), Rules::standard(), Rules::lenient()]
}

// Reading

/// Line and column, counted from the start of the text.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let (mut line, mut column) = (1, 1);
    for (at, c) in text.char_indices() {
        if at >= offset {
            break;
        }
        // A carriage return ends a line as well, unless a line feed follows it.
        let is_end = c == '\n' || (c == '\r' && !text[at + 1..].starts_with('\n'));
        (line, column) = if is_end { (line + 1, 1) } else { (line, column + 1) };
    }
    (line, column)
}

/// Every finding lies in the text, between characters, and says so rightly; so does every edit.
fn check_places(text: &str, diagnostics: &[Diagnostic]) -> Result<(), TestCaseError> {
    for found in diagnostics {
        prop_assert!(text.get(found.span.range()).is_some(), "{:?} is no slice of {text:?}", found);
        prop_assert_eq!((found.line, found.column), place(text, found.span.start), "{:?}", found);
        for edit in found.fix.iter().flat_map(|fix| &fix.edits) {
            prop_assert!(text.get(edit.span.range()).is_some(), "{:?} is no slice of {text:?}", found);
        }
    }
    Ok(())
}

fn check_verdict(reading: &Reading, rules: &Rules) -> Result<(), TestCaseError> {
    let errors = reading.diagnostics.iter().filter(|found| found.is_error()).count();
    prop_assert_eq!(
        reading.is_valid(),
        errors == 0,
        "{:?}: a skill that is not valid has an error: {:?}",
        rules.profile,
        reading.diagnostics
    );
    prop_assert!(reading.skill.is_some() || errors > 0, "dropped without a word: {:?}", reading.text);
    Ok(())
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn findings_lie_in_the_text_and_in_order(bytes in any_bytes(), origin in any_origin()) {
        for rules in profiles() {
            let reading = read(bytes.0.clone(), origin, &rules);
            check_places(&reading.text, &reading.diagnostics)?;
            prop_assert!(reading.diagnostics.is_sorted_by_key(|found| found.span), "{:?}", reading.diagnostics);
            prop_assert!(reading.diagnostics.iter().all(|found| found.file == origin.file));
            prop_assert!(reading.diagnostics.iter().all(|found| !found.message.is_empty()));
            if let Ok(text) = str::from_utf8(&bytes.0) {
                prop_assert_eq!(reading.text.as_str(), text);
            }
        }
    }

    #[test]
    fn what_is_not_valid_has_an_error(bytes in any_bytes(), origin in any_origin()) {
        for rules in profiles() {
            check_verdict(&read(bytes.0.clone(), origin, &rules), &rules)?;
        }
    }

    #[test]
    fn what_standard_takes_lenient_takes_too(bytes in any_bytes(), origin in any_origin()) {
        let standard = read(bytes.0.clone(), origin, &Rules::standard());
        if standard.is_valid() {
            let lenient = read(bytes.0, origin, &Rules::lenient());
            prop_assert!(lenient.is_valid(), "{:?}", lenient.diagnostics);
            prop_assert_eq!(lenient.skill, standard.skill);
        }
    }

    #[test]
    fn the_body_keeps_its_bytes(body in "\\PC{0,40}|[\r\n\t -]{0,20}") {
        let text = format!("---\nname: {DIRECTORY}\ndescription: d\n---\n{body}");
        let reading = read(text, Origin::directory(DIRECTORY), &Rules::standard());
        prop_assert_eq!(reading.skill.unwrap().body, body.as_str());
    }
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn advice_lies_in_the_text_too(text in near_miss(), more in "[\\[\\](). \n`/a-cé%.#]{0,40}(scripts/[a-z./]{0,8})?") {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), text + &more).unwrap();
        fs::write(directory.join("extra.md"), "").unwrap();
        for rules in profiles() {
            let reading = validate_skill(&directory, &rules).unwrap();
            let (own, others): (Vec<_>, Vec<_>) =
                reading.diagnostics.iter().cloned().partition(|found| found.file == "SKILL.md");
            check_places(&reading.text, &own)?;
            check_verdict(&reading, &rules)?;
            prop_assert!(own.is_sorted_by_key(|found| found.span));
            prop_assert!(others.is_sorted_by_key(|found| (found.file.clone(), found.span)));
            prop_assert_eq!([own, others].concat(), reading.diagnostics);
        }
    }
}

// Fixes

/// Applies fixes round by round until none is left.
fn fixed(text: &str, origin: Origin<'_>, rules: &Rules) -> Result<Reading, TestCaseError> {
    let mut text = text.to_owned();
    for _ in 0..10 {
        let reading = read(text.as_str(), origin, rules);
        let fixes = reading.diagnostics.iter().filter(|found| found.fix.is_some()).count();
        let (next, count) = apply_fixes(&text, &reading.diagnostics);
        prop_assert_eq!(count == 0, fixes == 0, "a fix is not applied: {:?}", reading.diagnostics);
        if count == 0 {
            prop_assert_eq!(next, text);
            return Ok(reading);
        }
        text = next;
    }
    Err(TestCaseError::fail(format!("still something to fix after ten rounds: {text:?}")))
}

/// Whether the parts of `text` between the edits stand in `after` in their order, the outer ones at its ends.
fn keeps_the_rest(text: &str, after: &str, diagnostics: &[Diagnostic]) -> bool {
    let fixes = diagnostics.iter().filter_map(|found| found.fix.as_ref());
    let mut spans: Vec<Span> = fixes.flat_map(|fix| &fix.edits).map(|edit| edit.span).collect();
    spans.sort();
    let (mut kept, mut done) = (Vec::new(), 0);
    for span in spans {
        if span.start >= done {
            kept.push(&text[done..span.start]);
        }
        done = done.max(span.end);
    }
    let last = &text[done..];
    let mut rest = after;
    for (index, part) in kept.into_iter().enumerate() {
        match rest.find(part) {
            Some(at) if index > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.ends_with(last)
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn fixes_change_nothing_else(text in near_miss(), origin in any_origin()) {
        for rules in profiles() {
            let reading = read(text.as_str(), origin, &rules);
            let (after, _) = apply_fixes(&text, &reading.diagnostics);
            prop_assert!(keeps_the_rest(&text, &after, &reading.diagnostics), "{text:?} became {after:?}");
        }
    }

    #[test]
    fn of_fixes_that_touch_the_first_is_applied(
        text in "[a-dé]{0,8}",
        spans in vec((0..12_usize, 0..4_usize), 0..6),
    ) {
        let spans: Vec<Span> = spans.iter().map(|(start, length)| Span::new(*start, start + length)).collect();
        let template = read("", Origin::directory(DIRECTORY), &Rules::standard()).diagnostics.remove(0);
        let fixes = spans.iter().enumerate().map(|(index, span)| {
            let mut found = template.clone();
            found.fix = Some(Fix::replace("", *span, index.to_string()));
            found
        });
        let diagnostics: Vec<Diagnostic> = fixes.collect();

        let touch = |a: &Span, b: &Span| a.start == b.start || a.start < b.end && b.start < a.end;
        let mut applied: Vec<(Span, usize)> = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            if text.get(span.range()).is_some() && !applied.iter().any(|(other, _)| touch(span, other)) {
                applied.push((*span, index));
            }
        }
        let count = applied.len();
        applied.sort();
        let mut expected = text.clone();
        for (span, index) in applied.into_iter().rev() {
            expected.replace_range(span.range(), &index.to_string());
        }
        prop_assert_eq!(apply_fixes(&text, &diagnostics), (expected, count));
    }

    #[test]
    fn fixing_comes_to_an_end(text in near_miss(), origin in any_origin()) {
        for rules in profiles() {
            fixed(&text, origin, &rules)?;
        }
    }

    #[test]
    fn fixing_keeps_what_was_read(text in near_miss(), origin in any_origin()) {
        for rules in profiles() {
            if let Some(before) = read(text.as_str(), origin, &rules).skill {
                let after = fixed(&text, origin, &rules)?;
                let kept = after.skill.as_ref().map(|skill| (&skill.description, &skill.body));
                prop_assert_eq!(kept, Some((&before.description, &before.body)), "{:?} became {:?}", text, after.text);
            }
        }
    }

    #[test]
    fn fixing_leaves_a_valid_skill_valid(text in near_miss(), origin in any_origin()) {
        for rules in profiles() {
            if read(text.as_str(), origin, &rules).is_valid() {
                let after = fixed(&text, origin, &rules)?;
                prop_assert!(after.is_valid(), "{:?} became {:?}: {:?}", text, after.text, after.diagnostics);
            }
        }
    }

    /// One exception: blanks before the first fence hide whatever is wrong after it.
    #[test]
    fn fixing_every_error_makes_a_skill_valid(text in near_miss(), origin in any_origin()) {
        for rules in profiles() {
            let before = read(text.as_str(), origin, &rules);
            let hidden = before.diagnostics.iter().any(|found| found.code == Code::FrontmatterMissing);
            if !hidden && before.diagnostics.iter().all(|found| !found.is_error() || found.fix.is_some()) {
                let after = fixed(&text, origin, &rules)?;
                prop_assert!(after.is_valid(), "{:?} became {:?}: {:?}", text, after.text, after.diagnostics);
            }
        }
    }
}

// Writing

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => ".{0,20}",
        2 => vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect::<String>()),
        2 => "[ \t\r\n\"'\\\\:#,\\[\\]{}&*!|>%@`~?-]{0,10}",
        2 => select(VALUES).prop_map(str::to_owned),
        1 => select(KEYS).prop_map(str::to_owned),
        1 => vec(select(&['\u{0}', '\u{1b}', '\u{7f}', '\u{85}', '\u{9f}', '\u{2028}', '\u{2029}', '\u{feff}',
            '\u{fffe}', '\u{ffff}', '\u{fdd0}', '\u{1fffe}', '\u{10ffff}', '\u{e000}', '\u{ad}', 'a', ' '][..]), 1..6)
            .prop_map(|chars| chars.into_iter().collect()),
        1 => "[a-zé \"]{990,1040}",
    ]
}

fn any_scalar() -> impl Strategy<Value = Scalar> {
    const WORDS: &[&str] = &[
        "",
        "~",
        "null",
        "Null",
        "true",
        "No",
        "ON",
        "0",
        "-1",
        "+7",
        "1_000",
        "0x1F",
        "0o17",
        "017",
        "0b101",
        "1:30",
        "1.5",
        "-1.50",
        "1e3",
        ".5",
        "5.",
        ".inf",
        "-.INF",
        ".nan",
        "1:30.5",
        "2024-01-02",
        "2024-1-2",
        "2001-12-14t21:59:43.10-05:00",
        "2001-12-14 21:59:43.10 -5",
        "=",
        "1.2.3",
        "v1",
        "word",
    ];
    prop_oneof![
        3 => any_text().prop_map(Scalar::string),
        2 => select(WORDS).prop_map(Scalar::plain),
        1 => select(WORDS).prop_map(Scalar::string),
        1 => any_text().prop_map(Scalar::plain),
        1 => "2024-01-02[T ][0-9:.+Z -]{0,6}".prop_map(Scalar::plain),
        1 => "[0-9]{990,1100}".prop_map(Scalar::plain),
    ]
}

fn any_key() -> impl Strategy<Value = Scalar> {
    // The merge key is the one word that may not stand unquoted as a key.
    any_scalar().prop_filter("the merge key", |key| *key != Scalar::plain("<<"))
}

fn entries(
    keys: impl Strategy<Value = Scalar>,
    values: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Vec<Field>> {
    vec((keys, values), 0..4).prop_map(|pairs| {
        let mut seen = HashSet::new();
        let new = pairs.into_iter().filter(|(key, _)| seen.insert(key.text().to_owned()));
        new.map(|(key, value)| Field { key, key_span: Span::default(), value }).collect()
    })
}

fn value(data: Data) -> Value {
    Value { data, span: Span::default() }
}

fn any_value() -> impl Strategy<Value = Value> {
    any_scalar().prop_map(|scalar| value(Data::Scalar(scalar))).prop_recursive(5, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| value(Data::List(items))),
            entries(any_key(), inner).prop_map(|entries| value(Data::Map(entries))),
        ]
    })
}

fn any_tools() -> impl Strategy<Value = ToolRules> {
    let rule = prop_oneof![
        select(
            &["Read", "Bash(git add *)", "a b", "a,b", "(", ")", "x(", "a) b", "(a b", "1", "~", "[a]"][..]
        )
        .prop_map(str::to_owned),
        any_text(),
    ];
    vec(rule, 0..4).prop_map(ToolRules::from_rules)
}

const STANDARD_FIELDS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// Any skill that a `SKILL.md` can say. What cannot be said: blanks around name and description, blank
/// compatibility, null as metadata, and a field of the standard's among the others.
fn any_skill() -> impl Strategy<Value = Skill> {
    let is_text = |text: &String| !text.trim().is_empty();
    let name = prop_oneof![Just(DIRECTORY.to_owned()), any_text().prop_filter("blank", is_text)];
    let description = any_text().prop_filter("blank", is_text);
    let compatibility = proptest::option::of(any_text().prop_filter("blank", is_text));
    let metadata = proptest::option::of(any_value().prop_filter("null", |value| !value.is_null()));
    let keys = any_key().prop_filter("a standard field", |key| !STANDARD_FIELDS.contains(&key.text()));
    let others = entries(keys, any_value());
    let parts = (
        name,
        description,
        proptest::option::of(any_text()),
        compatibility,
        metadata,
        proptest::option::of(any_tools()),
        others,
        any_text(),
    );
    parts.prop_map(|(name, description, license, compatibility, metadata, allowed_tools, fields, body)| {
        let name = name.trim();
        let id = SkillName::new(name).ok().or_else(|| SkillName::slug(name));
        Skill {
            id: id.unwrap_or_else(|| SkillName::new(DIRECTORY).unwrap()),
            name: name.to_owned(),
            description: description.trim().to_owned(),
            license,
            compatibility,
            metadata,
            allowed_tools,
            fields,
            body: body.into(),
        }
    })
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn a_written_skill_reads_back_equal(skill in any_skill()) {
        let text = skill.to_skill_md();
        let short = |text: &str, most: usize| text.chars().count() <= most;
        let is_standard = skill.name == DIRECTORY
            && short(&skill.description, 1024)
            && skill.compatibility.as_ref().is_none_or(|text| short(text, 500));
        let rules = if is_standard { Rules::standard() } else { Rules::lenient() };
        let reading = read(text.as_str(), Origin::directory(DIRECTORY), &rules);
        prop_assert!(reading.is_valid(), "{}\n{:?}", text, reading.diagnostics);
        prop_assert_eq!(reading.skill.unwrap(), skill, "{}", text);
    }

    #[test]
    fn a_valid_skill_survives_a_rewrite(bytes in any_bytes(), origin in any_origin()) {
        let first = read(bytes.0, origin, &Rules::standard());
        if first.is_valid() {
            let skill = first.skill.unwrap();
            let written = skill.to_skill_md();
            let second = read(written.as_str(), origin, &Rules::standard());
            prop_assert!(second.is_valid(), "{:?} became {:?}: {:?}", first.text, written, second.diagnostics);
            prop_assert_eq!(&skill, second.skill.as_ref().unwrap(), "{:?} became {:?}", first.text, written);
            prop_assert_eq!(second.skill.unwrap().to_skill_md(), written);
        }
    }
}

// Names and tools

/// The rule by a walk over the parts between hyphens.
fn keeps_the_name_rule(name: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
    name.split('-').all(part) && name.len() <= 64
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9]{1,4}(-[a-z0-9]{1,4}){0,3}",
        "[a-z-]{60,68}",
        "[aZ0_. é/\n-]{0,6}",
        "[a-z]{1,3}\\PC[a-z]{0,3}",
        any_text(),
    ]
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn the_name_rule_is_the_pattern(name in any_name()) {
        prop_assert_eq!(validate_skill_name(&name).is_ok(), keeps_the_name_rule(&name));
        prop_assert_eq!(SkillName::new(name.as_str()).is_ok(), keeps_the_name_rule(&name));
    }

    #[test]
    fn a_slug_keeps_the_rule(text in any_name()) {
        let letters = text.bytes().any(|byte| byte.is_ascii_alphanumeric());
        match SkillName::slug(&text) {
            Some(slug) => {
                prop_assert!(keeps_the_name_rule(slug.as_str()), "{slug}");
                prop_assert_eq!(SkillName::slug(slug.as_str()), Some(slug.clone()));
                if keeps_the_name_rule(&text) {
                    prop_assert_eq!(slug.as_str(), text);
                }
            }
            None => prop_assert!(!letters, "{text:?} has something to keep"),
        }
    }

    #[test]
    fn tools_come_apart_outside_parentheses_only(text in "([a-c(), \té]|\\(\\)){0,16}") {
        let tools = ToolRules::split(&text);
        let rules = tools.rules();
        prop_assert_eq!(&ToolRules::split(&rules.join(" ")), &tools);
        prop_assert_eq!(&ToolRules::split(&rules.join(", ")), &tools);
        let without = |text: &str| text.replace([',', ' ', '\t'], "");
        prop_assert_eq!(without(&rules.concat()), without(&text), "nothing is lost");
        for rule in rules {
            let mut depth = 0_usize;
            for c in rule.chars() {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    ',' | ' ' | '\t' => prop_assert!(depth > 0, "{rule:?} should be two"),
                    _ => {}
                }
            }
        }
        if is_balanced(&text) {
            prop_assert!(rules.iter().all(|rule| is_balanced(rule)), "{rules:?}");
        }
    }
}

fn is_balanced(text: &str) -> bool {
    let depth = text.chars().try_fold(0_usize, |depth, c| match c {
        '(' => Some(depth + 1),
        ')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}
