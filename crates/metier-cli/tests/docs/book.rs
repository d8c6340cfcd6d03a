//! The pages as a book: each is in the summary, every link leads somewhere, the first screen of each has an example.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::top;

/// What of a page a reader sees first.
const FIRST_SCREEN: usize = 40;

/// Every Markdown file below `docs`, as a path from the top.
fn pages() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::from("docs")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(top().join(&directory)).unwrap() {
            let path = directory.join(entry.unwrap().file_name());
            if top().join(&path).is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.insert(path.to_str().unwrap().to_owned());
            }
        }
    }
    assert!(found.len() > 20, "only {} pages found", found.len());
    found
}

fn read(path: &str) -> String {
    fs::read_to_string(top().join(path)).unwrap()
}

/// What a document says about its links: where they lead, and what can be linked to in it.
struct Links {
    targets: Vec<String>,
    anchors: Vec<String>,
}

fn links(text: &str) -> Links {
    let (mut targets, mut anchors) = (Vec::new(), Vec::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                targets.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let same = anchors.iter().filter(|other| **other == anchor).count();
                anchors.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
            }
            _ => {}
        }
    }
    Links { targets, anchors }
}

/// The anchor of a heading, as forges and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
        path
    })
}

#[test]
fn every_page_is_in_the_summary_once() {
    let mut listed = links(&read("docs/SUMMARY.md")).targets;
    for page in &mut listed {
        page.insert_str(0, "docs/");
    }
    listed.sort_unstable();
    let wanted: Vec<String> = pages().into_iter().filter(|page| page != "docs/SUMMARY.md").collect();
    assert_eq!(listed, wanted, "docs/SUMMARY.md lists every page once");
    let book: toml::Table = read("book.toml").parse().unwrap();
    assert_eq!(book["book"]["src"].as_str(), Some("docs"));
}

#[test]
fn every_link_leads_somewhere() {
    let mut documents = pages();
    documents.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned));
    let (mut count, mut wrong) = (0, Vec::new());
    for document in &documents {
        for target in links(&read(document)).targets {
            if target.contains("://") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let beside = Path::new(document).parent().unwrap();
            let path = if path.is_empty() { PathBuf::from(document) } else { plain(&beside.join(path)) };
            if !top().join(&path).exists() {
                wrong.push(format!("{document}: {target}: there is no {}", path.display()));
            } else if !anchor.is_empty()
                && !links(&read(path.to_str().unwrap())).anchors.iter().any(|other| other == anchor)
            {
                wrong.push(format!("{document}: {target}: there is no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} links found");
}

#[test]
fn first_screens_have_an_example() {
    let mut wrong = Vec::new();
    for page in pages() {
        if page == "docs/SUMMARY.md"
            || page.starts_with("docs/decisions/")
            || page.starts_with("docs/reference/")
        {
            continue;
        }
        if !read(&page).lines().take(FIRST_SCREEN).any(|line| line.starts_with("```")) {
            wrong.push(format!("{page} has no example among its first {FIRST_SCREEN} lines"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines of text are wrapped at about 100 columns. Lines of tables and examples, and those with one long word, are not.
#[test]
fn pages_are_wrapped() {
    const MOST: usize = 130;
    let mut documents = pages();
    documents.insert("README.md".to_owned());
    let mut wrong = Vec::new();
    for document in &documents {
        let mut is_example = false;
        for (at, line) in read(document).lines().enumerate() {
            is_example ^= line.starts_with("```");
            if !is_example && !line.starts_with('|') && line.chars().count() > MOST && line.contains(' ') {
                wrong.push(format!("{document}:{}: wrap it at about 100 columns", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
