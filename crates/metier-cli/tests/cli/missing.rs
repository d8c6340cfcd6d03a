//! One rule for exit codes: what is named and does not exist is 4, a place that cannot be written to is 5.

use crate::support::Place;

/// Every command that reads a file or directory, with one that does not exist.
const READ: &[&str] = &[
    "activate ./no",
    "read ./no SKILL.md",
    "read ./pdf no.md",
    "exec ./no x.sh",
    "exec ./pdf no.sh --work work",
    "exec ./pdf x.sh --work no",
    "approve ./no --yes",
    "approve ./pdf --script no.sh --yes",
    "policy check --skill ./no",
    "policy check --skill ./pdf --script no.sh",
    "policy check --tool Read --input x --policy no",
    "policy lint no",
    "validate no",
    "scan no",
    "digest no",
    "show ./no",
    "pack no",
    "sign no --key key",
    "sign pdf --key no",
    "sign pdf --key key --passphrase-file no",
    "install ./no",
    "install no.zip",
    "install --locked no",
    "install --locked",
    "lock --check no",
    "mount out ./no",
    "link claude ./no",
    "run claude --program /bin/true ./no",
    "run claude --program ./no --all",
    "run claude --program /bin/true --no-skills --api-key-file no",
    "audit log --journal no",
    "audit show 1 --journal no",
    "audit stats --journal no",
    "audit export --journal no",
    "audit replay --journal no",
    "audit checkpoint --journal no",
    "audit checkpoint --extends no",
    "audit verify no",
    "audit verify --journal no",
    "audit verify --since no",
    "audit verify --proof no",
    "audit verify --archives no",
    "trust no",
    "list --root no",
    "search --root no x",
    "prompt --root no",
    "doctor --root no",
    "serve --root no",
    "serve --http 127.0.0.1:0 --token-file no",
    "gateway --servers-from no",
    "gateway --import no",
    "sandbox run --work no -- true",
    "sandbox run --work work --skill no -- true",
    "sandbox run --work work --read no -- true",
    "sandbox run --work work --write no -- true",
];

/// Every command that writes a file, with a directory that does not exist.
const WRITE: &[&str] = &["pack pdf --output no/x", "lock --output no/x", "audit export --output no/x"];

/// Options that name a path, and why what they name need not exist, or where it is tested.
const OTHERS: &[(&str, &str)] = &[
    ("run --copy", "the home of an agent is prepared by another crate"),
    ("ask --schema", "a schema is part of the question: wrong use"),
    ("ask --api-key-file", "the same type as in `run`"),
    ("ask --copy", "like `run --copy`"),
    ("ask --program", "like `run --program`"),
    ("serve --work", "scripts are refused when they are called"),
    ("gateway --token-file", "like `serve --token-file`"),
    ("gateway --work", "like `serve --work`"),
    ("validate --stdin-filename", "stands for standard input"),
    ("new --in", "is created"),
    ("new --script", "is created"),
    ("policy check --cwd", "a call that is imagined"),
    ("policy check --home", "a call that is imagined"),
    ("policy check --skill-dir", "a call that is imagined"),
    ("policy check --plugin-root", "a call that is imagined"),
    ("policy check --script", "in READ, with `--skill`"),
    ("audit archive --to", "is created"),
    ("man --out", "is created"),
    ("mount --root", "the same type as in `list`"),
];

fn place() -> Place {
    let place = Place::new();
    place.skill("pdf", "Use it.");
    place.write("pdf/x.sh", "#!/bin/sh\n");
    place.write("key", "");
    place.write("work/.keep", "");
    // Something is recorded, so that there is a journal.
    assert!(place.at_home(&["activate", "./pdf"]).output().unwrap().status.success());
    place
}

#[test]
fn what_does_not_exist_has_one_exit_code() {
    let place = place();
    for (line, code, said) in READ
        .iter()
        .map(|line| {
            (line, 4, ["not exist", "no such file", "not found", "There is no", "there is no", "has no file"])
        })
        .chain(WRITE.iter().map(|line| (line, 5, ["mkdir -p"; 6])))
    {
        let args: Vec<&str> = line.split(' ').collect();
        let output = place.at_home(&args).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
        assert_eq!(output.status.code(), Some(code), "metier {line}: {text}");
        assert!(
            said.iter().any(|words| text.contains(words)) || text.contains("No such file"),
            "metier {line}: {text}"
        );
        assert!(!text.contains("at path"), "the name of a temporary file: metier {line}: {text}");
    }
}

/// The reference page is made from the definition of the command line.
#[test]
fn every_option_that_names_a_path_is_tested() {
    let page = include_str!("../../../../docs/reference/cli.md");
    let (mut command, mut missing) = (String::new(), Vec::new());
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## metier ") {
            command = name.to_owned();
        }
        let Some(row) = line.strip_prefix("| ") else { continue };
        let Some(option) = row.split('`').find(|part| part.starts_with("--")) else { continue };
        let Some((long, value)) = option.split_once(' ') else { continue };
        let names_path = ["FILE", "DIR", "PATH", "CHECKPOINT", "[FILE]"].contains(&value);
        let tested = READ.iter().chain(WRITE).any(|one| {
            one.strip_prefix(command.as_str()).is_some_and(|rest| rest.split(' ').any(|word| word == long))
        });
        let name = format!("{command} {long}");
        if names_path && !tested && OTHERS.iter().all(|(other, _)| *other != name) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "{missing:?} are not tested");
}
