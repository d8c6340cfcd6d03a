//! The examples in `examples/prompts`, each run as its documentation says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn skills() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills").canonicalize().unwrap()
}

fn output(example: &str, arguments: &[&Path]) -> String {
    let path = std::env::current_exe().unwrap().parent().unwrap().join("../examples").join(example);
    let output = Command::new(path).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What an example prints is its snapshot.
fn check(example: &str, arguments: &[&Path]) {
    let text = output(example, arguments);
    insta::assert_snapshot!(example, text.replace(skills().to_str().unwrap(), "[skills]"));
}

#[test]
fn skills_without_tools_are_installed_and_not_in_the_text() {
    check("native_skills", &[]);
}

#[test]
fn a_skill_with_tools_is_opened_and_brings_them() {
    check("skill_with_tools", &[]);
}

#[test]
fn mixed_skills_go_where_they_belong() {
    check("mixed_skills", &[]);
}

#[test]
fn references_are_copied_and_those_that_are_off_are_not_looked_at() {
    check("referenced_skills", &[&skills()]);
    let path = std::env::current_exe().unwrap().parent().unwrap().join("../examples/referenced_skills");
    let output = Command::new(path).arg(skills()).arg("compliance").output().unwrap();
    assert!(!output.status.success(), "what is switched on has to be there");
    assert!(String::from_utf8_lossy(&output.stderr).contains("/opt/skills/compliance"));
}

#[test]
fn all_kinds_of_skills_fit_into_one_section() {
    check("inline_and_referenced_skills", &[&skills()]);
}

#[test]
fn skills_are_there_by_params_by_session_and_by_name() {
    let text = output("conditional_skills", &[]);
    assert_eq!(
        text,
        "python: python-review, security\ntypescript: typescript-review, security\n\
         python, urgent: python-review, security, urgent\nonly security: security\n"
    );
}

#[test]
fn skills_of_a_directory_are_listed_and_mounted() {
    check("discovered_skills", &[&skills()]);
}

#[test]
fn several_directories_each_have_a_place() {
    check("several_directories", &[&skills(), &skills()]);
}

#[test]
#[cfg(feature = "search")]
fn what_fits_the_task_is_shown_and_the_rest_is_said_to_be_left_out() {
    check("filtered_skills", &[&skills()]);
}
