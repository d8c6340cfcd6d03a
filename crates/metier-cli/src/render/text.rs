//! Findings for people: the underlined source, the help and a summary.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet, Title};
use metier_skill::{Edit, Severity, Span};
use rayon::prelude::*;

use super::{Checked, FindingView, SourceLine};
use crate::output::{Output, clean, clean_line};
use crate::progress::Progress;

/// How wide findings are laid out where there is no terminal.
const WIDTH: usize = 100;

pub(crate) fn text(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    let findings: Vec<_> = checked.iter().flat_map(Checked::findings).collect();
    underlined(&findings, output)?;
    per_rule(&findings, output)?;
    if checked.is_empty() { Ok(()) } else { output.summary(sum(checked)) }
}

/// The summary, on one line.
pub(super) fn sum(checked: &[Checked]) -> String {
    let (mut errors, mut all) = (0, 0);
    for finding in checked.iter().flat_map(Checked::findings) {
        errors += usize::from(finding.severity == Severity::Error);
        all += 1;
    }
    let valid = checked.iter().filter(|skill| skill.is_valid).count();
    format!(
        "{}: {valid} valid, {} not; {}, {}",
        count(checked.len(), "skill"),
        checked.len() - valid,
        count(errors, "error"),
        count(all - errors, "warning"),
    )
}

/// Counts findings per rule, the most frequent first. Prints nothing unless a rule has two findings.
fn per_rule(findings: &[FindingView<'_>], output: &mut Output) -> io::Result<()> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.code).or_default() += 1;
    }
    if counts.values().all(|count| *count < 2) {
        return Ok(());
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| Reverse(*count));
    output.summary("Findings per rule")?;
    for (code, count) in rows {
        output.summary(format_args!("{count:>6}  {code}"))?;
    }
    output.summary("")
}

/// Each finding with the line that it is about.
pub(super) fn underlined(findings: &[FindingView<'_>], output: &mut Output) -> io::Result<()> {
    let renderer = if output.is_styled() { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(output.columns().unwrap_or(WIDTH));
    // Laying a finding out takes longer than finding it.
    let progress = Progress::begin(output, "laying out findings");
    let rendered: Vec<String> =
        findings.par_iter().map(|finding| render(finding, &renderer)).inspect(|_| progress.count()).collect();
    drop(progress);
    for text in rendered {
        output.laid_out(&text)?;
        output.line("")?;
    }
    Ok(())
}

pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn render(finding: &FindingView<'_>, renderer: &Renderer) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let path = clean_line(&finding.file);
    let message = clean_line(finding.message);
    let title = level.primary_title(message.as_str()).id(finding.code);
    match (finding.span, finding.source) {
        (Some(span), Some(line)) => {
            let source = clean(&line.text);
            renderer.render(&report(finding, title, &path, span, line, &source))
        }
        _ => {
            let mut groups = vec![title.element(Origin::path(path))];
            groups.extend(finding.help.map(help));
            renderer.render(&groups)
        }
    }
}

fn report<'a>(
    finding: &'a FindingView<'_>,
    title: Title<'a>,
    path: &'a str,
    span: Span,
    line: &'a SourceLine,
    source: &'a str,
) -> Vec<Group<'a>> {
    let snippet = Snippet::source(source).line_start(finding.line).path(path);
    let annotation = AnnotationKind::Primary.span(within(line, span));
    let mut groups = vec![title.element(snippet.annotation(annotation))];
    if let Some(fix) = &finding.fix {
        let title = Level::HELP.secondary_title(clean_line(&fix.title));
        let is_shown = fix.edits.iter().all(|edit| line.holds(edit.span));
        groups.push(if is_shown {
            let patch = |edit: &'_ Edit| Patch::new(within(line, edit.span), clean(&edit.text));
            let snippet = Snippet::source(source).line_start(finding.line);
            title.element(snippet.patches(fix.edits.iter().map(patch)))
        } else {
            Group::with_title(title)
        });
    }
    groups.extend(finding.help.map(help));
    groups
}

/// Where a span is in the line as it is shown, in which characters that cannot be seen are others.
fn within(line: &SourceLine, span: Span) -> Range<usize> {
    let shown = |offset: usize| clean(line.text.get(..offset).unwrap_or(&line.text)).len();
    let span = line.inside(span);
    shown(span.start)..shown(span.end)
}

fn help(text: &str) -> Group<'_> {
    Group::with_title(Level::HELP.secondary_title(text))
}
