//! What clients see of one state of the catalog, put together once: instructions, tools, and the skills in their order.

use std::path::PathBuf;
use std::sync::OnceLock;

use metier_catalog::{Catalog, CatalogError, Entry, Search, State};
use metier_prompt::{Activation, Catalogue, Listed};
use rmcp::model::Tool;

use crate::library::{CataloguePlace, LibraryOptions};
use crate::tools;

pub(crate) struct View {
    pub(crate) catalog: Catalog,
    /// Those that models may use, the most relevant first.
    pub(crate) skills: Vec<Entry>,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Tool>,
    search: OnceLock<Search>,
    kept: Option<PathBuf>,
}

impl View {
    pub(crate) fn new(catalog: Catalog, options: &LibraryOptions) -> Self {
        let skills: Vec<Entry> =
            catalog.skills().filter(|entry| entry.state.is_for_models()).cloned().collect();
        let list = (!skills.is_empty()).then(|| catalogue(&skills, options));
        let (instructions, described) = match options.catalogue {
            CataloguePlace::Instructions => (list, None),
            CataloguePlace::Description => (None, list),
            CataloguePlace::Nowhere => (None, None),
        };
        let tools = tools::all(&skills, options.tool_names, described.as_deref());
        Self { catalog, skills, instructions, tools, search: OnceLock::new(), kept: options.search.clone() }
    }

    /// The catalog made ready to be asked; for many skills that are new it takes a while.
    pub(crate) fn search(&self) -> Result<&Search, CatalogError> {
        if let Some(search) = self.search.get() {
            return Ok(search);
        }
        let made = Search::open(&self.catalog, self.kept.as_deref())?;
        Ok(self.search.get_or_init(|| made))
    }

    /// The skill of a name or an id that models may use.
    pub(crate) fn skill(&self, name: &str) -> Option<&Entry> {
        let entry = self.catalog.find(name).or_else(|| self.catalog.get(name));
        entry.filter(|entry| entry.state.is_for_models())
    }
}

fn catalogue(skills: &[Entry], options: &LibraryOptions) -> String {
    let listed: Vec<Listed<'_>> = skills
        .iter()
        .map(|entry| {
            let description = (entry.state == State::On).then(|| entry.description());
            Listed { name: entry.name(), description, location: None }
        })
        .collect();
    let names = options.tool_names;
    let search = format!("the tool `{}`", names.list());
    let rendered = Catalogue::new(&listed)
        .activation(Some(Activation::Tool(names.load())))
        .search(Some(&search))
        .budget(Some(options.catalogue_tokens))
        .render();
    rendered.text
}
