//! Short sentences: the README and the first screen of each page in `docs/` average fewer than 20 words.

use std::fs;
use std::path::Path;

use super::{files, top};

/// The average must be below this.
const WORDS_MAX: f64 = 20.0;

/// How many lines of prose are the first screen of a page.
const FIRST_SCREEN: usize = 40;

/// The lines of a page that are prose: no code blocks, tables, headings, comments or empty lines. An empty
/// string stands between paragraphs and list items.
fn prose(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        let text = line.trim();
        if text.starts_with("```") {
            is_code = !is_code;
        }
        let is_item = text.starts_with("- ")
            || text.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let is_prose = !is_code && !text.starts_with(['|', '#', '<', '`', '>', '[', '!']) && !text.is_empty();
        if !is_prose || is_item {
            lines.push("");
        }
        if is_prose || (!is_code && text.starts_with(['`', '[']) && !text.starts_with("```")) {
            lines.push(text);
        }
    }
    lines
}

/// The words of each sentence. A sentence ends at `.`, `!` or `?` before white space, and with its
/// paragraph or list item. Code in backticks is one word.
fn sentences(lines: &[&str]) -> Vec<usize> {
    let text =
        lines.iter().map(|line| if line.is_empty() { "\n" } else { line }).collect::<Vec<_>>().join(" ");
    let mut lengths = Vec::new();
    for paragraph in text.split('\n') {
        let plain: String = paragraph
            .split('`')
            .enumerate()
            .map(|(at, part)| if at % 2 == 1 { "code" } else { part })
            .collect();
        let mut words = 0;
        for word in plain.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)) {
            words += 1;
            if word.trim_end_matches([')', '"', '*', '_']).ends_with(['.', '!', '?']) {
                lengths.push(words);
                words = 0;
            }
        }
        lengths.extend((words > 0).then_some(words));
    }
    lengths
}

/// The average number of words in the sentences of some lines; `None` without sentences.
fn average(lines: &[&str]) -> Option<f64> {
    let lengths = sentences(lines);
    let count = u32::try_from(lengths.len()).unwrap();
    let words = u32::try_from(lengths.iter().sum::<usize>()).unwrap();
    (count > 0).then(|| f64::from(words) / f64::from(count))
}

/// The pages that readers start with, and how many of their lines count.
fn pages() -> Vec<(String, usize)> {
    let names =
        files().into_iter().filter_map(|path| Some(path.strip_prefix(top()).ok()?.to_str()?.to_owned()));
    let is_page = |name: &String| {
        Path::new(name).parent() == Some(Path::new("docs"))
            && Path::new(name).extension().is_some_and(|end| end == "md")
    };
    let docs = names.filter(is_page).map(|name| (name, FIRST_SCREEN));
    [("README.md".to_owned(), usize::MAX)].into_iter().chain(docs).collect()
}

#[test]
fn sentences_are_short() {
    let pages = pages();
    assert!(pages.len() > 10, "only {} pages found", pages.len());
    let mut long = Vec::new();
    for (name, most) in pages {
        let page = fs::read_to_string(top().join(&name)).unwrap();
        let all = prose(&page);
        let shown = all.iter().filter(|line| !line.is_empty()).count().min(most);
        let mut left = shown;
        let screen: Vec<&str> = all
            .into_iter()
            .take_while(|line| {
                let is_shown = left > 0 || line.is_empty();
                left = left.saturating_sub(usize::from(!line.is_empty()));
                is_shown
            })
            .collect();
        if let Some(words) = average(&screen).filter(|words| *words >= WORDS_MAX) {
            long.push(format!("{name}: {words:.1} words a sentence"));
        }
    }
    assert!(long.is_empty(), "sentences of {WORDS_MAX} words and more on average:\n{}", long.join("\n"));
}

#[test]
fn sentences_are_counted() {
    let page = "# Title of this\n\nOne two three. Four `five six` (seven).\n\n```sh\nnot this one\n```\n- an item\n- and\n  another: x\n\n| a | b |\n";
    assert_eq!(sentences(&prose(page)), [3, 3, 2, 3]);
}
