//! Random prompts, and what they should come to: a second, simpler answer to compare with.

use std::collections::{BTreeMap, BTreeSet};

use metier_prompt::{
    AgentSkillsSection, AnySection, DiscoveredSkill, InlineSkill, NoParams, Prompt, Section, SectionBuilder,
    SessionView, SkillMount, SkillsSection, Visibility,
};
use proptest::prelude::*;

use crate::common::{path, tool};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Skill,
    Skills,
    Found,
}

/// A section that is to be written.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// Its place in the order of all, once they are counted.
    pub(crate) id: usize,
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) own: Option<Visibility>,
    /// What the session says about it.
    pub(crate) said: Option<Visibility>,
    /// The switch that it looks at.
    pub(crate) switch: Option<u8>,
    pub(crate) tools: usize,
    /// Attached, or found.
    pub(crate) skills: usize,
    pub(crate) children: Vec<Tree>,
}

/// Sections at the top, and the switches that are off.
#[derive(Debug, Clone)]
pub(crate) struct Forest {
    pub(crate) trees: Vec<Tree>,
    pub(crate) off: BTreeSet<u8>,
}

fn leaf() -> impl Strategy<Value = Tree> {
    let kinds = prop_oneof![
        4 => Just(Kind::Text), 2 => Just(Kind::Skill), 1 => Just(Kind::Skills), 1 => Just(Kind::Found),
    ];
    let visibility =
        || prop::option::weighted(0.5, prop_oneof![Just(Visibility::Full), Just(Visibility::Summary)]);
    let said = prop_oneof![3 => Just(None), 1 => visibility()];
    let counts = (prop_oneof![3 => Just(0), 1 => 1..3_usize], prop_oneof![3 => Just(0), 1 => 1..3_usize]);
    (kinds, visibility(), said, prop::option::weighted(0.3, 0..4_u8), counts).prop_map(
        |(kind, own, said, switch, (tools, skills))| {
            let (id, path, children) = (0, String::new(), Vec::new());
            Tree { id, path, kind, own, said, switch, tools, skills, children }
        },
    )
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        (leaf(), prop::collection::vec(inner, 0..4)).prop_map(|(tree, children)| Tree { children, ..tree })
    })
}

pub(crate) fn forest() -> impl Strategy<Value = Forest> {
    (prop::collection::vec(tree(), 1..4), prop::collection::btree_set(0..4_u8, 0..3)).prop_map(
        |(mut trees, off)| {
            let mut next = 0;
            for tree in &mut trees {
                tree.count("", &mut next);
            }
            Forest { trees, off }
        },
    )
}

impl Tree {
    fn count(&mut self, above: &str, next: &mut usize) {
        self.id = *next;
        *next += 1;
        self.path = if above.is_empty() { self.key() } else { format!("{above}.{}", self.key()) };
        for child in &mut self.children {
            child.count(&self.path, next);
        }
    }

    pub(crate) fn key(&self) -> String {
        format!("k{}", self.id)
    }

    /// What only its body has; a list of skills has it in each description.
    pub(crate) fn body(&self) -> String {
        format!("BODY{}.", self.id)
    }

    /// What only its summary has.
    pub(crate) fn summary(&self) -> String {
        format!("SUMMARY{}.", self.id)
    }

    pub(crate) fn heading(&self) -> String {
        format!(" ({})\n", self.path)
    }

    pub(crate) fn tool_names(&self) -> Vec<String> {
        (0..self.tools).map(|number| format!("tool_{}_{number}", self.id)).collect()
    }

    pub(crate) fn skill_names(&self) -> Vec<String> {
        (0..self.skills).map(|number| format!("skill-{}-{number}", self.id)).collect()
    }

    pub(crate) fn visibility(&self) -> Visibility {
        let own = if self.kind == Kind::Skill { Visibility::Summary } else { Visibility::Full };
        self.said.or(self.own).unwrap_or(own)
    }

    /// It and everything below it.
    pub(crate) fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        all.extend(self.children.iter().flat_map(Self::all));
        all
    }

    fn draft(&self) -> AnySection {
        let key = self.key();
        let name = format!("inline-{}", self.id);
        match self.kind {
            Kind::Text => self.dress(Section::new(&key, &key).body(&self.body())),
            Kind::Skill => self.dress(InlineSkill::new(&name, "Does it.").key(&key).body(&self.body())),
            Kind::Found => {
                let found = self.skill_names().into_iter().map(|name| DiscoveredSkill {
                    skill_md: format!("/found/{name}/SKILL.md").into(),
                    description: Some(self.body()),
                    name,
                });
                let mount = format!("mounts/{}", self.id);
                self.dress(AgentSkillsSection::new(found).key(&key).mount_path(&mount))
            }
            // Its predicate is about other params, so it has none here.
            Kind::Skills => {
                let section = SkillsSection::new().key(&key).body(&self.body());
                let section = match self.switch {
                    Some(switch) => section.enabled(move |_, session| is_on(session, switch)),
                    None => section,
                };
                self.dress_any(section)
            }
        }
    }

    fn dress<K>(&self, section: SectionBuilder<NoParams, K>) -> AnySection {
        let section = match self.switch {
            Some(switch) => section.enabled(move |_, session| is_on(session, switch)),
            None => section,
        };
        self.dress_any(section)
    }

    fn dress_any<P, K>(&self, section: SectionBuilder<P, K>) -> AnySection {
        let mut section = section.summary(&self.summary());
        if let Some(own) = self.own {
            section = section.visibility(own);
        }
        for name in self.tool_names() {
            section = section.tool(tool(&name));
        }
        if self.kind != Kind::Found {
            section = section
                .skills(self.skill_names().iter().map(|name| SkillMount::new(format!("skills/{name}"))));
        }
        self.children.iter().fold(section, |section, child| section.child(child.draft())).into()
    }
}

fn is_on(session: &SessionView, switch: u8) -> bool {
    !session.state.values.contains_key(&format!("off-{switch}"))
}

/// What a prompt should come to.
#[derive(Debug, Default)]
pub(crate) struct Expected<'a> {
    pub(crate) shown: Vec<(&'a Tree, Visibility)>,
    pub(crate) tools: Vec<String>,
    pub(crate) skills: Vec<String>,
}

impl Forest {
    pub(crate) fn prompt(&self) -> Prompt {
        let builder = Prompt::builder("tests", "forest");
        self.trees.iter().fold(builder, |builder, tree| builder.section(tree.draft())).build().unwrap()
    }

    pub(crate) fn session(&self) -> SessionView {
        let mut session = SessionView::default();
        for tree in self.all() {
            if let Some(said) = tree.said {
                session.state.set_visibility(path(&tree.path), said);
            }
        }
        let off = self.off.iter().map(|switch| (format!("off-{switch}"), true.into()));
        session.state.values = off.collect::<BTreeMap<_, _>>();
        session
    }

    pub(crate) fn all(&self) -> Vec<&Tree> {
        self.trees.iter().flat_map(Tree::all).collect()
    }

    pub(crate) fn is_enabled(&self, tree: &Tree) -> bool {
        tree.switch.is_none_or(|switch| !self.off.contains(&switch))
    }

    /// Everything below and including a section that is there.
    pub(crate) fn enabled<'a>(&self, tree: &'a Tree) -> Vec<&'a Tree> {
        if !self.is_enabled(tree) {
            return Vec::new();
        }
        let mut all = vec![tree];
        all.extend(tree.children.iter().flat_map(|child| self.enabled(child)));
        all
    }

    /// Whether opening it is more than reading it.
    pub(crate) fn has_more(&self, tree: &Tree) -> bool {
        self.enabled(tree).iter().any(|part| part.tools + part.skills > 0 || part.kind == Kind::Skill)
    }

    /// What there should be for an agent without a home.
    pub(crate) fn expected(&self) -> Expected<'_> {
        let mut expected = Expected::default();
        for tree in &self.trees {
            self.expect(tree, &mut expected);
        }
        expected
    }

    fn expect<'a>(&self, tree: &'a Tree, expected: &mut Expected<'a>) {
        if !self.is_enabled(tree) {
            return;
        }
        expected.shown.push((tree, tree.visibility()));
        if tree.visibility() == Visibility::Full {
            expected.tools.extend(tree.tool_names());
            expected.skills.extend(tree.skill_names());
            for child in &tree.children {
                self.expect(child, expected);
            }
        }
    }
}
