//! The clients' view of one state of the catalog, built once: instructions, tools, and the skills in their order.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use metier_catalog::{Catalog, Entry};
use metier_prompt::{ActivationHint, ListedSkill, SkillList};
use metier_search::{Search, SearchError};
use metier_session::SkillTool;
use metier_session::tools::{NAMED_SKILLS, SkillToolOptions, definitions};
use rmcp::model::{Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};

use crate::library::{LibraryContents, LibraryOptions, SkillListPlacement};

/// What clients learn about the skills on connecting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Greeting {
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Tool>,
    /// The directories of the skills whose texts it contains.
    skills: Vec<PathBuf>,
    /// Whether these are all skills that models may use.
    is_complete: bool,
}

impl Greeting {
    /// The directories of the skills whose names or texts it contains.
    pub fn skills(&self) -> &[PathBuf] {
        &self.skills
    }

    /// Whether it contains every skill that models may use: none was left out to save room.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }
}

pub(crate) struct View {
    pub(crate) catalog: Catalog,
    pub(crate) stock: Arc<LibraryContents>,
    /// The skills that models may use, the most relevant first.
    pub(crate) skills: Vec<Entry>,
    pub(crate) shown: Arc<Greeting>,
    /// The tokens of each skill that the list shows, which are the first ones.
    listed: Vec<usize>,
    offered: SkillToolOptions,
    search: OnceLock<Search>,
}

impl View {
    pub(crate) fn new(catalog: Catalog, stock: Arc<LibraryContents>, options: &LibraryOptions) -> Self {
        let skills: Vec<Entry> = catalog.for_models().map(|skill| skill.entry.clone()).collect();
        let list = (!skills.is_empty()).then(|| skill_list(&skills, options));
        let (list, mut listed) = list.map_or((None, Vec::new()), |(list, listed)| (Some(list), listed));
        let offered = options.tools();
        let list = list.map(|list| format!("{list}\n{}", scripts(options)));
        let (instructions, described) = match options.skill_list {
            SkillListPlacement::Instructions => (list, None),
            SkillListPlacement::Description => (None, list),
            SkillListPlacement::Nowhere => (None, None),
        };
        let mut tools = definitions(&catalog, &offered);
        let load = tools.iter_mut().find(|tool| tool.name == options.tool_names.load());
        if let (Some(load), Some(list)) = (load, described) {
            load.description.extend(["\n\n", &list]);
        }
        let tools = tools.into_iter().map(as_tool).collect();
        let named = if skills.len() <= NAMED_SKILLS { skills.len() } else { listed.len() };
        if options.skill_list == SkillListPlacement::Nowhere {
            listed.clear();
        }
        let is_complete = named == skills.len();
        let named = skills.iter().take(named).map(|entry| entry.path().to_owned()).collect();
        let shown = Arc::new(Greeting { instructions, tools, skills: named, is_complete });
        Self { catalog, stock, skills, shown, listed, offered, search: OnceLock::new() }
    }

    /// The skills that the list shows, each with its tokens.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&Entry, u64)> {
        self.skills.iter().zip(&self.listed).map(|(entry, tokens)| (entry, *tokens as u64))
    }

    /// How the tools are offered, with this catalog indexed for search.
    pub(crate) fn tools(self: &Arc<Self>) -> SkillToolOptions {
        let (mut tools, view) = (self.offered.clone(), Arc::clone(self));
        tools.rank = Some(Arc::new(move |_, query, most| {
            Ok(view.search()?.ranked(query, most).into_iter().cloned().collect())
        }));
        tools
    }

    /// Indexes the catalog for search; this takes a while for many new skills.
    pub(crate) fn search(&self) -> Result<&Search, SearchError> {
        if let Some(search) = self.search.get() {
            return Ok(search);
        }
        let made = Search::open(&self.catalog, self.stock.search.as_deref())?;
        Ok(self.search.get_or_init(|| made))
    }

    /// The skill with this name or id that models may use.
    pub(crate) fn skill(&self, name: &str) -> Option<&Entry> {
        let entry = self.catalog.by_name(name).or_else(|| self.catalog.by_id(name));
        entry.filter(|entry| entry.listing().is_some())
    }
}

/// A tool in protocol form.
fn as_tool(tool: SkillTool) -> Tool {
    let SkillTool { name, title, description, input_schema, read_only, .. } = tool;
    let hints = ToolAnnotations::new()
        .read_only(read_only)
        .destructive(!read_only)
        .idempotent(read_only)
        .open_world(false);
    Tool::new(name, description, Arc::new(input_schema)).with_title(title).with_annotations(hints)
}

/// Tells a model how to run the scripts of skills.
fn scripts(options: &LibraryOptions) -> String {
    let (tool, place) = (options.tool_names.run(), options.work.said());
    format!(
        "Run the scripts of a skill with the tool `{tool}`, never with a shell of your own: it runs them in a sandbox, in {place}.\n"
    )
}

/// The skill list, and the tokens of each skill on it.
fn skill_list(skills: &[Entry], options: &LibraryOptions) -> (String, Vec<usize>) {
    let listed: Vec<ListedSkill<'_>> = skills
        .iter()
        .filter_map(Entry::listing)
        .map(|skill| ListedSkill { name: skill.entry.name(), description: skill.description, location: None })
        .collect();
    let names = options.tool_names;
    let search = format!("the tool `{}`", names.list());
    let rendered = SkillList::new(&listed)
        .activation(Some(ActivationHint::Tool(names.load())))
        .search(Some(&search))
        .budget(Some(options.skill_list_tokens))
        .render();
    (rendered.text, rendered.items)
}
