//! `metier prompt --explain`: the tokens of each listed skill, and which skills are missing and why.

use metier_catalog::{Entry, Problem, ProblemCode, SkillId, State};
use metier_host::HostCatalog;
use metier_prompt::{Fate, ListExplanation};
use serde::Serialize;

use crate::output::Output;
use crate::table::{Columns, counted, one_line, pad, width_of};

/// The shape of `--json`.
#[derive(Serialize)]
pub(super) struct Explained<'a> {
    skills: Vec<Shown<'a>>,
    not_shown: Vec<NotShown<'a>>,
    tokens: Tokens,
}

/// A skill of the list.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a SkillId,
    name: &'a str,
    tokens: usize,
    #[serde(flatten)]
    fate: Outcome,
}

/// What became of it.
#[derive(Serialize)]
#[serde(tag = "shown", rename_all = "kebab-case")]
enum Outcome {
    Whole,
    Shortened { from: usize, to: usize },
    NameOnly,
}

/// What is not in the list.
#[derive(Serialize)]
struct NotShown<'a> {
    /// None where it is not even known what it is.
    id: Option<&'a SkillId>,
    path: String,
    #[serde(flatten)]
    reason: Reason<'a>,
}

/// Why not.
#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Reason<'a> {
    Budget,
    NowhereToUnpack,
    UserOnly,
    Off,
    Refused,
    Shadowed { by: &'a SkillId },
    Unusable { code: ProblemCode, message: &'a str },
}

/// Where the tokens go.
#[derive(Serialize)]
struct Tokens {
    introduction: usize,
    skills: usize,
    total: usize,
    budget: Option<usize>,
}

impl<'a> Explained<'a> {
    /// From what was explained about the skills of a list, in its order, and those that have no place to be read from.
    pub(super) fn new(
        explanation: &ListExplanation<'_>,
        listed: &[&'a Entry],
        homeless: &[&'a Entry],
        skills: &'a HostCatalog,
    ) -> Self {
        let (mut shown, mut not_shown) = (Vec::new(), Vec::new());
        for (entry, explained) in listed.iter().zip(&explanation.skills) {
            let fate = match explained.fate {
                Fate::Shortened { from, to } => Outcome::Shortened { from, to },
                Fate::NameOnly => Outcome::NameOnly,
                Fate::LeftOut => {
                    not_shown.push(NotShown::new(entry, Reason::Budget));
                    continue;
                }
                _ => Outcome::Whole,
            };
            shown.push(Shown { id: &entry.id, name: entry.name(), tokens: explained.tokens, fate });
        }
        not_shown.extend(homeless.iter().map(|entry| NotShown::new(entry, Reason::NowhereToUnpack)));
        let refused = skills.refused_names();
        let others = skills.all().iter().filter_map(|entry| {
            let reason = match (&entry.shadowed_by, entry.state) {
                (Some(by), _) => Reason::Shadowed { by },
                (None, State::UserOnly) => Reason::UserOnly,
                (None, State::Off) => Reason::Off,
                (None, State::On | State::NameOnly) if refused.contains(entry.name()) => Reason::Refused,
                (None, State::On | State::NameOnly) => return None,
            };
            Some(NotShown::new(entry, reason))
        });
        not_shown.extend(others);
        not_shown.extend(skills.problems().iter().filter_map(NotShown::unusable));
        let tokens = Tokens {
            introduction: explanation.frame,
            skills: shown.iter().map(|skill| skill.tokens).sum(),
            total: explanation.tokens,
            budget: explanation.budget,
        };
        Self { skills: shown, not_shown, tokens }
    }

    /// Whether no skill is in the list.
    pub(super) const fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    pub(super) fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let count = counted(self.skills.len(), "skill");
        let names: Vec<String> = self.skills.iter().map(|skill| one_line(skill.name)).collect();
        let sums = [("introduction", self.tokens.introduction), (count.as_str(), self.tokens.skills)];
        let total = self.tokens.total;
        let labels = names.iter().map(String::as_str).chain(sums.map(|(label, _)| label));
        let first = labels.map(width_of).max().unwrap_or(0);
        let second = total.to_string().len();
        let columns = Columns::new(first, second, output);
        for (name, skill) in names.iter().zip(&self.skills) {
            let (tokens, about) = (format!("{:>second$}", skill.tokens), skill.fate.to_string());
            output.whole(columns.row(name, &tokens, &about, output))?;
        }
        self.print_not_shown(output)?;
        if !self.skills.is_empty() || !self.not_shown.is_empty() {
            output.line("")?;
        }
        for (label, tokens) in sums {
            output.line(format_args!("{}  {tokens:>second$}", pad(label, first)))?;
        }
        let budget = self.tokens.budget.map(|budget| format!("of {budget} ")).unwrap_or_default();
        output
            .line(format_args!("{}  {total:>second$}  {budget}tokens", output.bold(&pad("total", first))))?;
        if self.not_shown.iter().any(|skill| matches!(skill.reason, Reason::Unusable { .. })) {
            output.note("`metier list --all` shows the skills that are not usable, and why")?;
        }
        Ok(())
    }

    fn print_not_shown(&self, output: &mut Output) -> anyhow::Result<()> {
        if self.not_shown.is_empty() {
            return Ok(());
        }
        if !self.skills.is_empty() {
            output.line("")?;
        }
        output.line("Not shown")?;
        let names: Vec<String> = self.not_shown.iter().map(NotShown::name).collect();
        let first = names.iter().map(|name| width_of(name) + 2).max().unwrap_or(0);
        let columns = Columns::new(first, 0, output);
        for (name, skill) in names.iter().zip(&self.not_shown) {
            let about = one_line(&skill.reason.to_string());
            output.whole(columns.row(&format!("  {name}"), "", &about, output))?;
        }
        Ok(())
    }
}

/// How many skills are not usable.
pub(super) fn unusable(skills: &HostCatalog) -> usize {
    skills.problems().iter().filter_map(NotShown::unusable).count()
}

impl<'a> NotShown<'a> {
    fn new(entry: &'a Entry, reason: Reason<'a>) -> Self {
        Self { id: Some(&entry.id), path: entry.path_text().into_owned(), reason }
    }

    fn unusable(problem: &'a Problem) -> Option<Self> {
        let is_listed = problem.code.leaves_usable();
        let reason = Reason::Unusable { code: problem.code, message: &problem.message };
        (!is_listed).then(|| Self { id: None, path: problem.path.to_string_lossy().into_owned(), reason })
    }

    fn name(&self) -> String {
        let last = || self.path.rsplit('/').next().unwrap_or_default().to_owned();
        one_line(&self.id.map_or_else(last, ToString::to_string))
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole => f.write_str("complete"),
            Self::Shortened { from, to } => write!(f, "description shortened from {from} to {to} bytes"),
            Self::NameOnly => f.write_str("name only"),
        }
    }
}

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Budget => f.write_str("left out because of the budget"),
            Self::NowhereToUnpack => f.write_str("no home or cache directory to unpack it in"),
            Self::UserOnly => f.write_str("user-only"),
            Self::Off => f.write_str("off"),
            Self::Refused => f.write_str("refused; `metier approvals` lists the answers"),
            Self::Shadowed { by } => write!(f, "shadowed by {by}"),
            Self::Unusable { code, message } => write!(f, "not usable: {code}: {message}"),
        }
    }
}
