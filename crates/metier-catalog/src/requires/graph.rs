//! The dependency graph of skills: its problems, and the order in which to install or load skills.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::{Requires, read_requires, read_version};
use crate::problem::{Problem, ProblemCode};

/// The maximum number of names in a message about a cycle.
const SHOWN: usize = 12;

/// The maximum number of cycles to report per walk. A chain of skills can close one cycle per skill, each as
/// long as the chain.
const CIRCLES_MAX: usize = 100;

/// One skill of the graph.
#[derive(Debug, Clone)]
pub(crate) struct RequiresNode<'a> {
    pub(crate) name: &'a Arc<str>,
    /// `metadata.version`.
    pub(crate) version: Option<&'a str>,
    /// `metadata.requires`.
    pub(crate) requires: Option<&'a str>,
    /// The path for reporting problems.
    pub(crate) path: &'a Path,
}

/// The dependencies between skills.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequiresGraph {
    names: Vec<Arc<str>>,
    index: HashMap<Arc<str>, usize>,
    /// For each skill, its installed dependencies in the order of its list, each once.
    edges: Vec<Vec<usize>>,
}

/// The state of a skill during a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    /// Its dependencies are being walked.
    Open,
    Done,
}

impl RequiresGraph {
    /// Builds the graph of skills that are sorted by unique names. Problems are reported in the order of the
    /// skills and of their lists; a cycle is reported at its first skill.
    pub(crate) fn new(nodes: &[RequiresNode<'_>]) -> (Self, Vec<Problem>) {
        let names: Vec<Arc<str>> = nodes.iter().map(|node| Arc::clone(node.name)).collect();
        let index = names.iter().cloned().zip(0..).collect();
        let mut graph = Self { names, index, edges: Vec::with_capacity(nodes.len()) };
        let mut problems = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut found = Vec::new();
            let edges = graph.read(node, nodes, &mut found);
            graph.edges.push(edges);
            problems.push(found);
        }
        let mut visits = vec![Visit::Not; nodes.len()];
        for root in 0..nodes.len() {
            let (_, circles) = graph.walk(root, &mut visits);
            for (first, message) in circles.into_iter().map(|circle| graph.circle(circle)) {
                problems[first].push(Problem::new(nodes[first].path, ProblemCode::RequiresCycle, message));
            }
        }
        (graph, problems.into_iter().flatten().collect())
    }

    /// The direct and indirect dependencies of `name`, each once and after its own dependencies. Skills that
    /// are not installed are left out. A cycle ends where it returns to a skill already on the path.
    pub(crate) fn needs(&self, name: &str) -> Vec<&str> {
        let Some(&root) = self.index.get(name) else { return Vec::new() };
        let (order, _) = self.walk(root, &mut vec![Visit::Not; self.names.len()]);
        order.into_iter().filter(|at| *at != root).map(|at| &*self.names[at]).collect()
    }

    /// Everything that `root` depends on and that was not walked before, then `root`, each after its own
    /// dependencies. It does not recurse, because a chain can have any length. Also returns the first
    /// [`CIRCLES_MAX`] cycles.
    fn walk(&self, root: usize, visits: &mut [Visit]) -> (Vec<usize>, Vec<Vec<usize>>) {
        let (mut order, mut circles) = (Vec::new(), Vec::new());
        let mut way = Vec::new();
        if visits[root] == Visit::Not {
            visits[root] = Visit::Open;
            way.push((root, 0));
        }
        while let Some((at, next)) = way.last_mut() {
            let Some(&needed) = self.edges[*at].get(*next) else {
                visits[*at] = Visit::Done;
                order.push(*at);
                way.pop();
                continue;
            };
            *next += 1;
            match visits[needed] {
                Visit::Not => {
                    visits[needed] = Visit::Open;
                    way.push((needed, 0));
                }
                Visit::Open if circles.len() < CIRCLES_MAX => {
                    let from = way.iter().position(|(at, _)| *at == needed).unwrap_or_default();
                    circles.push(way[from..].iter().map(|(at, _)| *at).collect());
                }
                Visit::Open | Visit::Done => {}
            }
        }
        (order, circles)
    }

    fn read(
        &self,
        node: &RequiresNode<'_>,
        nodes: &[RequiresNode<'_>],
        found: &mut Vec<Problem>,
    ) -> Vec<usize> {
        let mut edges = Vec::new();
        let skill = node.name;
        let mut report = |code, message: String| found.push(Problem::new(node.path, code, message));
        for piece in read_requires(node.requires.unwrap_or_default()) {
            let requires = match piece {
                Ok(requires) => requires,
                Err(error) => {
                    let message = format!("`{skill}` has an invalid `metadata.requires`: {error}");
                    report(ProblemCode::RequiresUnreadable, message);
                    continue;
                }
            };
            let Some(&needed) = self.index.get(requires.name.as_str()) else {
                let message =
                    format!("`{skill}` needs the skill `{requires}`, which is not installed; install it");
                report(ProblemCode::RequiresMissing, message);
                continue;
            };
            if !edges.contains(&needed) {
                edges.push(needed);
            }
            let version = nodes[needed].version;
            if !is_in_range(&requires, version) {
                let has = match version {
                    Some(version) => format!("is `{}`", version.escape_debug()),
                    None => "has no version".to_owned(),
                };
                let message = format!(
                    "`{skill}` needs `{requires}`, but `{}` {has}; install a matching version",
                    requires.name
                );
                report(ProblemCode::RequiresVersion, message);
            }
        }
        edges
    }

    /// The first skill of a cycle by name, and the message about it.
    fn circle(&self, mut circle: Vec<usize>) -> (usize, String) {
        let smallest = (0..circle.len()).min_by_key(|at| circle[*at]).unwrap_or_default();
        circle.rotate_left(smallest);
        let name = |at: &usize| format!("`{}`", self.names[*at]);
        let mut names: Vec<String> = circle.iter().take(SHOWN).map(name).collect();
        if circle.len() > SHOWN {
            names.push(format!("{} more", circle.len() - SHOWN));
        }
        names.extend(circle.first().map(name));
        let names = names.join(" → ");
        let message = format!(
            "skills depend on each other in a cycle: {names}; remove one of them from `metadata.requires`"
        );
        (circle.first().copied().unwrap_or_default(), message)
    }
}

fn is_in_range(requires: &Requires, version: Option<&str>) -> bool {
    let Some(range) = &requires.range else { return true };
    version.and_then(read_version).is_some_and(|version| range.matches(&version))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some(text: &str) -> Option<&str> {
        Some(text).filter(|text| !text.is_empty())
    }

    /// The graph of skills by name, version and `requires`; each is at a path like its name.
    fn graph(skills: &[(&str, &str, &str)]) -> (RequiresGraph, Vec<Problem>) {
        let mut skills: Vec<(Arc<str>, &str, &str)> =
            skills.iter().map(|(name, version, requires)| ((*name).into(), *version, *requires)).collect();
        skills.sort();
        let node = |(name, version, requires)| RequiresNode {
            name,
            version: some(version),
            requires: some(requires),
            path: Path::new(&**name),
        };
        let nodes: Vec<RequiresNode<'_>> =
            skills.iter().map(|(name, version, requires)| node((name, version, requires))).collect();
        RequiresGraph::new(&nodes)
    }

    fn codes(skills: &[(&str, &str, &str)]) -> Vec<String> {
        let (_, problems) = graph(skills);
        problems.iter().map(|problem| format!("{} {}", problem.code, problem.path.display())).collect()
    }

    /// The names that a problem names in a circle, without the last, which is the first again.
    fn circle(problem: &Problem) -> Option<Vec<String>> {
        let names =
            problem.message.strip_prefix("skills depend on each other in a cycle: ")?.split_once("; ")?.0;
        let mut names: Vec<String> = names.split(" → ").map(|name| name.replace('`', "")).collect();
        assert_eq!(names.pop().as_ref(), names.first());
        Some(names)
    }

    fn circles(skills: &[(&str, &str)]) -> Vec<String> {
        let skills: Vec<(&str, &str, &str)> =
            skills.iter().map(|(name, requires)| (*name, "", *requires)).collect();
        graph(&skills).1.iter().filter_map(circle).map(|names| names.join(" ")).collect()
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
    }

    #[test]
    fn each_circle_is_named_once_in_order() {
        assert_eq!(circles(&[("a", "a")]), ["a"]);
        assert_eq!(circles(&[("c", "a"), ("b", "c"), ("a", "b")]), ["a b c"]);
        assert_eq!(circles(&[("a", "b"), ("b", "a c"), ("c", "b")]), ["a b", "b c"]);
        assert_eq!(circles(&[("a", "b"), ("b", "c"), ("c", "b")]), ["b c"]);
        assert_eq!(circles(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]), ["a b", "c d"]);
        assert_eq!(circles(&[("aa", "x y"), ("x", "z"), ("z", "x"), ("y", "w"), ("w", "y")]), ["w y", "x z"]);
        assert_eq!(circles(&[("x", "b"), ("b", "a"), ("a", "b b")]), ["a b"]);
        assert_eq!(circles(&[("a", "b c"), ("b", "d"), ("c", "d"), ("d", "")]), Vec::<String>::new());
    }

    #[test]
    fn messages_say_what_and_what_next() {
        let (_, problems) = graph(&[("a", "", "b@^2 c"), ("b", "1.4", "a")]);
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "`a` needs `b@^2`, but `b` is `1.4`; install a matching version",
                "`a` needs the skill `c`, which is not installed; install it",
                "skills depend on each other in a cycle: `a` → `b` → `a`; remove one of them from `metadata.requires`",
            ]
        );
    }

    #[test]
    fn needs_come_after_what_they_need() {
        let (graph, _) = graph(&[("a", "", "b c gone"), ("b", "", "d"), ("c", "", "d b"), ("d", "", "a")]);
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
        let skills: Vec<(&str, &str, &str)> =
            names.iter().zip(&lists).map(|(name, list)| (name.as_str(), "", list.as_str())).collect();
        let (graph, problems) = graph(&skills);
        assert_eq!(graph.needs(&names[0]).len(), COUNT - 1);
        assert_eq!(problems.len(), CIRCLES_MAX);
        assert!(problems.iter().all(|problem| problem.message.len() < 500));
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
            let skills: Vec<(&str, &str, &str)> =
                names.iter().zip(&lists).map(|(name, list)| (name.as_str(), "", list.as_str())).collect();
            let (graph, problems) = graph(&skills);
            for problem in &problems {
                let circle = circle(problem).unwrap();
                for (at, name) in circle.iter().enumerate() {
                    let next = &circle[(at + 1) % circle.len()];
                    prop_assert!(lists[graph.index[name.as_str()]].contains(next.as_str()));
                }
            }
            let needs: Vec<Vec<&str>> = names.iter().map(|name| graph.needs(name)).collect();
            for (name, order) in names.iter().zip(&needs) {
                prop_assert!(!order.contains(&name.as_str()));
                if problems.is_empty() {
                    for (at, needed) in order.iter().enumerate() {
                        let before = &order[..at];
                        prop_assert!(needs[graph.index[*needed]].iter().all(|other| before.contains(other)));
                    }
                }
            }
            // A skill that comes back to itself is on a circle; there is one exactly where a circle was reported.
            let comes_back = |at: usize| {
                needs[at].iter().chain([&names[at].as_str()]).any(|needed| {
                    lists[graph.index[*needed]].split(' ').any(|next| next == names[at])
                })
            };
            prop_assert_eq!((0..names.len()).any(comes_back), !problems.is_empty());
        }
    }
}
