//! The behaviour cases on names (N), effective names (R) and validation (V), each under its number.
//!
//! Findings are compared whole, so a case fails on one too many as well as on one too few. The rules are
//! the standard ones unless a case says otherwise.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use metier_skill::Coded as _;
use std::fs;
use std::path::{Path, PathBuf};

use metier_skill::{
    Code, NameError, Origin, Reading, Rules, Severity, SkillError, SkillName, effective_name, load_skill,
    read, validate_skill, validate_skill_name,
};
use tempfile::TempDir;

/// Name and description, for cases about something else.
const HEAD: &str = "name: test-skill\ndescription: Use when testing.\n";

const MIB: usize = 1 << 20;

fn fm(fields: &str) -> String {
    format!("---\n{fields}---\nDo it.\n")
}

fn with(fields: &str) -> String {
    fm(&format!("{HEAD}{fields}"))
}

/// Every finding as `severity code`, in order.
fn findings(reading: &Reading) -> Vec<String> {
    let line = |found: &metier_skill::Diagnostic| format!("{} {}", found.severity.as_str(), found.code);
    reading.diagnostics.iter().map(line).collect()
}

/// A skill's directory with one file in it; the directory goes when the first part does.
fn skill(directory: &str, file: &str, content: &[u8]) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(directory);
    fs::create_dir(&path).unwrap();
    fs::write(path.join(file), content).unwrap();
    (place, path)
}

/// Validates `content` as the `SKILL.md` of `directory`, and compares the findings.
fn check_in(
    id: &str,
    directory: &str,
    content: impl AsRef<[u8]>,
    rules: &Rules,
    expected: &[&str],
) -> Reading {
    let (_place, path) = skill(directory, "SKILL.md", content.as_ref());
    compare(id, &path, rules, expected)
}

fn check(id: &str, content: impl AsRef<[u8]>, expected: &[&str]) -> Reading {
    check_in(id, "test-skill", content, &Rules::standard(), expected)
}

fn compare(id: &str, path: &Path, rules: &Rules, expected: &[&str]) -> Reading {
    let reading = validate_skill(path, rules).unwrap();
    assert_eq!(findings(&reading), expected, "{id}");
    let wants_valid = !expected.iter().any(|found| found.starts_with("error"));
    assert_eq!(reading.is_valid(), wants_valid, "{id}");
    reading
}

// 1. Names

#[test]
fn n01_to_n10_the_name_rule() {
    use NameError::{Blanks, DoubleHyphen, EdgeHyphen, Empty, InvalidCharacter, NotLowercase, TooLong};
    let (most, more) = ("a".repeat(64), "a".repeat(65));
    for (id, name, expected) in [
        ("N01", "my-skill", Ok(())),
        ("N01", "code-review", Ok(())),
        ("N01", "123-test", Ok(())),
        ("N01", "a", Ok(())),
        ("N01", "skill2", Ok(())),
        ("N01", "my-skill-v2", Ok(())),
        ("N02", "", Err(Empty)),
        ("N03", &most, Ok(())),
        ("N03", &more, Err(TooLong(65))),
        ("N04", "My-Skill", Err(NotLowercase)),
        ("N05", "skill_v2", Err(InvalidCharacter('_'))),
        ("N06", "-skill", Err(EdgeHyphen)),
        ("N06", "skill-", Err(EdgeHyphen)),
        ("N06", "skill--v2", Err(DoubleHyphen)),
        ("N07", "path/traversal", Err(InvalidCharacter('/'))),
        ("N07", "path\\traversal", Err(InvalidCharacter('\\'))),
        ("N07", "..evil", Err(InvalidCharacter('.'))),
        ("N07", ".", Err(InvalidCharacter('.'))),
        ("N08", "foo\n", Err(Blanks)),
        ("N08", "foo\nbar", Err(InvalidCharacter('\n'))),
        ("N09", "café", Err(InvalidCharacter('é'))),
        ("N10", "a-", Err(EdgeHyphen)),
        ("N10", "a--b", Err(DoubleHyphen)),
    ] {
        assert_eq!(validate_skill_name(name), expected, "{id} {name:?}");
        assert_eq!(SkillName::new(name).map(|_| ()), expected, "{id} {name:?}");
    }
}

#[test]
fn n09_letters_of_other_scripts_are_a_switch() {
    let text = fm("name: café\ndescription: Use when testing.\n");
    check_in("N09", "café", &text, &Rules::standard(), &["error name-invalid-character"]);
    let mut rules = Rules::standard();
    rules.unicode_names = true;
    let reading = check_in("N09", "café", &text, &rules, &[]);
    assert_eq!(reading.skill.unwrap().id.as_str(), "café");
    check_in("N09", "caffé", &text, &rules, &["error name-mismatch"]);
}

#[test]
fn n11_names_are_compared_in_nfkc() {
    let mut rules = Rules::standard();
    rules.unicode_names = true;
    let wide = fm("name: ｐｄｆ\ndescription: Use when testing.\n");
    let narrow = fm("name: pdf\ndescription: Use when testing.\n");
    for (text, directory) in [(&wide, "pdf"), (&wide, "ｐｄｆ"), (&narrow, "ｐｄｆ"), (&narrow, "pdf")]
    {
        let reading = check_in("N11", directory, text, &rules, &[]);
        assert_eq!(reading.skill.unwrap().id.as_str(), "pdf", "{directory}");
    }
    // Without the switch the letters themselves are refused, but the names still match.
    check_in("N11", "pdf", &wide, &Rules::standard(), &["error name-invalid-character"]);
    check_in("N11", "ｐｄｆ", &narrow, &Rules::standard(), &[]);
}

// 2. Effective names

#[test]
fn r01_to_r04_the_name_that_a_path_gives() {
    for (id, path, expected) in [
        ("R01", "skills/code-review", Some("code-review")),
        ("R01", "skills/code-review/", Some("code-review")),
        ("R01", "code-review.d", Some("code-review.d")),
        ("R02", "skills/testing.md", Some("testing")),
        ("R02", "testing.MD", Some("testing")),
        ("R04", "somewhere/real/SKILL.md", Some("real")),
        ("R04", "somewhere/real/skill.md", Some("real")),
        ("R04", "/", None),
    ] {
        assert_eq!(effective_name(Path::new(path)).as_deref(), expected, "{id} {path}");
    }
    // R03: a name that is given is taken as it is, if it keeps the rule.
    assert_eq!(SkillName::new("custom-name").unwrap().as_str(), "custom-name");
}

#[test]
fn r04_a_path_to_skill_md_means_its_directory() {
    for file in ["SKILL.md", "skill.md"] {
        let (_place, path) =
            skill("real", file, fm("name: other\ndescription: Use when testing.\n").as_ref());
        let reading = validate_skill(&path.join(file), &Rules::standard()).unwrap();
        assert!(findings(&reading).contains(&"error name-mismatch".to_owned()), "R04 {file}");
    }
}

#[cfg(unix)]
#[test]
fn r05_a_linked_directory_must_match_the_name_it_is_reached_by() {
    let (place, target) = skill("target-skill", "SKILL.md", with("").replace("test-", "target-").as_bytes());
    let alias = place.path().join("alias-skill");
    std::os::unix::fs::symlink("target-skill", &alias).unwrap();
    compare("R05", &target, &Rules::standard(), &[]);
    compare("R05", &alias, &Rules::standard(), &["error name-mismatch"]);
    compare("R05", &alias.join("SKILL.md"), &Rules::standard(), &["error name-mismatch"]);
}

// 3. Validation

#[test]
fn v01_to_v22_fields() {
    let long = |count: usize| "x".repeat(count);
    for (id, text, expected) in [
        ("V01", with(""), &[] as &[&str]),
        ("V03", "# Test\n".to_owned(), &["error frontmatter-missing"]),
        ("V04", "---\nname: test-skill\n".to_owned(), &["error frontmatter-unclosed"]),
        ("V05", fm("invalid: [yaml\n"), &["error yaml-syntax"]),
        ("V05", with("invalid: yaml: syntax:\n"), &["warning field-unknown", "error yaml-unquoted-colon"]),
        ("V06", fm("- name\n- description\n"), &["error frontmatter-not-mapping"]),
        ("V07", fm("description: Use when testing.\n"), &["error name-missing"]),
        ("V08", fm("name: test-skill\n"), &["error description-missing"]),
        (
            "V10",
            fm("name: test-skill\ndescription: 123\n"),
            &["error description-not-string", "warning description-no-trigger"],
        ),
        ("V11", fm("name: \"\"\ndescription: Use when testing.\n"), &["error name-empty"]),
        ("V12", fm("name: test-skill\ndescription: \"\"\n"), &["error description-empty"]),
        (
            "V15",
            fm("name: Invalid-Name\ndescription: Use when testing.\n"),
            &["error name-not-lowercase", "error name-mismatch"],
        ),
        ("V16", fm("name: different-name\ndescription: Use when testing.\n"), &["error name-mismatch"]),
        (
            "V18",
            with(
                "license: Apache-2.0\ncompatibility: Needs git.\n\
                 metadata:\n  author: somebody\n  version: '1.0'\nallowed-tools: \"Bash(git:*) Read\"\n",
            ),
            &[],
        ),
        ("V19", with("license: 123\n"), &["error license-not-string"]),
        ("V19", with("license:\n"), &["warning field-null"]),
        ("V20", with("compatibility: 123\n"), &["error compatibility-not-string"]),
        ("V20", with(&format!("compatibility: {}\n", long(500))), &[]),
        ("V20", with(&format!("compatibility: {}\n", long(501))), &["error compatibility-too-long"]),
        ("V21", with("metadata: scalar\n"), &["warning metadata-shape"]),
        ("V21", with("metadata:\n  version: 1.0\n"), &["warning metadata-shape"]),
        ("V21", with("metadata:\n  123: x\n"), &["warning metadata-shape"]),
        ("V21", with("metadata:\n  a: b\n"), &[]),
        ("V22", with("allowed-tools: 123\n"), &["error allowed-tools-type"]),
        ("V22", with("allowed-tools: [Read, 123]\n"), &["error allowed-tools-type"]),
        ("V22", with("allowed-tools: [Read]\n"), &[]),
        ("V22", with("allowed-tools: Read\n"), &[]),
    ] {
        check(id, text, expected);
    }
}

#[test]
fn v07_to_v12_null_is_absent_only_where_a_field_is_optional() {
    for null in ["", "~", "null"] {
        let text = fm(&format!("name: test-skill\ndescription: {null}\n"));
        for rules in [Rules::strict(), Rules::standard(), Rules::lenient()] {
            let reading = read(text.as_str(), Origin::directory("test-skill"), &rules);
            assert!(!reading.is_valid(), "V12 {null:?} {:?}: {:?}", rules.profile, findings(&reading));
        }
    }
    check("V11", fm("name:\ndescription: Use when testing.\n"), &["error name-empty"]);
    let nulls = "license:\ncompatibility: ~\nmetadata: null\nallowed-tools:\n";
    let skill = check("V19", with(nulls), &["warning field-null"; 4]).skill.unwrap();
    assert_eq!((skill.license, skill.compatibility), (None, None), "V19");
    assert_eq!((skill.metadata, skill.allowed_tools), (None, None), "V19");
}

#[test]
fn v09_and_v13_names_in_their_own_directories() {
    let long = "a".repeat(65);
    for (id, name, expected) in [
        ("V09", "123", &["error name-not-string"] as &[&str]),
        ("V09", "yes", &["error name-not-string"]),
        ("V13", &long, &["error name-too-long"]),
        ("V13", &long[1..], &[]),
    ] {
        let text = fm(&format!("name: {name}\ndescription: Use when testing.\n"));
        check_in(id, name, text, &Rules::standard(), expected);
    }
}

#[test]
fn v14_a_description_is_counted_in_characters() {
    let start = "Use when ";
    for (letter, count, expected) in [
        ("x", 1024, &[] as &[&str]),
        ("x", 1025, &["error description-too-long"]),
        ("é", 1024, &[]),
        ("é", 1025, &["error description-too-long"]),
    ] {
        let description = format!("{start}{}", letter.repeat(count - start.len()));
        check("V14", fm(&format!("name: test-skill\ndescription: {description}\n")), expected);
        // Blanks around it do not count.
        check("V14", fm(&format!("name: test-skill\ndescription: \"  {description}  \"\n")), expected);
    }
}

#[test]
fn v17_and_v23_single_files() {
    let other = fm("name: different-name\ndescription: Use when testing.\n");
    for (id, file, text, expected) in [
        ("V17", "my-file.md", &other, &[] as &[&str]),
        ("V23", "my-file.txt", &other, &["error not-markdown"]),
        ("V23", "my-file", &other, &["error not-markdown"]),
        ("V23", "my-file.MD", &other, &[]),
        ("V23", "my-file.Md", &other, &[]),
        ("V03", "my-file.md", &"Say hello.\n".to_owned(), &["error frontmatter-missing"]),
    ] {
        let (_place, path) = skill("files", file, text.as_ref());
        compare(id, &path.join(file), &Rules::standard(), expected);
    }
}

#[test]
fn v20_the_limit_on_compatibility_can_be_set() {
    let mut rules = Rules::standard();
    rules.limits.compatibility_chars = 600;
    for (count, expected) in [(501, &[] as &[&str]), (600, &[]), (601, &["error compatibility-too-long"])] {
        let text = with(&format!("compatibility: {}\n", "é".repeat(count)));
        check_in("V20", "test-skill", text, &rules, expected);
    }
}

#[test]
fn v21_metadata_is_kept_whatever_its_shape_and_can_be_refused() {
    let text = with("metadata:\n  version: 1.10\n  123: x\n  deep: {a: [b, true]}\n");
    let skill = check("V21", &text, &["warning metadata-shape"; 3]).skill.unwrap();
    let pairs = [("version", "1.10"), ("123", "x"), ("deep", "{a: [b, true]}")];
    assert_eq!(skill.metadata_text(), pairs.map(|(key, value)| (key.to_owned(), value.to_owned())), "V21");

    let refusing = Rules::standard().with(Code::MetadataShape, Some(Severity::Error));
    check_in("V21", "test-skill", &text, &refusing, &["error metadata-shape"; 3]);
    let coercing = Rules::standard().with(Code::MetadataShape, None);
    check_in("V21", "test-skill", &text, &coercing, &[]);
}

#[test]
fn v22_a_string_and_a_list_declare_the_same_tools() {
    for tools in ["Read Write", "Read, Write", "Read,Write", "[Read, Write]", "\n  - Read\n  - Write"] {
        let reading = check("V22", with(&format!("allowed-tools: {tools}\n")), &[]);
        assert_eq!(reading.skill.unwrap().allowed_tools.unwrap().rules(), ["Read", "Write"], "V22 {tools}");
    }
    for nothing in ["\"\"", "[]"] {
        let reading = check("V22", with(&format!("allowed-tools: {nothing}\n")), &[]);
        assert!(reading.skill.unwrap().allowed_tools.unwrap().is_empty(), "V22 {nothing}");
    }
    assert_eq!(check("V22", with(""), &[]).skill.unwrap().allowed_tools, None);
}

#[test]
fn v24_and_v25_skill_md_has_at_most_one_mebibyte() {
    let sized = |size: usize| {
        let head = with("");
        format!("{head}{}", "x".repeat(size - head.len()))
    };
    for (id, size, expected) in [
        ("V24", MIB, &["warning body-long"] as &[&str]),
        ("V24", MIB + 1, &["error skill-md-too-large"]),
        ("V25", 3 * MIB, &["error skill-md-too-large"]),
    ] {
        let text = sized(size);
        check(id, &text, expected);
        let (_place, path) = skill("files", "single.md", text.as_bytes());
        compare(id, &path.join("single.md"), &Rules::standard(), expected);
        let from_bytes = read(text, Origin::directory("test-skill"), &Rules::standard());
        assert_eq!(from_bytes.is_valid(), size <= MIB, "{id} {size}");
    }
}

#[test]
fn v26_to_v30_fences_and_line_ends() {
    let crlf = with("").replace('\n', "\r\n");
    for (id, text, expected, body) in [
        ("V26", crlf, &[] as &[&str], "Do it.\r\n"),
        ("V27", format!("\u{feff}{}", with("")), &["warning bom"], "Do it.\n"),
        ("V28", format!("---\n{HEAD}---"), &["warning body-empty"], ""),
        ("V29", format!("--- \n{HEAD}---  \nDo it.\n"), &[], "Do it.\n"),
        ("V29", format!("---\t\n{HEAD}---\t \nDo it.\n"), &[], "Do it.\n"),
    ] {
        let reading = check(id, text, expected);
        assert_eq!(reading.skill.unwrap().body, body, "{id}");
    }
    for (id, text, expected) in [
        ("V30", "---\n---\nbody\n", "error frontmatter-empty"),
        ("V29", "---x\nname: test-skill\n---\n", "error frontmatter-missing"),
        ("V29", " ---\nname: test-skill\n---\n", "error frontmatter-missing"),
        ("V41", "---\n{}\n---\nbody\n", "error frontmatter-empty"),
        ("V41", "---\n# nothing\n\n---\nbody\n", "error frontmatter-empty"),
        ("V41", "", "error frontmatter-missing"),
    ] {
        check(id, text, &[expected]);
    }
}

#[test]
fn v31_unknown_fields_are_kept_and_can_be_refused() {
    let text = with("foo: 1\n");
    let skill = check("V31", &text, &["warning field-unknown"]).skill.unwrap();
    assert_eq!(skill.field("foo").unwrap().to_string(), "1", "V31");
    let refusing = Rules::standard().with(Code::FieldUnknown, Some(Severity::Error));
    check_in("V31", "test-skill", &text, &refusing, &["error field-unknown"]);
    check_in("V31", "test-skill", &text, &Rules::strict(), &["error field-unknown"]);
}

#[test]
fn v32_to_v35_content() {
    check("V32", fm("name: test-skill\ndescription: \"   \"\n"), &["error description-empty"]);
    check("V34", with("license: a\nlicense: b\n"), &["error yaml-duplicate-key"]);
    check("V34", with("metadata:\n  a: b\n  a: c\n"), &["error yaml-duplicate-key"]);
    let markup = fm("name: test-skill\ndescription: Use when <script> is there.\n");
    check("V35", markup, &["warning description-markup"]);
}

#[test]
fn v33_bytes_that_are_not_utf8_are_named_with_their_offset() {
    let mut bytes = with("").into_bytes();
    let offset = bytes.len();
    bytes.push(0xff);
    let reading = check("V33", bytes, &["error not-utf8"]);
    let found = &reading.diagnostics[0];
    assert_eq!((found.span.start, found.line, found.column), (offset, 6, 1), "V33");
    assert!(found.message.contains(&format!("byte {offset}")), "V33 {}", found.message);
}

#[test]
fn v36_skill_md_in_lower_case_is_second_choice() {
    let (_place, path) = skill("test-skill", "skill.md", with("").as_ref());
    compare("V36", &path, &Rules::standard(), &["warning skill-md-lowercase"]);
    // Where the file system tells the two apart, the one in capitals is read.
    fs::write(path.join("SKILL.md"), with("license: MIT\n")).unwrap();
    let reading = validate_skill(&path, &Rules::standard()).unwrap();
    assert_eq!(reading.skill.unwrap().license.as_deref(), Some("MIT"), "V36");
}

#[test]
fn v02_and_v37_what_is_not_there() {
    let (place, path) = skill("test-skill", "README.md", b"Not a skill.\n");
    let reading = validate_skill(&path, &Rules::standard()).unwrap();
    assert_eq!(findings(&reading), ["error skill-md-missing"], "V02");
    let error = load_skill(&path, &Rules::standard()).unwrap_err();
    assert_eq!(error.code(), "skill-validation", "V02");
    assert!(error.to_string().contains("test-skill"), "V02: an error names the place: {error}");

    for gone in ["gone", "gone/SKILL.md", "gone.md"] {
        let path = place.path().join(gone);
        for error in [
            validate_skill(&path, &Rules::standard()).unwrap_err(),
            load_skill(&path, &Rules::standard()).unwrap_err(),
        ] {
            assert!(
                matches!(&error, SkillError::NotFound { path: named } if *named == path),
                "V37 {error:?}"
            );
            assert_eq!(error.code(), "skill-not-found", "V37");
        }
    }
}

#[test]
fn v38_only_three_hyphens_alone_end_the_frontmatter() {
    let literal = "license: |\n  a\n  ---- b\n";
    assert_eq!(
        check("V38", with(literal), &[]).skill.unwrap().license.as_deref(),
        Some("a\n---- b\n"),
        "V38"
    );
    for not_a_fence in ["----", "---foo", "--- foo", "-- -"] {
        check("V38", format!("---\n{HEAD}{not_a_fence}\nDo it.\n"), &["error frontmatter-unclosed"]);
    }
    let body = "Do it.\n----\n---foo\n---\nMore.\n";
    let reading = check("V38", format!("---\n{HEAD}---\n{body}"), &[]);
    assert_eq!(reading.skill.unwrap().body, body, "V38");
}

#[cfg(unix)]
#[test]
fn v39_skill_md_that_is_a_link_is_read_only_where_the_rules_follow_it() {
    use std::os::unix::fs::symlink;
    let inside = |path: &Path| {
        fs::write(path.join("real.md"), with("")).unwrap();
        symlink("real.md", path.join("SKILL.md")).unwrap();
    };
    let outside = |path: &Path| {
        fs::write(path.parent().unwrap().join("real.md"), with("")).unwrap();
        symlink("../real.md", path.join("SKILL.md")).unwrap();
    };
    let mut following = Rules::standard();
    following.symlinks = metier_skill::SymlinkPolicy::FollowWithinRoot;
    for (case, lay_out, rules, valid) in [
        ("inside, skipped", &inside as &dyn Fn(&Path), Rules::standard(), false),
        ("inside, followed", &inside, following.clone(), true),
        ("inside, strict", &inside, Rules::strict(), true),
        ("outside, skipped", &outside, Rules::standard(), false),
        ("outside, followed", &outside, following, false),
        ("outside, strict", &outside, Rules::strict(), false),
    ] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("test-skill");
        fs::create_dir(&path).unwrap();
        lay_out(&path);
        let reading = validate_skill(&path, &rules).unwrap();
        assert_eq!(reading.is_valid(), valid, "V39 {case}: {:?}", findings(&reading));
        let code = if valid { Code::SkillMdLinkFollowed } else { Code::SkillMdLink };
        assert!(reading.diagnostics.iter().any(|found| found.code == code), "V39 {case}");
    }
}

#[test]
fn v40_every_example_skill_is_valid_in_every_profile() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
    let mut count = 0;
    for entry in fs::read_dir(&examples).unwrap().map(Result::unwrap) {
        if !entry.file_type().unwrap().is_dir() {
            continue;
        }
        count += 1;
        let name = entry.file_name().into_string().unwrap();
        assert_eq!(validate_skill_name(&name), Ok(()), "V40 {name}");
        for rules in [Rules::strict(), Rules::standard(), Rules::lenient()] {
            let reading = validate_skill(&entry.path(), &rules).unwrap();
            assert!(reading.is_valid(), "V40 {name} {:?}: {:?}", rules.profile, reading.diagnostics);
        }
    }
    assert!(count > 0, "V40: there is no example");
}
