//! Skills that users call by name, as prompts.

use std::fmt::Write as _;

use metier_catalog::Entry;
use metier_journal::Trigger;
use metier_session::Session;
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role};

use crate::answer::Refusal;
use crate::resources::start_of;
use crate::view::View;

/// The only argument of each prompt.
pub(crate) const ARGUMENT: &str = "request";

/// The skills that users may call, in the order of the skill list.
fn all(view: &View) -> impl Iterator<Item = &Entry> {
    view.catalog.skills().filter(|entry| entry.is_enabled() && entry.facts.is_user_invocable)
}

/// A page of prompts.
pub(crate) fn list(view: &View, page: usize, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let start = start_of(cursor)?;
    let prompt = |entry: &Entry| {
        let argument =
            PromptArgument::new(ARGUMENT).with_description("What to do with the skill").with_required(false);
        Prompt::new(entry.name(), Some(entry.description()), Some(vec![argument]))
    };
    let prompts = all(view).skip(start).take(page).map(prompt).collect();
    let mut result = ListPromptsResult::with_all_items(prompts);
    result.next_cursor =
        (start.saturating_add(page) < all(view).count()).then(|| (start.saturating_add(page)).to_string());
    Ok(result)
}

/// Whether there is a prompt with this name.
pub(crate) fn is_there(view: &View, name: &str) -> bool {
    all(view).any(|entry| entry.name() == name)
}

/// The skill's instructions and the user's request.
pub(crate) fn get(
    session: &mut Session,
    name: &str,
    request: Option<&str>,
) -> Result<GetPromptResult, Refusal> {
    let active = session.reload_as(name, Trigger::User)?;
    let mut text = active.content;
    if let Some(request) = request.filter(|request| !request.trim().is_empty()) {
        let _ = write!(text, "\n{request}\n");
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
