//! The guard's hooks in a settings file that belongs to a person: adding them, finding them, removing them. Every other byte
//! stays.

use metier_home::Agent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::installed::InstalledHook;
use crate::jsonc::edit::{Style, cut, insert, insert_root};
use crate::jsonc::{Body, Item, Items, JsoncError, Node, parse};

/// The member that has the hooks.
const HOOKS: &str = "hooks";

/// What [`add_hooks`] created beside the hooks, so that [`remove_hooks`] can remove that as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MergeTrace {
    /// Objects and lists that did not exist before, by their keys. The one without keys is the whole content.
    created: Vec<Vec<String>>,
    /// White space that was added behind the first item of an object or a list.
    pads: Vec<(Vec<String>, String)>,
}

impl MergeTrace {
    fn pad(&self, path: &[String]) -> &str {
        self.pads.iter().find(|(other, _)| other == path).map_or("", |(_, pad)| pad)
    }

    fn keep(&mut self, path: &[String], pad: String) {
        if !pad.is_empty() {
            self.pads.push((path.to_vec(), pad));
        }
    }
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// Adds hooks to settings: an object whose member `hooks` has a list per event. Each list is added to that of its event.
///
/// ```
/// use metier_guard::{add_hooks, remove_hooks};
/// use metier_home::Agent;
/// use serde_json::json;
///
/// let line = "o=$(timeout 3 '/usr/bin/metier' hook claude PostToolUse) && printf '%s' \"$o\" || :";
/// let hooks = json!({ "hooks": { "PostToolUse": [{ "hooks": [{ "type": "command", "command": line }] }] } });
/// let mine = "{\n\t\"model\": \"opus\", // the large one\n}\n";
/// let (text, trace) = add_hooks(mine, &hooks)?;
/// assert!(text.starts_with("{\n\t\"model\": \"opus\", // the large one\n\t\"hooks\": {\n\t\t\"PostToolUse\": ["));
/// assert_eq!(remove_hooks(&text, Agent::ClaudeCode, &trace)?, mine);
/// # Ok::<(), metier_guard::JsoncError>(())
/// ```
pub fn add_hooks(text: &str, hooks: &Value) -> Result<(String, MergeTrace), JsoncError> {
    let mut trace = MergeTrace::default();
    let document = parse(text)?;
    let root = document.list.first().map(|item| &item.value);
    let style = Style::of(text, root);
    let Some(root) = root else {
        let (text, pad) = insert_root(text, &style, &document, hooks);
        trace.keep(&[], pad);
        trace.created.push(Vec::new());
        return Ok((text, trace));
    };
    expect(text, root, matches!(root.body, Body::Object(_)), "the settings are not an object")?;
    let added = hooks[HOOKS].as_object().cloned().unwrap_or_default();
    let Some(place) = root.member(HOOKS) else {
        let (text, pad) = insert(text, &style, root, Some(HOOKS), &Value::Object(added));
        trace.keep(&path(&["."]), pad);
        trace.created.push(path(&[HOOKS]));
        return Ok((text, trace));
    };
    expect(text, place, matches!(place.body, Body::Object(_)), "`hooks` is not an object")?;
    let mut text = text.to_owned();
    for (event, groups) in &added {
        text = add_event(&text, &style, event, groups, &mut trace)?;
    }
    Ok((text, trace))
}

/// Adds the hooks of one event. The settings have an object of hooks.
fn add_event(
    text: &str,
    style: &Style,
    event: &str,
    groups: &Value,
    trace: &mut MergeTrace,
) -> Result<String, JsoncError> {
    let document = parse(text)?;
    let Some(place) = document.list.first().and_then(|root| root.value.member(HOOKS)) else {
        return Ok(text.to_owned());
    };
    let Some(list) = place.member(event) else {
        let (text, pad) = insert(text, style, place, Some(event), groups);
        trace.keep(&path(&[HOOKS]), pad);
        trace.created.push(path(&[HOOKS, event]));
        return Ok(text);
    };
    let what = format!("the hooks of `{event}` are not a list");
    expect(text, list, matches!(list.body, Body::Array(_)), &what)?;
    let mut text = text.to_owned();
    for group in groups.as_array().into_iter().flatten() {
        let document = parse(&text)?;
        let list = document.list.first().and_then(|root| root.value.member(HOOKS)?.member(event));
        let Some(list) = list else { break };
        let (new, pad) = insert(&text, style, list, None, group);
        trace.keep(&path(&[HOOKS, event]), pad);
        text = new;
    }
    Ok(text)
}

fn expect(text: &str, node: &Node, is_so: bool, what: &str) -> Result<(), JsoncError> {
    if is_so { Ok(()) } else { Err(JsoncError::at(text, node.start, what)) }
}

/// Whether settings have exactly these hooks of the guard, wherever they are in their lists.
pub fn has_hooks(text: &str, agent: Agent, hooks: &Value) -> Result<bool, JsoncError> {
    let mut expected: Map<String, Value> = hooks[HOOKS].as_object().cloned().unwrap_or_default();
    for (event, list) in effective(&parse(text)?) {
        for group in list.elements().iter().filter(|group| !ours_in(text, &group.value, agent).is_empty()) {
            if expected.remove(&event) != Some(json!([group.value.value(text)])) {
                return Ok(false);
            }
        }
    }
    Ok(expected.is_empty())
}

/// The hooks of the guard in settings.
pub fn find_hooks(text: &str, agent: Agent) -> Result<Vec<InstalledHook>, JsoncError> {
    let mut found = Vec::new();
    for (event, list) in effective(&parse(text)?) {
        for (at, group) in list.elements().iter().enumerate() {
            let hooks = ours_in(text, &group.value, agent).into_iter();
            let hooks = hooks.map(|(index, hook)| InstalledHook { place: (at, index), ..hook });
            // A line that was moved to another event is not what was installed.
            found.extend(hooks.filter(|hook| hook.event == event));
        }
    }
    Ok(found)
}

/// Removes the hooks of the guard, and what was created for them if nothing else is in it now.
pub fn remove_hooks(text: &str, agent: Agent, trace: &MergeTrace) -> Result<String, JsoncError> {
    let mut text = text.to_owned();
    while let Some(cut) = cut_one(&text, agent, trace)? {
        text = cut;
    }
    Ok(text)
}

/// Cuts out one thing that is to be removed. The last ones are first: the reverse of adding them.
fn cut_one(text: &str, agent: Agent, trace: &MergeTrace) -> Result<Option<String>, JsoncError> {
    let document = parse(text)?;
    for (event, list) in lists(&document).into_iter().rev() {
        let Body::Array(groups) = &list.body else { continue };
        for (index, group) in groups.list.iter().enumerate().rev() {
            let ours = ours_in(text, &group.value, agent);
            let Some((last, _)) = ours.last() else { continue };
            let hooks = group.value.member(HOOKS).and_then(Node::items);
            // Someone else's hook can be in the same group.
            return Ok(Some(match hooks.filter(|hooks| hooks.list.len() > ours.len()) {
                Some(hooks) => cut(text, hooks, *last, ""),
                None => cut(text, groups, index, trace.pad(&path(&[HOOKS, &event]))),
            }));
        }
    }
    let Some(root) = document.list.first() else { return Ok(None) };
    let is_created = |keys: &[&str]| trace.created.contains(&path(keys));
    if is_created(&[]) && root.value.is_bare(text) {
        return Ok(Some(cut(text, &document, 0, trace.pad(&[]))));
    }
    let Body::Object(members) = &root.value.body else { return Ok(None) };
    for (index, member) in named(members, HOOKS) {
        // If everything was created, so was this.
        if (is_created(&[HOOKS]) || is_created(&[])) && member.value.is_bare(text) {
            return Ok(Some(cut(text, members, index, trace.pad(&path(&["."])))));
        }
        let Body::Object(events) = &member.value.body else { continue };
        for (index, event) in events.list.iter().enumerate().rev() {
            let key = event.key.as_deref().unwrap_or_default();
            let is_created = is_created(&[HOOKS, key])
                || is_created(&[HOOKS])
                || (is_created(&[]) && is_known(agent, key));
            if is_created && event.value.is_bare(text) {
                return Ok(Some(cut(text, events, index, trace.pad(&path(&[HOOKS])))));
            }
        }
    }
    Ok(None)
}

fn is_known(agent: Agent, event: &str) -> bool {
    crate::event::hook_row(agent, event).is_some()
}

fn named<'a>(members: &'a Items, key: &'a str) -> impl Iterator<Item = (usize, &'a Item)> {
    members.list.iter().enumerate().filter(move |(_, member)| member.key.as_deref() == Some(key))
}

/// The list of each event, also where a key is there twice.
fn lists(document: &Items) -> Vec<(String, &Node)> {
    let Some(Body::Object(members)) = document.list.first().map(|root| &root.value.body) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (_, member) in named(members, HOOKS) {
        let Body::Object(events) = &member.value.body else { continue };
        found.extend(events.list.iter().filter_map(|event| Some((event.key.clone()?, &event.value))));
    }
    found
}

/// The lists that count where a key is there twice: the last ones.
fn effective(document: &Items) -> Vec<(String, &Node)> {
    let hooks = document.list.first().and_then(|root| root.value.member(HOOKS));
    let all = lists(document).into_iter();
    all.filter(|(event, list)| {
        hooks.and_then(|hooks| hooks.member(event)).is_some_and(|last| last.start == list.start)
    })
    .collect()
}

/// The hooks of the guard in a group, with their places in its list.
fn ours_in(text: &str, group: &Node, agent: Agent) -> Vec<(usize, InstalledHook)> {
    let hooks = group.member(HOOKS).map(Node::elements).unwrap_or_default();
    let parsed = |(index, hook): (usize, &Item)| {
        let line = hook.value.member("command")?.value(text);
        let hook = InstalledHook::parse(line.as_str()?).filter(|hook| hook.agent == agent)?;
        Some((index, hook))
    };
    hooks.iter().enumerate().filter_map(parsed).collect()
}
