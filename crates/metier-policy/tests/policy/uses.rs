//! What programs do with the files that they name: reading is not changing, and few programs do nothing but read.

use metier_policy::{Anchors, Denylist, ToolCall};
use metier_skill::ToolRules;

fn denies(rules: &str, line: &str) -> bool {
    let places = Anchors::new("/repo", "/me");
    Denylist::new(&ToolRules::split(rules), &places).find(&ToolCall::new("Bash", line)).is_some()
}

#[test]
fn programs_that_can_write_are_not_taken_for_readers() {
    for line in [
        "sed -Ei s/A/B/ .env",
        "sed -ni s/A/B/p .env",
        "sed -si s/A/B/ .env",
        "sed -E -i.bak s/A/B/ .env",
        "sed --in-place=x s/A/B/ .env",
        "sed 'w .env' x",
        "uniq x2 .env",
        "uniq -c x2 .env",
        "xxd x .env",
        "xxd -r x .env",
        "git diff --output=.env",
        "git log --output=.env",
        "git log --outpu=.env",
        "git show --output .env",
        "git --no-pager show --output .env",
        "git -c diff.external=x diff .env",
        "tree -o .env",
        "tree -ao .env",
        "less -o .env x",
        "less --log-file=.env x",
        "eslint --fix .env",
        "eslint -o .env x",
        "eslint --output-file .env x",
        "tsc --outFile .env",
        "mypy --junit-xml .env",
        "mypy --html-report .env x",
        "rg --pre ./x a .env",
        "file -C -m .env",
    ] {
        assert!(denies("Edit(.env)", line), "{line}");
    }
}

#[test]
fn programs_that_only_read_may() {
    for line in [
        "sed -n 1,5p .env",
        "sed -nE s/a/b/p .env",
        "uniq .env",
        "uniq -f 1 .env",
        "sort -u .env",
        "cat .env",
        "grep -o x .env",
        "git diff .env",
        "git --no-pager log -p .env",
        "git -C . show HEAD:.env",
        "git diff --output-indicator-new=+ .env",
        "tree -a .env",
        "less -N .env",
        "eslint .env",
        "mypy --strict .env",
        "diff .env x",
        "file .env",
    ] {
        assert!(!denies("Edit(.env)", line), "{line}");
    }
}
