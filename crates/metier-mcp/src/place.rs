//! The working directory of scripts: the named directory, the client's root, the project that the server was started
//! in, or an empty one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metier_sandbox::WorkDirectory;
use metier_session::tools::place;
use rmcp::service::{RequestContext, RoleServer};

use crate::connection::{McpConnection, is_modern};

/// The timeout for a client to return its roots.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a client's root, if scripts may use it.
pub type RootCheck = Arc<dyn Fn(&Path) -> Option<WorkDirectory> + Send + Sync>;

/// The possible working directories of scripts, in the order in which they are tried.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct WorkDirectories {
    /// The named directory.
    pub named: Option<WorkDirectory>,
    /// Decides about the root of a client that has exactly one; without it, clients are not asked for roots. Only a
    /// client of the same user on the same machine may name directories.
    pub root: Option<RootCheck>,
    /// The project that the server was started in.
    pub project: Option<WorkDirectory>,
}

impl WorkDirectories {
    /// The working directory of scripts, in words, before the client is known.
    pub(crate) fn said(&self) -> String {
        match (&self.named, &self.root, &self.project) {
            (Some(work), ..) | (None, None, Some(work)) => place(Some(work)),
            (None, Some(_), Some(work)) => {
                format!(
                    "your root directory if you have exactly one, otherwise in {}; they may change files there",
                    work.path().display()
                )
            }
            (None, Some(_), None) => {
                "your root directory if you have exactly one, otherwise in an empty temporary directory"
                    .to_owned()
            }
            (None, None, None) => place(None),
        }
    }
}

impl std::fmt::Debug for WorkDirectories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { named, root, project } = self;
        let path = |work: &Option<WorkDirectory>| work.as_ref().map(|work| work.path().to_owned());
        f.debug_struct("Work")
            .field("named", &path(named))
            .field("root", &root.is_some())
            .field("project", &path(project))
            .finish()
    }
}

/// The first available directory; `None` if a script gets an empty one.
pub(crate) fn choose(work: &WorkDirectories, root: Option<WorkDirectory>) -> Option<WorkDirectory> {
    work.named.clone().or(root).or_else(|| work.project.clone())
}

/// The directory that a script ran in, in words.
pub(crate) fn ran_in(work: Option<&WorkDirectory>) -> String {
    work.map_or_else(
        || {
            "an empty temporary directory, now removed; `metier serve --work DIR` lets scripts use a directory"
                .to_owned()
        },
        |work| work.path().display().to_string(),
    )
}

/// The client's working directory.
#[derive(Debug, Default)]
pub(crate) enum Root {
    /// The client has not been asked yet.
    #[default]
    Unknown,
    /// The client has none, several, or one that scripts may not use.
    None,
    Directory(WorkDirectory),
}

impl Root {
    fn directory(&self) -> Option<WorkDirectory> {
        match self {
            Self::Directory(work) => Some(work.clone()),
            Self::Unknown | Self::None => None,
        }
    }

    /// Stores the client's answer. A client that takes too long is asked again later.
    async fn learn<C: Future<Output = Option<Self>>>(
        &mut self,
        patience: Duration,
        named: impl Future<Output = Option<PathBuf>>,
        check: impl FnOnce(Option<PathBuf>) -> C,
    ) {
        let Ok(named) = tokio::time::timeout(patience, named).await else { return };
        if let Some(root) = check(named).await {
            *self = root;
        }
    }
}

impl McpConnection {
    /// The client's working directory, if it has exactly one and scripts may use it. The client is asked until it
    /// answers.
    pub(crate) async fn root(&self, context: &RequestContext<RoleServer>) -> Option<WorkDirectory> {
        let check = Arc::clone(self.library.options.work.root.as_ref()?);
        let has_roots = context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        // From 2026-07-28 on, servers send no requests to clients, and roots are deprecated.
        if is_modern(context) || !has_roots {
            return None;
        }
        let mut known = self.root.lock().await;
        if matches!(*known, Root::Unknown) {
            let check = |named: Option<PathBuf>| async {
                let checked =
                    self.library.blocking(move || named.and_then(|root| check(&root))).await.ok()?;
                Some(checked.map_or(Root::None, Root::Directory))
            };
            known.learn(PATIENCE, only_root(context), check).await;
        }
        known.directory()
    }
}

/// The client's root, if it has exactly one.
#[expect(deprecated, reason = "clients with roots still send them")]
async fn only_root(context: &RequestContext<RoleServer>) -> Option<PathBuf> {
    let named = context.peer.list_roots().await.ok()?;
    match &named.roots[..] {
        [root] => directory(&root.uri),
        _ => None,
    }
}

/// The directory of a root's URI.
fn directory(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = crate::uri::decode(path)?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use metier_sandbox::ReservedPaths;

    use super::*;

    #[test]
    fn a_root_is_a_directory_of_this_machine() {
        for (uri, path) in [
            ("file:///home/me/app", Some("/home/me/app")),
            ("file://localhost/a%20b", Some("/a b")),
            ("file://server/share", None),
            ("file:relative", None),
            ("https://example.org/", None),
            ("file:///a%zz", None),
        ] {
            assert_eq!(directory(uri), path.map(PathBuf::from), "{uri}");
        }
    }

    #[tokio::test]
    async fn a_client_that_is_slow_to_name_its_root_is_asked_again() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        let open = async |named: Option<PathBuf>| {
            let open = |path| WorkDirectory::open(path, &ReservedPaths::default()).unwrap();
            Some(named.map_or(Root::None, |path| Root::Directory(open(path))))
        };
        let mut root = Root::default();
        root.learn(Duration::ZERO, std::future::pending(), open).await;
        assert!(matches!(root, Root::Unknown), "{root:?}");
        root.learn(PATIENCE, std::future::ready(Some(path.clone())), open).await;
        assert_eq!(root.directory().unwrap().path(), path);
        let mut root = Root::default();
        root.learn(PATIENCE, std::future::ready(None), open).await;
        assert!(matches!(root, Root::None), "{root:?}");
    }

    #[test]
    fn the_first_directory_that_there_is_is_taken() {
        let base = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let path = base.path().canonicalize().unwrap().join(name);
            std::fs::create_dir_all(&path).unwrap();
            WorkDirectory::open(path, &ReservedPaths::default()).unwrap()
        };
        let mut work = WorkDirectories { project: Some(open("project")), ..WorkDirectories::default() };
        let chosen = |work: &WorkDirectories, root: Option<WorkDirectory>| {
            choose(work, root).map(|work| work.path().file_name().unwrap().to_owned())
        };
        assert_eq!(chosen(&work, None).unwrap(), "project");
        assert_eq!(chosen(&work, Some(open("root"))).unwrap(), "root");
        work.named = Some(open("named"));
        assert_eq!(chosen(&work, Some(open("root"))).unwrap(), "named");
        assert_eq!(chosen(&WorkDirectories::default(), None), None);
    }
}
