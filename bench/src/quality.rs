//! Measures how often a search finds the right skill, for metier and every other search tool in one run.
//!
//! The queries come from a file with three columns: the query, the name of the expected skill, and the path of
//! its `SKILL.md` below the corpus.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use metier_bench::hits::{Hit, from_call, from_json};
use metier_bench::mcp::Client;
use metier_bench::peers::{Place, Server, installed};
use metier_bench::run::LIMIT;

/// One line of the file.
struct Query {
    words: String,
    name: String,
    path: String,
}

/// What a program found for each query.
struct Answers {
    who: String,
    hits: Vec<Vec<Hit>>,
}

/// Prints for how many queries the expected skill is among the first 1, 5 and 10 hits, and which ones metier
/// missed.
pub(crate) fn report(
    metier: &Path,
    corpus: &Path,
    queries: &Path,
    peers: &Path,
) -> Result<(), Box<dyn Error>> {
    let queries = read(queries)?;
    // The tools look for skills in different places of a project; this project has all of them.
    let project = tempfile::tempdir()?;
    fs::create_dir(project.path().join(".claude"))?;
    let corpus = fs::canonicalize(corpus)?;
    std::os::unix::fs::symlink(&corpus, project.path().join(".claude/skills"))?;
    println!("| {} queries | first | among 5 | among 10 |", queries.len());
    println!("|---|---|---|---|");
    let ours = ask_metier(metier, &corpus, &queries);
    match &ours {
        Ok(answers) => row(answers, &queries),
        Err(error) => println!("SKIPPED: metier: {error}"),
    }
    let (found, missing) = installed(peers);
    for peer in found {
        let Some(server) = &peer.server else { continue };
        let home = project.path().join(peer.name);
        fs::create_dir(&home)?;
        let place = Place { peers, project: project.path(), home: &home, query: "" };
        let mut who = format!("`{}` {}", peer.name, peer.version);
        let mut hits = ask(server, &place, &queries);
        if hits.as_ref().is_ok_and(|all| all.iter().all(Vec::is_empty)) {
            row(&Answers { who: who.clone(), hits: vec![Vec::new(); queries.len()] }, &queries);
            // A single skill with an unquoted date prevents `skillport` from building its index.
            let undated = project.path().join(format!("{}-undated", peer.name));
            let left_out = without_dates(&corpus, &undated)?;
            let place = Place { project: &undated, ..place };
            hits = ask(server, &place, &queries);
            who = format!("{who}, without the {left_out} skills that have a date in them");
        }
        match hits {
            Ok(hits) => row(&Answers { who, hits }, &queries),
            Err(error) => println!("SKIPPED: {}: {error}", peer.name),
        }
    }
    for name in missing {
        println!("SKIPPED: {name} is not installed in {}", peers.display());
    }
    if let Ok(ours) = &ours {
        misses(ours, &queries);
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<Query>, Box<dyn Error>> {
    let mut queries = Vec::new();
    for line in fs::read_to_string(path)?.lines().filter(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [words, name, path] = columns.as_slice() else {
            return Err(format!("a line has not three columns: {line}").into());
        };
        let [words, name, path] = [words, name, path].map(|column| (*column).to_owned());
        queries.push(Query { words, name, path });
    }
    Ok(queries)
}

fn ask_metier(metier: &Path, corpus: &Path, queries: &[Query]) -> Result<Answers, Box<dyn Error>> {
    let cache = tempfile::tempdir()?;
    let mut hits = Vec::new();
    for query in queries {
        let output = Command::new(metier)
            .args(["search", "--json", "--root"])
            .arg(corpus)
            .args(["--", &query.words])
            .env("XDG_CACHE_HOME", cache.path())
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("`metier search` failed: {}", output.status).into());
        }
        hits.push(from_json(&serde_json::from_slice(&output.stdout)?));
    }
    Ok(Answers { who: "`metier`".to_owned(), hits })
}

fn ask(server: &Server, place: &Place<'_>, queries: &[Query]) -> Result<Vec<Vec<Hit>>, Box<dyn Error>> {
    let mut client = Client::start(place.command(server.program, server.args), LIMIT)?;
    let mut hits = Vec::new();
    for query in queries {
        hits.push(from_call(&client.call(server.tool, &server.arguments(&query.words))?.0));
    }
    Ok(hits)
}

/// A project with links to all skills except those with a date in a field. Also returns how many those are.
fn without_dates(corpus: &Path, project: &Path) -> std::io::Result<usize> {
    let mut left_out = 0;
    for group in fs::read_dir(corpus)? {
        let group = group?;
        let to = project.join(".claude/skills").join(group.file_name());
        fs::create_dir_all(&to)?;
        for skill in fs::read_dir(group.path())? {
            let skill = skill?;
            let text = fs::read(skill.path().join("SKILL.md")).unwrap_or_default();
            if has_date(&String::from_utf8_lossy(&text)) {
                left_out += 1;
            } else {
                std::os::unix::fs::symlink(skill.path(), to.join(skill.file_name()))?;
            }
        }
    }
    Ok(left_out)
}

/// Whether a field between the first two fences is an unquoted YAML date, such as `2025-01-31`.
fn has_date(text: &str) -> bool {
    let fields = text.lines().skip(1).take_while(|line| !line.starts_with("---"));
    let mut values = fields.filter_map(|line| line.split_once(": ").or_else(|| line.split_once("- ")));
    values.any(|(_, value)| {
        let begin = value.trim().bytes().take(10);
        begin.map(|byte| if byte.is_ascii_digit() { b'0' } else { byte }).eq(*b"0000-00-00")
    })
}

fn rank(hits: &[Hit], query: &Query) -> Option<usize> {
    hits.iter().position(|hit| hit.is(&query.name, &query.path))
}

fn row(answers: &Answers, queries: &[Query]) {
    let ranks: Vec<_> = answers.hits.iter().zip(queries).map(|(hits, query)| rank(hits, query)).collect();
    let within = |limit| ranks.iter().flatten().filter(|&&rank| rank < limit).count();
    let share = |limit| format!("{} ({}%)", within(limit), within(limit) * 100 / queries.len().max(1));
    println!("| {} | {} | {} | {} |", answers.who, share(1), share(5), share(10));
}

fn misses(answers: &Answers, queries: &[Query]) {
    println!("\nnot among the first 10:\n");
    for (hits, query) in answers.hits.iter().zip(queries) {
        if rank(hits, query).is_none_or(|rank| rank >= 10) {
            let first: Vec<&str> = hits.iter().take(3).map(|hit| hit.name.as_str()).collect();
            println!("- {:?} means {}; found {}", query.words, query.name, first.join(", "));
        }
    }
}
