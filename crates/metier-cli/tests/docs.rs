//! The documents are true: every `console` block prints what it says, and what is made from the code is what the code makes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod book;
mod codes;
mod json;
mod picture;
mod settings;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metier_policy::DecisionCode;
use metier_skill::{Code, Profile, Severity};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One `$ command` of a block and the lines below it.
struct Example {
    command: String,
    output: String,
}

/// The examples of every `console` block of a document.
fn examples(document: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => {
                    examples.push(Example { command: command.to_owned(), output: String::new() });
                }
                (None, Some(example)) => writeln!(example.output, "{line}").unwrap(),
                (None, None) => unreachable!("output before the first command: {line}"),
            },
        }
    }
    examples
}

/// Every page with examples: the README and what is directly in `docs`.
fn documents() -> Vec<String> {
    let paths = fs::read_dir(top().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut pages: Vec<String> =
        pages.map(|path| format!("docs/{}", path.file_name().unwrap().to_str().unwrap())).collect();
    pages.push("README.md".to_owned());
    pages.sort_unstable();
    pages
}

#[test]
fn every_example_prints_what_the_document_says() {
    let (mut count, mut wrong) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(top().join(&document)).unwrap();
        let mut updated = text.clone();
        let examples = examples(&text);
        // The examples of a document run one after the other, in a place with what they speak of.
        let place = Place::of(&document);
        for Example { command, output } in examples {
            count += 1;
            if ["metier sandbox", "metier exec", "metier tour"].iter().any(|runs| command.contains(runs))
                && std::env::vars_os().any(|(name, _)| name == "SKIP_NAMESPACES")
            {
                crate::skips::skip(&format!(
                    "{document}: `{command}`: this machine gives processes no namespaces"
                ));
                continue;
            }
            let printed = place.run(&command).0;
            if !is_same(&stable(&document, &printed), &stable(&document, &output)) {
                let (old, new) =
                    (format!("$ {command}\n{output}"), format!("$ {command}\n{}", cut(&printed)));
                updated = updated.replacen(&old, &new, 1);
                wrong.push(format!("{document} says\n{old}but that prints\n{new}"));
            }
        }
        if is_updating() && updated != text {
            fs::write(top().join(&document), &updated).unwrap();
        }
    }
    assert!(wrong.is_empty(), "run with UPDATE_DOCS=1 to write what is printed\n\n{}", wrong.join("\n"));
    assert!(count >= 60, "only {count} examples found");
}

/// The commands of the README are there to be typed one after the other.
#[test]
fn the_commands_of_the_readme_work() {
    let text = fs::read_to_string(top().join("README.md")).unwrap();
    let place = Place::of("README.md");
    let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split_once("```"));
    let lines = blocks.flat_map(|(block, _)| block.lines()).filter(|line| line.starts_with("metier "));
    let mut count = 0;
    for line in lines {
        count += 1;
        let (printed, code) = place.run(line);
        // `policy check` also says by its exit code what is decided.
        let fine: &[i32] = if line.starts_with("metier policy check") { &[0, 1, 3] } else { &[0] };
        assert!(fine.contains(&code), "{line} ends with {code}:\n{printed}");
        assert!(!printed.is_empty(), "{line} prints nothing");
    }
    assert!(count >= 11, "only {count} commands found");
}

/// Whether this is printed where a document says that. A document may cut a long line, with `…` at its end.
fn is_same(printed: &str, said: &str) -> bool {
    let is_same = |(printed, said): (&str, &str)| {
        printed == said || said.strip_suffix('…').is_some_and(|begin| printed.starts_with(begin))
    };
    printed.lines().count() == said.lines().count() && printed.lines().zip(said.lines()).all(is_same)
}

/// The same for a document, with long lines cut.
fn cut(printed: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(99) {
        Some((at, _)) if line.chars().count() > 120 => format!("{}…\n", &line[..at]),
        _ => format!("{line}\n"),
    };
    printed.lines().map(cut).collect()
}

fn is_updating() -> bool {
    std::env::vars_os().any(|(name, _)| name == "UPDATE_DOCS")
}

/// What does not change from run to run. Records have times, ids and hashes of their own.
fn stable(document: &str, text: &str) -> String {
    const CHANGING: [(&str, &str); 5] = [
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6}Z)?", "TIME"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID"),
        (r"sha256:[0-9a-f]{64}", "HASH"),
        (r"TIMEZ  \S+ +", "TIMEZ  WHO  "),
        (r"WHO  [0-9a-f]{8} ", "WHO  SESSION "),
    ];
    if !["docs/journal.md", "docs/responsible-for-agents.md"].contains(&document) {
        return text.to_owned();
    }
    CHANGING.iter().fold(text.to_owned(), |text, (pattern, name)| {
        regex::Regex::new(pattern).unwrap().replace_all(&text, *name).into_owned()
    })
}

/// A document that is made from the code is what the code makes.
pub(crate) fn generated(path: &str, wanted: &str) {
    let file = top().join(path);
    if is_updating() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, wanted).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == wanted,
        "{path} is not what the code makes; `UPDATE_DOCS=1 cargo test -p metier-cli docs` writes it.\n{}",
        first_difference(&found, wanted)
    );
}

fn first_difference(found: &str, wanted: &str) -> String {
    let pairs = found.lines().chain([""]).zip(wanted.lines().chain([""]));
    let mut different = pairs.enumerate().filter(|(_, (found, wanted))| found != wanted);
    different.next().map_or_else(
        || format!("it has {} lines instead of {}", found.lines().count(), wanted.lines().count()),
        |(at, (found, wanted))| format!("line {}:\n- {found}\n+ {wanted}", at + 1),
    )
}

fn copy(from: &Path, into: &Path) {
    let status = Command::new("cp").arg("-R").arg(from).arg(into).status().unwrap();
    assert!(status.success());
}

fn lay_out(place: &Path) {
    let slips = "---\nname: Slips\ndescription: Use when: something slips\nmetadata:\n  version: 1.0\n---\n\
                 Follow [the guide](guide.md).\n";
    let rules = "[[skills]]\nname = \"deploy-*\"\nstate = \"user-only\"\n";
    fs::create_dir(place.join("project")).unwrap();
    fs::write(place.join("project/metier.toml"), format!("roots = [\"skills\"]\n\n{rules}")).unwrap();
    fs::create_dir(place.join("slips")).unwrap();
    fs::write(place.join("slips/SKILL.md"), slips).unwrap();
    copy(&top().join("examples"), place);
}

/// Where the directory of the program is.
fn metier_directory() -> &'static str {
    Path::new(env!("CARGO_BIN_EXE_metier")).parent().unwrap().to_str().unwrap()
}

/// Where the commands of one document run.
struct Place {
    base: tempfile::TempDir,
    home: Option<PathBuf>,
}

impl Place {
    fn of(document: &str) -> Self {
        let base = tempfile::tempdir().unwrap();
        let place = base.path().join("work");
        fs::create_dir(&place).unwrap();
        lay_out(&place);
        if document == "docs/journal.md" {
            fs::create_dir(place.join("docs")).unwrap();
            let script = "docs/verify-journal.py";
            fs::copy(top().join(script), place.join(script)).unwrap();
        }
        // Only there are homes spoken of; elsewhere nobody has one, so that nothing of theirs is found.
        let home = match document {
            "docs/homes.md" => Some(place.join("me")),
            "README.md" | "docs/use-with-agents.md" | "docs/reference/json.md" => {
                Some(base.path().join("me"))
            }
            _ => None,
        };
        Self { base, home }
    }

    /// What a person sees who types the command, both streams in order, and how it ends. What metier keeps is beside the place, as it
    /// would be in a home.
    fn run(&self, command: &str) -> (String, i32) {
        self.shell(&format!("{{ {command}\n}} 2>&1"))
    }

    /// What a shell prints to standard output that runs a script, and how it ends.
    fn shell(&self, script: &str) -> (String, i32) {
        let base = fs::canonicalize(self.base.path()).unwrap();
        // What is said about agents does not depend on those of this machine.
        let agents = base.join("agents");
        fs::create_dir_all(&agents).unwrap();
        fs::write(agents.join("claude"), "").unwrap();
        fs::set_permissions(agents.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", metier_directory(), agents.display());
        let output = Command::new("sh")
            .args(["-c", script])
            .current_dir(base.join("work"))
            .env_clear()
            .env("PATH", path)
            .envs(self.home.as_ref().map(|home| ("HOME", home)))
            .env("XDG_STATE_HOME", base.join("state"))
            .env("XDG_DATA_HOME", base.join("data"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let shown = [
            ("work", "/work"),
            ("state", "/home/me/.local/state"),
            ("data", "/home/me/.local/share"),
            ("me", "/home/me"),
        ];
        let printed = String::from_utf8(output.stdout).unwrap();
        let replace = |text: String, (path, shown): (&str, &str)| {
            text.replace(base.join(path).to_str().unwrap(), shown)
        };
        (shown.into_iter().fold(printed, replace), output.status.code().unwrap())
    }
}

#[test]
fn the_tables_of_codes_are_the_code_s() {
    let [findings, policy, scan] =
        ["docs/diagnostics.md", "docs/policy.md", "docs/scan.md"].map(|path| top().join(path));
    for (path, name, table) in
        [(&findings, "codes", table()), (&policy, "decisions", decisions()), (&scan, "scan", scanned())]
    {
        let document = fs::read_to_string(path).unwrap();
        let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->\n");
        let (before, rest) = document.split_once(&begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        let wanted = format!("{before}{begin}{table}{end}{after}");
        if is_updating() {
            fs::write(path, &wanted).unwrap();
        }
        let found = fs::read_to_string(path).unwrap();
        assert_eq!(found, wanted, "run with UPDATE_DOCS=1 to update {}", path.display());
    }
}

fn scanned() -> String {
    let mut table = String::from(
        "| rule | severity | weight | searched in | reports a skill that |\n|---|---|---|---|---|\n",
    );
    for rule in metier_scan::rules() {
        let (severity, scope) = (rule.severity, rule.scope.as_str());
        let weight =
            if severity == metier_scan::RiskLevel::High { "–".to_owned() } else { rule.weight.to_string() };
        writeln!(table, "| `{}` | {severity} | {weight} | {scope} | {} |", rule.id, rule.why).unwrap();
    }
    table
}

fn decisions() -> String {
    let mut table = String::from("| code | means |\n|---|---|\n");
    for code in DecisionCode::ALL {
        writeln!(table, "| `{code}` | {} |", code.summary()).unwrap();
    }
    table
}

fn table() -> String {
    let mut table = String::from("| code | means | strict | standard | lenient |\n|---|---|---|---|---|\n");
    for code in Code::ALL {
        let severity = |profile| code.severity(profile).map_or("–", Severity::as_str);
        let columns = [Profile::Strict, Profile::Standard, Profile::Lenient].map(severity).join(" | ");
        writeln!(table, "| `{code}` | {} | {columns} |", code.summary()).unwrap();
    }
    table
}
