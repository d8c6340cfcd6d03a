//! Help, version, completions, manual pages, wrong use.

use crate::support::Place;

/// Every command and every command below it, as the help lists them.
fn every_command(place: &Place) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = all.get(next).cloned() {
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = String::from_utf8(place.run(&args).stdout).unwrap();
        // Those of `metier` itself are in groups.
        let begins = |line: &&str| ["Commands:", "Start here:"].contains(line);
        let lines = help.lines().skip_while(|line| !begins(line)).take_while(|line| *line != "Options:");
        // What a command says goes on further right.
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        all.extend(names.map(|name| [&command[..], &[name.to_owned()]].concat()));
        next += 1;
    }
    all
}

#[test]
fn help_is_as_shown() {
    let place = Place::new();
    let all = every_command(&place);
    assert!(all.len() > 45, "only {} commands were found", all.len());
    for command in &all {
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        insta::assert_snapshot!(format!("help {}", command.join(" ")).trim(), place.transcript(&args));
    }
    // And none is of a command that is gone.
    let snapshots = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots");
    let names =
        std::fs::read_dir(snapshots).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut shown: Vec<String> = names
        .filter_map(|name| {
            Some(name.strip_prefix("cli__general__help")?.strip_suffix(".snap")?.trim().to_owned())
        })
        .collect();
    let mut wanted: Vec<String> = all.iter().map(|command| command.join(" ")).collect();
    shown.sort();
    wanted.sort();
    assert_eq!(shown, wanted);
}

#[test]
fn one_version_is_told_everywhere() {
    let place = Place::new();
    place.skill("one", "Use it.");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(place.transcript(&["--version"]), format!("$ metier --version\nmetier {version}\nexit: 0\n"));
    let driver = &place.json(&["validate", "--format", "sarif", "one"])["runs"][0]["tool"]["driver"];
    assert_eq!(driver["version"], version);
    let page = String::from_utf8(place.run(&["man"]).stdout).unwrap();
    assert!(page.contains(&format!("metier {version}")), "{page}");
}

#[test]
fn every_shell_completes_every_command() {
    let place = Place::new();
    let commands = every_command(&place);
    for shell in ["elvish", "powershell"] {
        let output = place.run(&["completions", shell]);
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for word in commands.iter().filter_map(|command| command.last()) {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    // The scripts of the others ask metier.
    for command in &commands {
        let Some((last, before)) = command.split_last() else { continue };
        let word = format!("--word={last}");
        let before = before.iter().map(String::as_str);
        let args: Vec<&str> = ["complete", &word, "--"].into_iter().chain(before).collect();
        let text = String::from_utf8(place.run(&args).stdout).unwrap();
        assert!(text.lines().any(|line| line.starts_with(&format!("{last}\t"))), "{command:?}: {text}");
    }
}

#[test]
fn manual_pages_are_printed_and_written() {
    let place = Place::new();
    let page = String::from_utf8(place.run(&["man"]).stdout).unwrap();
    assert!(page.starts_with(".ie") && page.contains(".TH metier 1"), "{page}");
    assert!(place.run(&["man", "--out", "pages"]).status.success());
    assert!(place.read("pages/metier-validate.1").contains("\\-\\-strict"));
}

#[test]
fn wrong_use_ends_with_2_and_says_what_is_right() {
    let place = Place::new();
    for args in [&["valdate"][..], &["validate", "--strict", "--lenient"], &["digest"]] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: metier"), "{args:?}");
    }
}

/// What others wrote is harmless in the words of a usage error as well.
#[test]
fn a_usage_error_repeats_nothing_that_a_terminal_obeys() {
    let place = Place::new();
    let odd = "e\nFORGED\u{1b}[31m\u{202e}";
    for args in [
        &["list", odd][..],
        &[odd],
        &["list", &format!("--{odd}")],
        &["list", "--color", odd],
        &["doctor", "--clean", odd, "--json"],
        &["search", "x", "--limit", odd],
        // What is wrong only as it was written.
        &["list", "--color", "never\u{200b}"],
    ] {
        let output = place.run(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(!said.contains(metier_skill::is_invisible), "{args:?}: {said:?}");
        assert!(!said.lines().any(|line| line.starts_with("FORGED")), "{args:?}: {said}");
        assert!(said.contains('\u{fffd}') && said.contains("error"), "{args:?}: {said}");
    }
}

#[test]
fn a_path_that_does_not_exist_has_one_exit_code_everywhere() {
    let place = Place::new();
    for args in [
        &["validate", "nosuch"][..],
        &["validate", "--format", "concise", "nosuch"],
        &["validate", "--fix", "--diff", "nosuch"],
        &["scan", "nosuch"],
        &["list", "--root", "nosuch"],
        &["show", "./nosuch"],
        &["digest", "nosuch"],
    ] {
        assert_eq!(place.at_home(args).output().unwrap().status.code(), Some(4), "{args:?}");
    }
}
