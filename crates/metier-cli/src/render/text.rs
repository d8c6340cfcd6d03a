//! Findings for people: the source underlined, what to do, and a sum.

use std::io;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet, normalize_untrusted_str,
};
use metier_skill::{Severity, Span};

use super::{Checked, Finding};
use crate::output::{self, Output};

/// Lines longer than this are not shown.
const LINE_MAX: usize = 2_000;

pub(crate) fn text(checked: &[Checked], output: &mut Output) -> io::Result<()> {
    let renderer = if output.is_styled() { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(output::width());
    let (mut errors, mut warnings) = (0, 0);
    for skill in checked {
        for finding in skill.findings() {
            match finding.severity {
                Severity::Error => errors += 1,
                Severity::Warning => warnings += 1,
            }
            output.line(renderer.render(&report(&finding)))?;
            output.line("")?;
        }
    }
    let valid = checked.iter().filter(|skill| skill.is_valid()).count();
    output.line(format_args!(
        "{}: {valid} valid, {} not; {}, {}",
        count(checked.len(), "skill"),
        checked.len() - valid,
        count(errors, "error"),
        count(warnings, "warning"),
    ))
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn report<'a>(finding: &Finding<'a>) -> Vec<Group<'a>> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let path = normalize_untrusted_str(&finding.file.display().to_string());
    let title = level.primary_title(normalize_untrusted_str(&finding.message)).id(finding.code);
    let Some(window) = finding.source.and_then(|(text, span)| Window::around(text, span)) else {
        return vec![title.element(Origin::path(path))];
    };
    let snippet = Snippet::source(window.text).line_start(finding.line).path(path);
    let annotation = AnnotationKind::Primary.span(window.inside(window.span).range());
    let mut groups = vec![title.element(snippet.annotation(annotation))];
    if let Some(fix) = finding.fix {
        let title = Level::HELP.secondary_title(normalize_untrusted_str(&fix.title));
        let shown = fix.edits.iter().all(|edit| window.holds(edit.span));
        let patches =
            fix.edits.iter().map(|edit| Patch::new(window.inside(edit.span).range(), edit.text.clone()));
        groups.push(if shown {
            title.element(Snippet::source(window.text).line_start(finding.line).patches(patches))
        } else {
            Group::with_title(title)
        });
    }
    groups
}

/// The first line of a span. Showing that alone keeps the cost independent of the file's size.
struct Window<'a> {
    text: &'a str,
    start: usize,
    /// The part of the span that lies in the line.
    span: Span,
}

impl<'a> Window<'a> {
    fn around(text: &'a str, span: Span) -> Option<Self> {
        let start = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
        let line = &text[start..];
        let line = &line[..line.find(['\n', '\r']).unwrap_or(line.len())];
        let span = Span::new(span.start, span.end.min(start + line.len()).max(span.start));
        (line.len() <= LINE_MAX).then_some(Self { text: line, start, span })
    }

    fn holds(&self, span: Span) -> bool {
        self.start <= span.start && span.end <= self.start + self.text.len()
    }

    fn inside(&self, span: Span) -> Span {
        Span::new(span.start - self.start, span.end - self.start)
    }
}
