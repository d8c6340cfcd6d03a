//! Skills that a person names in a prompt: agents put their text into the context without calling a tool.

use metier_home::Agent;

/// The names in a prompt that an agent would take for skills: `/name` at its beginning, or `$name` anywhere. Most do not name a skill.
///
/// ```
/// use metier_guard::skills_named;
/// use metier_home::Agent;
///
/// assert_eq!(skills_named(Agent::Codex, "use $pdf, please"), ["pdf"]);
/// assert_eq!(skills_named(Agent::Goose, "/pdf the form"), ["pdf"]);
/// assert!(skills_named(Agent::Gemini, "/pdf the form").is_empty());
/// ```
pub fn skills_named(agent: Agent, prompt: &str) -> Vec<&str> {
    let mut names: Vec<&str> = match agent {
        Agent::Codex => prompt.split('$').skip(1).map(name_at).collect(),
        Agent::ClaudeCode | Agent::Goose => {
            prompt.trim_start().strip_prefix('/').map(name_at).into_iter().collect()
        }
        _ => Vec::new(),
    };
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}

/// The name that a text begins with.
fn name_at(text: &str) -> &str {
    let end =
        text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | ':')).unwrap_or(text.len());
    text[..end].trim_end_matches(':')
}
