//! Scans one skill: goes through its files and collects findings.

use metier_skill::{Span, is_invisible};

use super::decode::{self, What};
use super::kind::{self, Kind};
use super::matching::{self, Match, Reads};
use super::report::{ScanFinding, ScanReport};
use super::rule::{RiskLevel, ScanRule};
use super::text::{self, View};
use super::{Subject, declared, files, names, rules, unseen};

/// The limit for one text, in bytes. Longer texts are scanned up to it and reported as too large.
const LONGEST: usize = 2 << 20;
/// The same limit for all files of a skill together.
const ALL: usize = 24 << 20;
/// The most findings in a report.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Look {
    findings: Vec<ScanFinding>,
    /// Bytes of text scanned so far.
    seen: usize,
}

/// The place of a finding.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    path: &'a str,
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl Look {
    pub(super) fn file(&mut self, path: &str, bytes: &[u8], is_executable: bool) {
        let kind = kind::of(path, bytes);
        for broken in files::check(path, bytes, kind) {
            self.whole(broken.rule, path, &broken.detail);
        }
        if kind::is_program(bytes) {
            return;
        }
        if !kind::is_text(bytes) {
            if matches!(kind, Kind::Instructions | Kind::Code) && !self.has(path) {
                // A zero byte must not prevent the scan of the rest.
                self.whole("file-not-text", path, "expected text, found binary data");
                self.text(path, &bytes[..bytes.len().min(LONGEST)], kind);
            } else if is_executable && kind != Kind::Media && !self.has(path) {
                self.whole("file-not-text", path, "it is executable and not text");
            } else if kind == Kind::Data && kind::magic(bytes) == kind::Magic::Other && !self.has(path) {
                self.whole("file-not-text", path, "unknown binary format");
            }
            return;
        }
        let most = LONGEST.min(ALL.saturating_sub(self.seen));
        self.seen += bytes.len().min(most);
        if bytes.len() > most {
            self.whole("file-too-large", path, "only the first part was scanned");
        }
        if kind != Kind::Media {
            self.text(path, &bytes[..bytes.len().min(most)], kind);
        }
    }

    pub(super) fn link(&mut self, path: &str, target: &str) {
        if let Some(broken) = files::name(path) {
            self.whole(broken.rule, path, &broken.detail);
        }
        let shown = target.escape_debug();
        if files::leaves(path, target) {
            self.whole("link-leaves", path, &format!("it points to `{shown}`"));
        } else {
            self.whole("link-inside", path, &format!("it points to `{shown}`"));
        }
    }

    pub(super) fn unreadable(&mut self, path: &str, why: &str) {
        self.whole("file-unreadable", path, why);
    }

    pub(super) fn name(&mut self, name: &str) {
        if let Some(known) = names::imitated(name) {
            self.whole(
                "name-imitates",
                "SKILL.md",
                &format!("`{}` is similar to `{known}`", name.escape_debug()),
            );
        }
    }

    pub(super) fn declared(&mut self, subject: &Subject<'_>) {
        for undeclared in declared::check(subject) {
            self.whole(undeclared.rule, undeclared.file, &undeclared.detail);
        }
    }

    pub(super) fn report(mut self) -> ScanReport {
        self.findings.sort_by(|a, b| {
            let key = |finding: &ScanFinding| (finding.span.map(|span| span.start), finding.rule);
            b.severity.cmp(&a.severity).then_with(|| a.file.cmp(&b.file)).then_with(|| key(a).cmp(&key(b)))
        });
        self.findings.truncate(MOST);
        ScanReport { findings: self.findings }
    }

    /// Runs all checks on a text.
    fn text(&mut self, path: &str, bytes: &[u8], kind: Kind) {
        let chars = text::chars(bytes);
        for found in unseen::characters(&chars, kind) {
            self.add(found.rule, Place { path, bytes, start: found.start, end: found.end }, "", false);
        }
        let reads = if kind == Kind::Instructions { Reads::Instructions } else { Reads::Code };
        let view = View::read_chars(&chars, bytes.len());
        self.matches(path, bytes, &view, reads);
        let raw = view.raw(bytes);
        if !raw.text.is_empty() {
            self.matches(path, bytes, &raw, reads);
        }
        if kind == Kind::Instructions
            && let Some(shown) = view.as_shown()
        {
            self.matches(path, bytes, &shown, reads);
        }
        let runs = decode::runs(bytes);
        if kind != Kind::Signature {
            self.decoded(path, bytes, &runs);
        }
        if kind == Kind::Instructions {
            self.hidden(path, bytes, &view);
            self.blocks(path, bytes, &runs);
        }
    }

    fn matches(&mut self, path: &str, bytes: &[u8], view: &View, reads: Reads) {
        for Match { rule, start, end, is_excused } in matching::find(&view.text, reads) {
            let place = Place { path, bytes, start: view.place(start), end: view.place(end) };
            self.add(rule.id, place, "", is_excused);
        }
    }

    /// Scans the text of encoded blocks.
    fn decoded(&mut self, path: &str, bytes: &[u8], runs: &[(usize, usize)]) {
        for decoded in decode::decode(bytes, runs) {
            let place = Place { path, bytes, start: decoded.start, end: decoded.end };
            match decoded.what {
                What::Program => self.add("encoded-program", place, "", false),
                What::Text(text) => {
                    let view = View::read(&text);
                    for found in matching::find(&view.text, Reads::Instructions) {
                        // There is no reason to encode a prohibition, so nothing is excused.
                        self.add(found.rule.id, place, "in encoded text", false);
                    }
                    if declared::is_command(&view.text) {
                        self.add("encoded-command", place, "", false);
                    }
                }
            }
        }
    }

    /// Scans the parts that a rendered page does not show.
    fn hidden(&mut self, path: &str, bytes: &[u8], view: &View) {
        for (start, end) in unseen::parts(&view.text) {
            for found in matching::find(&view.text[start..end], Reads::Hidden) {
                let place = Place {
                    path,
                    bytes,
                    start: view.place(start + found.start),
                    end: view.place(start + found.end),
                };
                let is_serious =
                    found.rule.severity > RiskLevel::Low && found.rule.scope != super::RuleScope::Hidden;
                if is_serious && !found.is_excused {
                    self.add("hidden-instructions", place, "", false);
                } else if found.rule.scope == super::RuleScope::Hidden {
                    self.add(found.rule.id, place, "", found.is_excused);
                }
            }
        }
        if let Some(at) = unseen::far_right(&view.text) {
            let place = Place { path, bytes, start: view.place(at), end: view.place(at + 1) };
            self.add("hidden-far-right", place, "", false);
        }
    }

    /// Finds unreadable blocks in instructions.
    fn blocks(&mut self, path: &str, bytes: &[u8], runs: &[(usize, usize)]) {
        for (start, end) in decode::blobs(bytes, runs) {
            self.add("encoded-blob", Place { path, bytes, start, end }, "", false);
        }
        if let Some((start, end)) = decode::numbers(bytes) {
            self.add("payload-numbers", Place { path, bytes, start, end }, "", false);
        }
    }

    /// Adds a finding about a file as a whole.
    fn whole(&mut self, id: &'static str, path: &str, detail: &str) {
        let Some(rule) = rule(id) else { return };
        let message = format!("{}: {detail}", rule.why);
        self.findings.push(ScanFinding {
            rule: rule.id,
            severity: rule.severity,
            weight: rule.weight,
            file: path.to_owned(),
            line: 1,
            column: 1,
            span: None,
            excerpt: String::new(),
            message,
            help: rule.help,
        });
    }

    fn add(&mut self, id: &'static str, place: Place<'_>, detail: &str, is_excused: bool) {
        let Some(rule) = rule(id) else { return };
        let Some((severity, weight)) = weighed(rule, is_excused) else { return };
        let line = line_of(place.bytes, place.start);
        let same =
            |other: &&mut ScanFinding| other.rule == id && other.file == place.path && other.line == line;
        if let Some(other) = self.findings.iter_mut().find(same) {
            // The same place seen in another form. A match counts as excused only if it is excused in every form.
            if severity > other.severity {
                (other.severity, other.weight) = (severity, weight);
            }
            return;
        }
        if self.findings.len() >= 10 * MOST {
            return;
        }
        let mut message = rule.why.to_owned();
        if !detail.is_empty() {
            message = format!("{message} ({detail})");
        }
        if is_excused {
            message.push_str("; it may only be mentioned or prohibited here");
        }
        self.findings.push(ScanFinding {
            rule: rule.id,
            severity,
            weight,
            file: place.path.to_owned(),
            line,
            column: column_of(place.bytes, place.start),
            span: Some(Span::new(place.start, place.end.max(place.start))),
            excerpt: excerpt(place.bytes, place.start, place.end),
            message,
            help: rule.help,
        });
    }

    fn has(&self, path: &str) -> bool {
        self.findings.iter().any(|finding| finding.file == path)
    }
}

/// The severity of a finding. An excused match is one level lower, and an excused low one is dropped. A high one
/// becomes medium at most, because the excuse is a heuristic.
const fn weighed(rule: &ScanRule, is_excused: bool) -> Option<(RiskLevel, u32)> {
    match (rule.severity, is_excused) {
        (severity, false) => Some((severity, rule.weight)),
        (RiskLevel::High, true) => Some((RiskLevel::Medium, 2)),
        (RiskLevel::Medium, true) => Some((RiskLevel::Low, 1)),
        (RiskLevel::Low, true) => None,
    }
}

fn rule(id: &str) -> Option<&'static ScanRule> {
    rules::all().find(|rule| rule.id == id)
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &bytes[..at.min(bytes.len())]).count() + 1
}

fn column_of(bytes: &[u8], at: usize) -> usize {
    let before = &bytes[..at.min(bytes.len())];
    let line = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    String::from_utf8_lossy(&before[line..]).chars().count() + 1
}

/// The start of the matched text, on one line, without invisible characters.
fn excerpt(bytes: &[u8], start: usize, end: usize) -> String {
    const LONGEST: usize = 120;
    let part = &bytes[start.min(bytes.len())..end.min(bytes.len()).max(start.min(bytes.len()))];
    let text = String::from_utf8_lossy(&part[..part.len().min(4 * LONGEST)]);
    let shown =
        text.chars().filter(|c| *c == '\n' || !is_invisible(*c)).map(|c| if c == '\n' { ' ' } else { c });
    let mut shown: String = shown.take(LONGEST + 1).collect();
    if shown.chars().count() > LONGEST {
        shown = shown.chars().take(LONGEST - 1).chain(['…']).collect();
    }
    shown
}
