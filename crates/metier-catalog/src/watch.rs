//! Watches roots for changes and produces new snapshots.
//!
//! The content of file events is ignored. Any event triggers a scan, and the scan finds out what changed. So
//! nothing is lost if the system drops events or names the wrong file.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::{Catalog, CatalogChanges, CatalogError, Entry, Scanner};

/// A new snapshot, and its differences from the previous one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CatalogUpdate {
    /// The snapshot.
    pub catalog: Catalog,
    /// What changed.
    pub changes: CatalogChanges,
}

/// The options of a watcher.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WatchOptions {
    /// How long to wait after a change for further changes before scanning. While changes continue, a scan
    /// starts after ten times this duration.
    pub debounce: Duration,
    /// How often to scan without an event, for changes that cause no events: network file systems, and more
    /// directories than the system can watch.
    pub interval: Option<Duration>,
    /// The clock that sets file times.
    pub clock: fn() -> SystemTime,
}

impl WatchOptions {
    /// A quarter of a second of debouncing, and no scans without events.
    pub fn new(clock: fn() -> SystemTime) -> Self {
        Self { debounce: Duration::from_millis(250), interval: None, clock }
    }
}

/// Watches roots until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    signals: mpsc::Sender<Signal>,
    thread: Option<JoinHandle<Scanner>>,
    unwatched: Vec<PathBuf>,
}

enum Signal {
    Event,
    Stop,
}

impl Watcher {
    /// Scans once, and again after every change. `on_change` is called on the watcher's thread with each
    /// snapshot that differs from the previous one.
    pub fn start(
        mut scanner: Scanner,
        options: WatchOptions,
        mut on_change: impl FnMut(CatalogUpdate) + Send + 'static,
    ) -> Result<(Catalog, Self), CatalogError> {
        let (signals, received) = mpsc::channel();
        let events = signals.clone();
        let mut watch = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is not a change. An error means that events were lost.
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                // The receiver is gone once the watcher is dropped.
                let _ = events.send(Signal::Event);
            }
        })?;
        // Watching starts before the scan, so that a change in between causes an event.
        let mut unwatched = watch_roots(&mut watch, &scanner);
        let first = scanner.scan((options.clock)());
        unwatched.extend(watch_links(&mut watch, &first));
        let mut catalog = first.clone();
        let thread = thread::Builder::new().name("metier-watch".to_owned()).spawn(move || {
            while wait(&received, options) {
                // Roots may have been created since.
                watch_roots(&mut watch, &scanner);
                let next = scanner.scan((options.clock)());
                watch_links(&mut watch, &next);
                let changes = next.changes_since(&catalog);
                if !changes.is_empty() {
                    catalog = next.clone();
                    on_change(CatalogUpdate { catalog: next, changes });
                }
            }
            scanner
        });
        let thread = thread.map_err(|source| CatalogError::Watch { source: notify::Error::io(source) })?;
        Ok((first, Self { signals, thread: Some(thread), unwatched }))
    }

    /// Directories that could not be watched at the start. Changes there are only found by
    /// [`WatchOptions::interval`].
    pub fn unwatched(&self) -> &[PathBuf] {
        &self.unwatched
    }

    /// Stops watching and returns the scanner with everything it has read.
    pub fn stop(mut self) -> Option<Scanner> {
        self.end()
    }

    fn end(&mut self) -> Option<Scanner> {
        // The thread may have ended already.
        let _ = self.signals.send(Signal::Stop);
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until a scan is due. Returns `false` to stop.
fn wait(received: &Receiver<Signal>, options: WatchOptions) -> bool {
    let first = match options.interval {
        Some(interval) => received.recv_timeout(interval),
        None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    match first {
        Ok(Signal::Event) => {}
        Err(RecvTimeoutError::Timeout) => return true,
        Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
    }
    #[expect(clippy::disallowed_methods, reason = "only this thread depends on how long it waits")]
    let latest = Instant::now() + options.debounce * 10;
    loop {
        #[expect(clippy::disallowed_methods, reason = "as above")]
        let left = latest.saturating_duration_since(Instant::now());
        match received.recv_timeout(options.debounce.min(left)) {
            Ok(Signal::Event) => {}
            Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => return true,
        }
        if left.is_zero() {
            return true;
        }
    }
}

/// Watches every root, or its nearest existing parent if it is missing.
fn watch_roots(watch: &mut RecommendedWatcher, scanner: &Scanner) -> Vec<PathBuf> {
    let mut unwatched = Vec::new();
    for root in &scanner.options().roots {
        // A link on the path of a root may change its target.
        for link in root.path.ancestors().filter(|path| path.is_symlink()) {
            if let Some(parent) = link.parent() {
                let _ = watch.watch(parent, RecursiveMode::NonRecursive);
            }
        }
        let failed = if root.path.is_dir() {
            watch.watch(&root.path, RecursiveMode::Recursive).is_err()
        } else {
            let above = root.path.ancestors().find(|path| path.is_dir());
            above.is_some_and(|above| watch.watch(above, RecursiveMode::NonRecursive).is_err())
        };
        if failed {
            unwatched.push(root.path.clone());
        }
    }
    unwatched
}

/// Watches the targets of links in the roots.
fn watch_links(watch: &mut RecommendedWatcher, catalog: &Catalog) -> Vec<PathBuf> {
    let places = catalog.all().iter().flat_map(Entry::places);
    let targets = places.filter_map(|place| place.target.as_deref());
    let failed = targets.filter(|target| watch.watch(target, RecursiveMode::NonRecursive).is_err());
    failed.map(Path::to_owned).collect()
}
