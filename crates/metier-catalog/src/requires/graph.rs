//! The graph of what skills need of each other: what is wrong in it, and in which order to take it.

use std::collections::{HashMap, HashSet};

use metier_skill::Coded;

use super::{Requires, RequiresError, read_requires, read_version};

/// What the graph has to know of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiresNode<'a> {
    /// The name.
    pub name: &'a str,
    /// `metadata.version`.
    pub version: Option<&'a str>,
    /// `metadata.requires`.
    pub requires: Option<&'a str>,
}

/// Something wrong with what a skill says it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequiresProblem {
    /// A piece of `metadata.requires` cannot be read.
    #[error("`{skill}` has a `metadata.requires` that cannot be read: {error}")]
    Unreadable {
        /// The skill that says so.
        skill: String,
        /// Which piece, and why.
        error: RequiresError,
    },
    /// A skill that is needed is not there.
    #[error("`{skill}` needs the skill `{requires}`, which is not installed: install it")]
    Missing {
        /// The skill that needs another.
        skill: String,
        /// The other.
        requires: Requires,
    },
    /// A skill that is needed is there in another version.
    #[error("`{skill}` needs `{requires}`, but {}: install a version in that range", found_version(requires, found.as_deref()))]
    Version {
        /// The skill that needs another.
        skill: String,
        /// The other.
        requires: Requires,
        /// The version that is there, as it is written.
        found: Option<String>,
    },
    /// Skills need each other in a circle.
    #[error(
        "skills need each other in a circle: {}: take one of these out of `metadata.requires`",
        circle(cycle)
    )]
    Cycle {
        /// The skills, each needing the next, the last needing the first; the first has the smallest name.
        cycle: Vec<String>,
    },
}

impl Coded for RequiresProblem {
    fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "requires-unreadable",
            Self::Missing { .. } => "requires-missing",
            Self::Version { .. } => "requires-version",
            Self::Cycle { .. } => "requires-cycle",
        }
    }
}

impl RequiresProblem {
    /// The skill to report it at; for a circle the first.
    pub fn skill(&self) -> &str {
        match self {
            Self::Unreadable { skill, .. } | Self::Missing { skill, .. } | Self::Version { skill, .. } => {
                skill
            }
            Self::Cycle { cycle } => cycle.first().map_or("", String::as_str),
        }
    }
}

fn found_version(requires: &Requires, found: Option<&str>) -> String {
    match found {
        Some(version) => format!("`{}` is `{}`", requires.name, version.escape_debug()),
        None => format!("`{}` does not say its version", requires.name),
    }
}

/// In place of a skill's depth, when all that it needs has been walked.
const DONE: usize = usize::MAX;
/// Names that a message about a circle repeats; the whole circle is in the problem.
const SHOWN: usize = 12;

fn circle(cycle: &[String]) -> String {
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if cycle.len() > SHOWN {
        names.push(format!("{} more", cycle.len() - SHOWN));
    }
    names.extend(cycle.first().map(|name| format!("`{name}`")));
    names.join(" → ")
}

/// Skills and what they need of each other.
///
/// ```
/// use metier_catalog::{RequiresNode, RequiresGraph};
///
/// let node = |name, requires| Node { name, version: Some("1.0"), requires };
/// let graph = RequiresGraph::new(&[node("report", Some("charts, pdf")), node("charts", Some("pdf")), node("pdf", None)]);
/// assert_eq!(graph.needs("report"), ["pdf", "charts"]);
/// assert!(graph.problems().is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct RequiresGraph<'a> {
    names: Vec<&'a str>,
    index: HashMap<&'a str, usize>,
    /// For each skill those it needs that are there, in the order of its list, each once.
    edges: Vec<Vec<usize>>,
    problems: Vec<RequiresProblem>,
}

impl<'a> RequiresGraph<'a> {
    /// The graph of some skills. Of two with one name the first counts.
    pub fn new(nodes: &[RequiresNode<'a>]) -> Self {
        let mut index = HashMap::with_capacity(nodes.len());
        let mut winners: Vec<&RequiresNode<'a>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            index.entry(node.name).or_insert_with(|| {
                winners.push(node);
                winners.len() - 1
            });
        }
        let names = winners.iter().map(|node| node.name).collect();
        let mut graph = Self { names, index, edges: Vec::with_capacity(winners.len()), problems: Vec::new() };
        for node in &winners {
            let edges = graph.read(node, &winners);
            graph.edges.push(edges);
        }
        graph.find_cycles();
        graph.problems.sort_by(|a, b| a.skill().cmp(b.skill()));
        graph
    }

    /// Everything that is wrong, by the name of the skill; of one skill in the order of its list, circles last.
    pub fn problems(&self) -> &[RequiresProblem] {
        &self.problems
    }

    /// The other skills that `name` needs, directly or not, each once and after those it needs itself. What is
    /// not installed is left out, and a circle is cut where it comes back to a skill that is already on the way.
    pub fn needs(&self, name: &str) -> Vec<&'a str> {
        let Some(&root) = self.index.get(name) else { return Vec::new() };
        let mut seen = HashSet::from([root]);
        let mut stack = vec![(root, 0)];
        let mut order = Vec::new();
        while let Some((at, next)) = stack.last_mut() {
            match self.edges[*at].get(*next) {
                Some(&needed) => {
                    *next += 1;
                    if seen.insert(needed) {
                        stack.push((needed, 0));
                    }
                }
                None => {
                    order.extend((*at != root).then(|| self.names[*at]));
                    stack.pop();
                }
            }
        }
        order
    }

    fn read(&mut self, node: &RequiresNode<'a>, winners: &[&RequiresNode<'a>]) -> Vec<usize> {
        let mut edges = Vec::new();
        let mut seen = HashSet::new();
        let skill = || node.name.to_owned();
        for piece in read_requires(node.requires.unwrap_or_default()) {
            let requires = match piece {
                Ok(requires) => requires,
                Err(error) => {
                    self.problems.push(RequiresProblem::Unreadable { skill: skill(), error });
                    continue;
                }
            };
            let Some(&needed) = self.index.get(requires.name.as_str()) else {
                self.problems.push(RequiresProblem::Missing { skill: skill(), requires });
                continue;
            };
            if seen.insert(needed) {
                edges.push(needed);
            }
            let found = winners[needed].version;
            if !is_in_range(&requires, found) {
                let found = found.map(str::to_owned);
                self.problems.push(RequiresProblem::Version { skill: skill(), requires, found });
            }
        }
        edges
    }

    /// One walk over everything, in the order of the names. Each edge back to a skill that is still on the way
    /// closes a circle, and no two edges close the same one. There can be as many circles as edges, each as
    /// long as the graph: so that the work stays linear, those that would make the list longer than a few
    /// times the graph are left out; they come up when the first ones are mended.
    fn find_cycles(&mut self) {
        let mut room = 4 * (self.names.len() + self.edges.iter().map(Vec::len).sum::<usize>());
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_unstable_by_key(|at| self.names[*at]);
        // 0: not seen; a depth on the way, counted from 1; `DONE` when left.
        let mut depth = vec![0; self.names.len()];
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for root in order {
            if depth[root] == 0 {
                depth[root] = 1;
                stack.push((root, 0));
            }
            while let Some((at, next)) = stack.last_mut() {
                let Some(&needed) = self.edges[*at].get(*next) else {
                    depth[*at] = DONE;
                    stack.pop();
                    continue;
                };
                *next += 1;
                match depth[needed] {
                    DONE => {}
                    0 => {
                        stack.push((needed, 0));
                        depth[needed] = stack.len();
                    }
                    from => {
                        let cycle = &stack[from - 1..];
                        if cycle.len() <= room {
                            room -= cycle.len();
                            let cycle = self.named(cycle);
                            self.problems.push(RequiresProblem::Cycle { cycle });
                        }
                    }
                }
            }
        }
    }

    fn named(&self, cycle: &[(usize, usize)]) -> Vec<String> {
        let mut names: Vec<String> = cycle.iter().map(|(at, _)| self.names[*at].to_owned()).collect();
        let smallest = (0..names.len()).min_by_key(|at| &names[*at]).unwrap_or_default();
        names.rotate_left(smallest);
        names
    }
}

fn is_in_range(requires: &Requires, found: Option<&str>) -> bool {
    let Some(range) = &requires.range else { return true };
    found.and_then(read_version).is_some_and(|version| range.matches(&version))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn node<'a>((name, version, requires): &(&'a str, &'a str, &'a str)) -> RequiresNode<'a> {
        let some = |text: &'a str| (!text.is_empty()).then_some(text);
        RequiresNode { name, version: some(version), requires: some(requires) }
    }

    fn codes(skills: &[(&str, &str, &str)]) -> Vec<String> {
        let nodes: Vec<RequiresNode> = skills.iter().map(node).collect();
        let graph = RequiresGraph::new(&nodes);
        graph.problems().iter().map(|problem| format!("{} {}", problem.code(), problem.skill())).collect()
    }

    fn cycles(skills: &[(&str, &str)]) -> Vec<String> {
        let nodes: Vec<RequiresNode> =
            skills.iter().map(|(name, requires)| node(&(name, "", requires))).collect();
        let graph = RequiresGraph::new(&nodes);
        let cycles = graph.problems().iter().filter_map(|problem| match problem {
            RequiresProblem::Cycle { cycle } => Some(cycle.join(" ")),
            _ => None,
        });
        cycles.collect()
    }

    #[test]
    fn each_problem_has_its_code() {
        assert_eq!(codes(&[("a", "", "b@^1"), ("b", "1.4", "")]), Vec::<String>::new());
        assert_eq!(codes(&[("a", "", "b"), ("b", "", "")]), Vec::<String>::new());
        assert_eq!(codes(&[("a", "", "b C!")]), ["requires-missing a", "requires-unreadable a"]);
        assert_eq!(codes(&[("a", "", "b@^2"), ("b", "1.4", "")]), ["requires-version a"]);
        assert_eq!(codes(&[("a", "", "b@^2"), ("b", "", "")]), ["requires-version a"]);
        assert_eq!(codes(&[("a", "", "b@^2"), ("b", "new", "")]), ["requires-version a"]);
        assert_eq!(codes(&[("a", "", "b"), ("b", "", "a x")]), ["requires-cycle a", "requires-missing b"]);
        assert_eq!(codes(&[("a", "", "b"), ("b", "", ""), ("b", "", "x")]), Vec::<String>::new());
    }

    #[test]
    fn each_cycle_is_named_once_in_order() {
        assert_eq!(cycles(&[("a", "a")]), ["a"]);
        assert_eq!(cycles(&[("c", "a"), ("b", "c"), ("a", "b")]), ["a b c"]);
        assert_eq!(cycles(&[("a", "b"), ("b", "a c"), ("c", "b")]), ["a b", "b c"]);
        assert_eq!(cycles(&[("x", "b"), ("b", "a"), ("a", "b b")]), ["a b"]);
        assert_eq!(cycles(&[("a", "b c"), ("b", "d"), ("c", "d"), ("d", "")]), Vec::<String>::new());
    }

    #[test]
    fn messages_say_what_and_what_next() {
        let nodes = [("a", "", "b@^2 c"), ("b", "1.4", "a")].map(|skill| node(&skill));
        let graph = RequiresGraph::new(&nodes);
        let messages: Vec<String> = graph.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "`a` needs `b@^2`, but `b` is `1.4`: install a version in that range",
                "`a` needs the skill `c`, which is not installed: install it",
                "skills need each other in a circle: `a` → `b` → `a`: take one of these out of `metadata.requires`",
            ]
        );
    }

    #[test]
    fn needs_come_after_what_they_need() {
        let nodes = [("a", "", "b c gone"), ("b", "", "d"), ("c", "", "d b"), ("d", "", "a")];
        let nodes = nodes.map(|skill| node(&skill));
        let graph = RequiresGraph::new(&nodes);
        assert_eq!(graph.needs("a"), ["d", "b", "c"]);
        assert_eq!(graph.needs("d"), ["b", "c", "a"]);
        assert_eq!(graph.needs("gone"), Vec::<&str>::new());
    }

    #[test]
    fn a_registry_is_walked_without_recursion_and_without_squares() {
        const COUNT: usize = 100_000;
        let names: Vec<String> = (0..COUNT).map(|at| format!("s{at:06}")).collect();
        // A chain in which each also needs the first: as many circles as skills, up to all of them long.
        let lists: Vec<String> =
            (0..COUNT).map(|at| format!("{} {}", names[(at + 1) % COUNT], names[0])).collect();
        let nodes: Vec<RequiresNode> = (0..COUNT)
            .map(|at| RequiresNode { name: &names[at], version: None, requires: Some(&lists[at]) })
            .collect();
        let graph = RequiresGraph::new(&nodes);
        assert_eq!(graph.needs(&names[0]).len(), COUNT - 1);
        let listed = graph.problems().iter().map(|problem| match problem {
            RequiresProblem::Cycle { cycle } => cycle.len(),
            _ => 0,
        });
        assert!(!graph.problems().is_empty() && listed.sum::<usize>() <= 12 * COUNT);
        assert!(graph.problems().iter().all(|problem| problem.to_string().len() < 500));
    }

    proptest! {
        #[test]
        fn order_and_cycles_hold_for_any_graph(edges in prop::collection::vec((0..12_usize, 0..12_usize), 0..40)) {
            let names: Vec<String> = (0..12).map(|at| format!("n{at:02}")).collect();
            let mut lists = vec![String::new(); names.len()];
            for (from, to) in &edges {
                lists[*from].push_str(&names[*to]);
                lists[*from].push(' ');
            }
            let nodes: Vec<RequiresNode> = names
                .iter()
                .zip(&lists)
                .map(|(name, list)| RequiresNode { name, version: None, requires: Some(list) })
                .collect();
            let graph = RequiresGraph::new(&nodes);
            let mut seen = HashSet::new();
            for problem in graph.problems() {
                let RequiresProblem::Cycle { cycle } = problem else { panic!("only circles: {problem}") };
                prop_assert!(seen.insert(cycle.clone()));
                for (at, name) in cycle.iter().enumerate() {
                    let next = &cycle[(at + 1) % cycle.len()];
                    prop_assert!(lists[graph.index[name.as_str()]].contains(next.as_str()));
                }
            }
            for name in &names {
                let order = graph.needs(name);
                prop_assert!(!order.contains(&name.as_str()));
                if graph.problems().is_empty() {
                    for (at, needed) in order.iter().enumerate() {
                        let before = &order[..at];
                        prop_assert!(graph.needs(needed).iter().all(|other| before.contains(other)));
                    }
                }
            }
        }
    }
}
