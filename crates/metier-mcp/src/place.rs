//! Where scripts work: the directory that was named, the client's root, the project that the server was started in, or an empty one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metier_sandbox::WorkDirectory;
use metier_session::tools::place;
use rmcp::service::{RequestContext, RoleServer};

use crate::connection::{McpConnection, is_modern};

/// How long a client has to name its roots.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a client's root, if it may be given to scripts.
pub type RootCheck = Arc<dyn Fn(&Path) -> Option<WorkDirectory> + Send + Sync>;

/// The directories that scripts may be given, in the order in which they are tried.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct WorkDirectories {
    /// The one that was named.
    pub named: Option<WorkDirectory>,
    /// What decides about the root of a client that has exactly one; without it, clients are not asked for roots. Only a client on the
    /// same machine, and of the same person, may name directories.
    pub root: Option<RootCheck>,
    /// The project that the server was started in.
    pub project: Option<WorkDirectory>,
}

impl WorkDirectories {
    /// Where scripts work, as far as that is known before a client is.
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

/// The first directory that there is; none where a script gets an empty one.
pub(crate) fn choose(work: &WorkDirectories, root: Option<WorkDirectory>) -> Option<WorkDirectory> {
    work.named.clone().or(root).or_else(|| work.project.clone())
}

/// Where a script ran, in words.
pub(crate) fn ran_in(work: Option<&WorkDirectory>) -> String {
    work.map_or_else(
        || {
            "an empty temporary directory, now removed; `metier serve --work DIR` gives scripts a directory"
                .to_owned()
        },
        |work| work.path().display().to_string(),
    )
}

/// The directory that a client works in.
#[derive(Debug, Default)]
pub(crate) enum Root {
    /// It has not been asked yet.
    #[default]
    Unknown,
    /// It has none, several, or one that scripts may not be given.
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

    /// Remembers what a client names. One that takes too long is asked again the next time.
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
    /// The directory that the client works in, if it has exactly one and scripts may be given it. It is asked until it
    /// answers.
    pub(crate) async fn root(&self, context: &RequestContext<RoleServer>) -> Option<WorkDirectory> {
        let check = Arc::clone(self.library.options.work.root.as_ref()?);
        let has_roots = context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        // From 2026-07-28 on clients are not asked back, and roots are deprecated.
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

/// What a client names as its root, where that is one directory.
#[expect(deprecated, reason = "clients that have roots still name them")]
async fn only_root(context: &RequestContext<RoleServer>) -> Option<PathBuf> {
    let named = context.peer.list_roots().await.ok()?;
    match &named.roots[..] {
        [root] => directory(&root.uri),
        _ => None,
    }
}

/// The directory that a root's address names.
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
