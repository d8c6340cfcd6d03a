//! The skill list that a model chooses from, and how it is fitted into a budget.

use metier_skill::tokens;

mod explain;
mod fit;
mod options;
mod write;

pub use self::explain::{ExplainedSkill, Fate, ListExplanation};
pub use self::options::{ActivationHint, ListFormat, LocationStyle};

use self::write::{Length, Text};

/// One skill as a model sees it before loading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedSkill<'a> {
    /// The name.
    pub name: &'a str,
    /// What it does and when to use it; `None` to show only its name.
    pub description: Option<&'a str>,
    /// The location of its `SKILL.md`, in a form that the model can use; see [`LocationStyle`].
    pub location: Option<&'a str>,
}

/// A list of skills to render.
///
/// No text of a skill can change the list: XML and JSON parse to exactly the given texts, each skill is one
/// item of the Markdown list, and invisible characters are made visible. [`ListFormat`] has the details.
///
/// ```
/// use metier_prompt::{ActivationHint, SkillList, ListedSkill};
///
/// let skills = [ListedSkill { name: "pdf", description: Some("Reads <PDF> files."), location: None }];
/// let rendered = SkillList::new(&skills).activation(Some(ActivationHint::Tool("load_skill"))).render();
/// assert!(rendered.text.contains("call the tool `load_skill`"));
/// assert!(rendered.text.contains("<description>Reads &lt;PDF&gt; files.</description>"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillList<'a> {
    skills: &'a [ListedSkill<'a>],
    format: ListFormat,
    budget: Option<usize>,
    activation: Option<ActivationHint<'a>>,
    search: Option<&'a str>,
}

/// The rendered text, and what was left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RenderedList {
    /// The text; empty if there are no skills or none fits the budget.
    pub text: String,
    /// The approximate number of tokens.
    pub tokens: usize,
    /// The number of shortened descriptions.
    pub shortened: usize,
    /// The number of skills that were left out.
    pub omitted: usize,
    /// The tokens of each skill that was not left out, in order.
    pub items: Vec<usize>,
}

impl<'a> SkillList<'a> {
    /// A list of these skills, most relevant first.
    pub const fn new(skills: &'a [ListedSkill<'a>]) -> Self {
        Self {
            skills,
            format: ListFormat::Xml,
            budget: None,
            activation: None,
            search: Some("`metier search`"),
        }
    }

    /// Sets the format.
    #[must_use]
    pub const fn format(self, format: ListFormat) -> Self {
        Self { format, ..self }
    }

    /// Sets the maximum number of tokens. Descriptions are shortened first; then the least relevant skills are
    /// left out, and the text says how many.
    #[must_use]
    pub const fn budget(self, tokens: Option<usize>) -> Self {
        Self { budget: tokens, ..self }
    }

    /// Sets how the agent loads skills. With `None`, it reads the file at the location if any skill has one,
    /// and otherwise loads skills by name.
    #[must_use]
    pub const fn activation(self, activation: Option<ActivationHint<'a>>) -> Self {
        Self { activation, ..self }
    }

    /// Sets how to find skills that were left out, as words after "find them with", such as "the tool
    /// `search_skills`". The default is `` `metier search` ``. Use `None` for agents that cannot search.
    #[must_use]
    pub const fn search(self, hint: Option<&'a str>) -> Self {
        Self { search: hint, ..self }
    }

    /// Renders the list.
    pub fn render(&self) -> RenderedList {
        let Some(plan) = self.plan() else {
            return RenderedList { omitted: self.skills.len(), ..RenderedList::default() };
        };
        let (before, after) = self.around(self.skills.len() - plan.count);
        let mut text = String::with_capacity(plan.capacity(self, before.len() + after.len()));
        text.push_str(&before);
        let (mut shortened, mut items) = (0, Vec::with_capacity(plan.count));
        for (index, skill) in self.skills[..plan.count].iter().enumerate() {
            let cut = plan.cut(index, skill);
            shortened += usize::from(cut.is_some());
            let start = text.len();
            self.item(skill, cut, index + 1 == plan.count, &mut text);
            items.push(tokens(text.len() - start));
        }
        text.push_str(&after);
        let omitted = self.skills.len() - plan.count;
        RenderedList { tokens: tokens(text.len()), shortened, omitted, items, text }
    }

    /// What happens to each skill and what it costs: where the tokens of [`SkillList::render`] go.
    pub fn explain(&self) -> ListExplanation<'a> {
        let Some(plan) = self.plan() else {
            return ListExplanation::new(self.skills, self.budget, Vec::new(), 0);
        };
        let (before, after) = self.around(self.skills.len() - plan.count);
        let shown = self.skills[..plan.count].iter().enumerate().map(|(index, skill)| {
            let cut = plan.cut(index, skill);
            let mut length = Length::default();
            self.item(skill, cut, index + 1 == plan.count, &mut length);
            (length.0, Fate::of(skill, cut))
        });
        ListExplanation::new(self.skills, self.budget, shown.collect(), before.len() + after.len())
    }

    fn item(&self, skill: &ListedSkill<'_>, cut: Option<usize>, is_last: bool, text: &mut impl Text) {
        write::item(self.format, skill, cut, text);
        if self.format == ListFormat::Json {
            text.add(if is_last { "\n" } else { ",\n" });
        }
    }

    /// The text before and after the skills, if this many are left out.
    fn around(&self, omitted: usize) -> (String, String) {
        let has_places = || self.skills.iter().any(|skill| skill.location.is_some());
        let inferred = || if has_places() { ActivationHint::ReadFile } else { ActivationHint::ByName };
        let introduction = self.activation.unwrap_or_else(inferred).introduction();
        let notice = self.notice(omitted);
        match self.format {
            ListFormat::Xml => {
                let notice = notice.map(|notice| notice + "\n").unwrap_or_default();
                (format!("{introduction}\n<available_skills>\n"), format!("</available_skills>\n{notice}"))
            }
            ListFormat::Markdown => {
                let notice = notice.map(|notice| format!("\n{notice}\n")).unwrap_or_default();
                (format!("{introduction}\n"), notice)
            }
            ListFormat::Json => {
                let notice =
                    notice.map(|notice| format!(",\"omitted\":{omitted},\"notice\":{}", json(&notice)));
                // An empty list needs no introduction.
                let introduction = if self.skills.is_empty() {
                    String::new()
                } else {
                    format!("\"instructions\":{},", json(&introduction.trim().replace('\n', " ")))
                };
                (
                    format!("{{{introduction}\"available_skills\":[\n"),
                    format!("]{}}}\n", notice.unwrap_or_default()),
                )
            }
        }
    }

    /// The notice about skills that were left out.
    fn notice(&self, omitted: usize) -> Option<String> {
        let (what, which) = match omitted {
            0 => return None,
            1 => ("skill is", "it"),
            _ => ("skills are", "them"),
        };
        let hint = self.search.map(|search| format!("; find {which} with {search}")).unwrap_or_default();
        Some(format!("{omitted} more {what} left out to save room{hint}."))
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [ListFormat; 3] = [ListFormat::Xml, ListFormat::Markdown, ListFormat::Json];

    fn skill<'a>(name: &'a str, description: &'a str) -> ListedSkill<'a> {
        ListedSkill { name, description: Some(description), location: Some("/s/SKILL.md") }
    }

    #[test]
    fn nothing_is_nothing_and_an_empty_list_in_json() {
        for format in [ListFormat::Xml, ListFormat::Markdown] {
            assert_eq!(SkillList::new(&[]).format(format).render(), RenderedList::default());
        }
        let text = SkillList::new(&[]).format(ListFormat::Json).render().text;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["available_skills"], serde_json::json!([]));
    }

    #[test]
    fn a_budget_that_is_too_small_for_anything_gives_nothing() {
        let skills = [skill("a", "x")];
        for format in FORMATS {
            let rendered = SkillList::new(&skills).format(format).budget(Some(5)).render();
            assert_eq!((rendered.text.as_str(), rendered.omitted), ("", 1));
        }
    }

    #[test]
    fn what_is_cut_and_left_out_is_said() {
        let long = "word ".repeat(100);
        let skills: Vec<ListedSkill<'_>> = (0..20).map(|_| skill("name", &long)).collect();
        for format in FORMATS {
            let all = SkillList::new(&skills).format(format).render();
            assert_eq!((all.shortened, all.omitted), (0, 0));
            let cut = SkillList::new(&skills).format(format).budget(Some(all.tokens / 2)).render();
            assert_eq!((cut.shortened, cut.omitted), (20, 0), "{}", cut.text);
            assert!(cut.text.contains("word…"), "{}", cut.text);
            let few = SkillList::new(&skills).format(format).budget(Some(300)).render();
            assert!(few.omitted > 0 && few.omitted < 20, "{few:?}");
            assert!(few.text.contains(&format!("{} more skills are left out", few.omitted)), "{}", few.text);
        }
    }

    #[test]
    fn json_is_json_whatever_is_left_out() {
        let skills = [skill("a", "one \"two\"\n\u{1}"), skill("b", "x")];
        for budget in [None, Some(90), Some(100), Some(120)] {
            let text = SkillList::new(&skills).format(ListFormat::Json).budget(budget).render().text;
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(value["available_skills"].is_array(), "{text}");
        }
    }
}
