//! Inputs that once went wrong, each with what is right.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use metier_skill::{
    Code, Folder, Origin, Reading, Rules, Severity, SkillError, SymlinkPolicy, Tree, apply_fixes, read,
    validate_skill,
};

/// Reads frontmatter in a directory `s`, under the standard rules.
fn frontmatter(fields: &str) -> Reading {
    read(format!("---\n{fields}---\nDo it.\n"), Origin::directory("s"), &Rules::standard())
}

fn fixed(fields: &str) -> String {
    let reading = frontmatter(fields);
    let (text, _) = apply_fixes(&reading.text, &reading.diagnostics);
    text.strip_prefix("---\n").unwrap().strip_suffix("---\nDo it.\n").unwrap().to_owned()
}

#[test]
fn the_repair_of_colons_leaves_other_scalars_alone() {
    let head = "name: s\n";
    for inside in [
        "description: 'Use when first\n  see: this: that\n  end'\n",
        "\"description\": |\n  Use when\n  Note: this: that\n",
        "description: Use when x\nmetadata:\n  - |\n    a: b: c\n",
    ] {
        let before = format!("{head}{inside}license: MIT: yes\n");
        assert_eq!(fixed(&before), format!("{head}{inside}license: \"MIT: yes\"\n"));
    }
}

#[test]
fn a_colon_in_a_value_of_several_lines_hides_no_other_finding() {
    let fields = "name: S\ndescription: Fills in forms\n  of all kinds.\n  Use when: there is one\nmetadata:\n  v: 1\n";
    let reading = frontmatter(fields);
    let codes: Vec<Code> = reading.diagnostics.iter().map(|found| found.code).collect();
    let wanted = [Code::NameNotLowercase, Code::NameMismatch, Code::YamlUnquotedColon, Code::MetadataShape];
    assert_eq!(codes, wanted);
    assert_eq!((reading.diagnostics[2].line, reading.diagnostics[2].column), (3, 14));
    assert_eq!((reading.diagnostics[3].line, reading.diagnostics[3].column), (7, 6));
    let after = fixed(fields);
    let value = "\"Fills in forms\n  of all kinds.\n  Use when: there is one\"";
    assert_eq!(after, format!("name: s\ndescription: {value}\nmetadata:\n  v: \"1\"\n"));
    let skill = frontmatter(&after).into_valid().unwrap();
    assert_eq!(skill.description, "Fills in forms of all kinds. Use when: there is one");
    // A field whose indentation is wrong is not taken into the value before it.
    let reading = frontmatter("name: s\n  description: Use when x\n");
    assert_eq!(reading.diagnostics[0].code, Code::YamlSyntax);
}

#[test]
fn null_is_not_made_a_text() {
    let fields = "name: s\ndescription: Use when x\nmetadata:\n  a: null\n  b: ~\n";
    assert_eq!(fixed(fields), fields);
}

#[test]
fn a_good_name_is_not_changed_to_the_directory_s() {
    let fields = "name: other\ndescription: Use when x\n";
    assert!(frontmatter(fields).diagnostics.iter().any(|found| found.code == Code::NameMismatch));
    assert_eq!(fixed(fields), fields);
    assert_eq!(fixed("name: S\ndescription: Use when x\n"), "name: s\ndescription: Use when x\n");
}

#[test]
fn a_block_scalar_s_header_is_found_behind_comments() {
    let fields = "name: # a | b |\n  |\n  S\ndescription: Use when x\n";
    assert_eq!(fixed(fields), "name: # a | b |\n  s\ndescription: Use when x\n");
}

fn skill_in(place: &Path, body: &str) -> std::path::PathBuf {
    let path = place.join("s");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("SKILL.md"), format!("---\nname: s\ndescription: Use when x\n---\n{body}")).unwrap();
    path
}

fn codes(path: &Path) -> Vec<Code> {
    validate_skill(path, &Rules::standard()).unwrap().diagnostics.iter().map(|found| found.code).collect()
}

#[test]
fn references_are_looked_up_as_paths() {
    let place = tempfile::tempdir().unwrap();
    let body = "[a](dir/) [b](www.example.com) [c](a_(b).md) [d](x/../real.md) scripts/../real.md [e](link/deep/x.md)";
    let path = skill_in(place.path(), body);
    fs::write(path.join("real.md"), "").unwrap();
    symlink(".", path.join("link")).unwrap();
    assert_eq!(codes(&path), [Code::LinkSkipped]);
}

#[test]
fn a_link_out_of_the_skill_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let path = skill_in(place.path(), "See `p`.");
    symlink("/etc/hostname", path.join("p")).unwrap();
    assert!(!validate_skill(&path, &Rules::standard()).unwrap().is_valid());
    assert!(codes(&path).contains(&Code::LinkOutside));
}

#[test]
fn what_vanished_behind_the_listing_cannot_be_opened() {
    let place = tempfile::tempdir().unwrap();
    let path = skill_in(place.path(), "Do it.");
    let tree = Tree::of_directory(&path, &Rules::standard().limits, SymlinkPolicy::Skip).unwrap();
    assert!(tree.open(&tree.files[0]).is_ok());
    fs::remove_file(path.join("SKILL.md")).unwrap();
    let error = tree.open(&tree.files[0]).unwrap_err();
    assert!(matches!(error, SkillError::Changing { .. }), "{error:?}");
}

#[test]
fn a_directory_that_became_a_link_behind_the_listing_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let path = skill_in(place.path(), "Do it.");
    for directory in ["s/references", "elsewhere"] {
        fs::create_dir(place.path().join(directory)).unwrap();
        fs::write(place.path().join(directory).join("a.md"), directory).unwrap();
    }
    let limits = Rules::standard().limits;
    let tree = Tree::of_directory(&path, &limits, SymlinkPolicy::Skip).unwrap();
    let file = tree.files.iter().find(|file| file.path.ends_with("a.md")).unwrap();
    assert!(tree.open(file).is_ok());
    fs::rename(path.join("references"), place.path().join("aside")).unwrap();
    symlink("../elsewhere", path.join("references")).unwrap();
    assert!(matches!(tree.open(file).unwrap_err(), SkillError::Changing { .. }));
    // The same for the skill's own directory: what was opened is read, whatever its path leads to by now.
    let folder = Folder::open(&place.path().join("aside")).unwrap();
    let digest = folder.manifest(&limits).unwrap().digest();
    fs::rename(place.path().join("aside"), place.path().join("moved")).unwrap();
    symlink("elsewhere", place.path().join("aside")).unwrap();
    assert_eq!(folder.manifest(&limits).unwrap().digest(), digest);
}

#[test]
fn a_link_that_is_followed_is_opened_where_it_led_when_it_was_listed() {
    let place = tempfile::tempdir().unwrap();
    let path = skill_in(place.path(), "Do it.");
    fs::create_dir(path.join("inner")).unwrap();
    fs::write(path.join("inner/a.md"), "inside").unwrap();
    symlink("inner/a.md", path.join("link.md")).unwrap();
    let limits = Rules::standard().limits;
    let tree = Tree::of_directory(&path, &limits, SymlinkPolicy::FollowWithinRoot).unwrap();
    let file = tree.files.iter().find(|file| file.path.ends_with("link.md")).unwrap();
    assert!(tree.open(file).is_ok());
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    fs::write(place.path().join("elsewhere/a.md"), "outside").unwrap();
    fs::rename(path.join("inner"), place.path().join("aside")).unwrap();
    symlink("../elsewhere", path.join("inner")).unwrap();
    assert!(tree.open(file).is_err());
}

#[test]
fn every_end_of_a_line_counts_once() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["---", "name: s", "description: Use when x", "nmae: y", "---", "Do it.", ""].join(end);
        let reading = read(text.as_bytes(), Origin::directory("s"), &Rules::standard());
        let found = reading.diagnostics.iter().find(|found| found.code == Code::FieldUnknown).unwrap();
        assert_eq!((found.line, found.column), (4, 1), "{end:?}");
    }
}

#[test]
fn a_group_directory_is_one_between_skills_and_the_skill() {
    for (path, is_group) in
        [("skills/group/s", true), ("skills/s", false), ("skills/a/b/s", false), ("group/s", false)]
    {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path().join(path).parent().unwrap().to_owned();
        fs::create_dir_all(&parent).unwrap();
        let found = codes(&skill_in(&parent, "Do it."));
        assert_eq!(found.contains(&Code::SkillNested), is_group, "{path}");
    }
}

#[test]
fn a_single_file_without_frontmatter_can_get_one() {
    let mut rules = Rules::standard();
    rules.synthesize_frontmatter = true;
    let reading = read("\u{feff}# Title\n\nSay hello\nto all.\n", Origin::file("My Notes.md"), &rules);
    assert!(reading.is_valid(), "{:?}", reading.diagnostics);
    let skill = reading.skill.unwrap();
    assert_eq!((skill.id.as_str(), skill.description.as_str()), ("my-notes", "Say hello to all."));
    assert_eq!(skill.body, "# Title\n\nSay hello\nto all.\n");
    let found: Vec<Code> = reading.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(found, [Code::FrontmatterSynthesized, Code::Bom]);
    assert!(!read("# Title\n\nSay hello.\n", Origin::directory("x"), &rules).is_valid());
}

#[test]
fn client_fields_are_typed_where_metier_uses_them() {
    let fields = "name: s\ndescription: Use when x\ndisable-model-invocation: yes\nuser-invocable: false\n\
                  version: 1.10\ndisallowed-tools: [Bash(rm *), Write]\n";
    let skill = frontmatter(fields).skill.unwrap();
    assert!(skill.is_hidden_from_models());
    assert!(!skill.is_user_invocable());
    assert_eq!(skill.version(), Some("1.10"));
    assert_eq!(skill.disallowed_tools().unwrap().rules(), ["Bash(rm *)", "Write"]);
    let plain = frontmatter("name: s\ndescription: Use when x\nmetadata:\n  version: \"2\"\n").skill.unwrap();
    assert!(
        !plain.is_hidden_from_models() && plain.is_user_invocable() && plain.disallowed_tools().is_none()
    );
    assert_eq!(plain.version(), Some("2"));
}

/// The example of the fifth specification.
#[test]
fn the_brand_guidelines_are_valid_in_every_profile() {
    let text = "---\nname: brand-guidelines\ndescription: Apply Acme brand guidelines to presentations and documents.\n\
                license: Proprietary\ncompatibility: Requires access to fonts under /assets/fonts\n\
                allowed-tools: Read Write Bash(convert:*) Bash(jq:*)\nmetadata:\n  author: acme\n  version: \"1.0\"\n---\n\n\
                # Brand Guidelines\n\nFollow these rules when generating any deck or report.\n\n## Examples\n\
                - Use the Acme title slide template for all decks.\n";
    for rules in [Rules::strict(), Rules::standard(), Rules::lenient()] {
        let reading = read(text, Origin::directory("brand-guidelines"), &rules);
        let bad = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        assert_eq!(bad.map(|found| found.code).collect::<Vec<_>>(), []);
        let skill = reading.skill.unwrap();
        assert_eq!(
            skill.allowed_tools.as_ref().unwrap().rules(),
            ["Read", "Write", "Bash(convert:*)", "Bash(jq:*)"]
        );
        assert_eq!((skill.license.as_deref(), skill.version()), (Some("Proprietary"), Some("1.0")));
    }
}
