//! Progress: one line on the terminal about work that takes more than a second.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::output::Output;
use crate::table::{fit, one_line};

/// Work that takes less than this is not reported.
const FIRST: Duration = Duration::from_secs(1);

/// How often the line is updated.
const INTERVAL: Duration = Duration::from_millis(200);

/// Reports on the terminal what a command is doing, once that has taken a second. The line is on standard error and is
/// erased when this is dropped; with `--quiet`, or if standard error is not a terminal, there is none.
///
/// Drop it before anything is printed.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// How many items are done.
    done: AtomicU64,
}

#[derive(Default)]
struct State {
    text: String,
    is_over: bool,
}

/// Where the line goes and when.
struct Line<W> {
    writer: W,
    columns: usize,
    first: Duration,
    interval: Duration,
}

impl Progress {
    /// Starts to report, with a text such as `checking skills`.
    pub(crate) fn begin(output: &Output, text: &str) -> Self {
        let line =
            Line { writer: io::stderr(), columns: output.error_columns(), first: FIRST, interval: INTERVAL };
        let is_wanted = io::stderr().is_terminal() && !output.is_quiet();
        Self::new(text, is_wanted.then_some(line))
    }

    fn new<W: Write + Send + 'static>(text: &str, line: Option<Line<W>>) -> Self {
        let shared: Arc<Shared> = Arc::default();
        text.clone_into(&mut shared.state().text);
        let theirs = Arc::clone(&shared);
        Self { thread: line.map(|line| thread::spawn(move || line.show(&theirs))), shared }
    }

    /// Changes the text.
    pub(crate) fn say(&self, text: &str) {
        text.clone_into(&mut self.shared.state().text);
    }

    /// Counts one more item as done.
    pub(crate) fn count(&self) {
        self.add(1);
    }

    /// Counts more items as done.
    pub(crate) fn add(&self, items: u64) {
        self.shared.done.fetch_add(items, Ordering::Relaxed);
    }

    /// A writer that passes everything on and counts the lines.
    pub(crate) const fn counting_lines<W: Write>(&self, inner: W) -> CountingLines<'_, W> {
        CountingLines { progress: self, inner }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Line<W> {
    fn show(mut self, shared: &Shared) {
        let (mut wait, mut passed, mut shown) = (self.first, Duration::ZERO, String::new());
        loop {
            let (state, _) = shared
                .changed
                .wait_timeout_while(shared.state(), wait, |state| !state.is_over)
                .unwrap_or_else(PoisonError::into_inner);
            let text = if state.is_over { String::new() } else { one_line(&state.text) };
            let is_over = state.is_over;
            drop(state);
            passed += wait;
            wait = self.interval;
            let done = shared.done.load(Ordering::Relaxed);
            let count = if done == 0 { String::new() } else { format!("{done} done, ") };
            let line = if is_over { text } else { format!("{text}… {count}{} s", passed.as_secs()) };
            let line = fit(&line, self.columns.saturating_sub(1).max(10));
            if line != shown {
                // Failing to show progress does not matter.
                let _ = write!(self.writer, "\r\x1b[2K{line}").and_then(|()| self.writer.flush());
                shown = line;
            }
            if is_over {
                return;
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has nothing to return.
            let _ = thread.join();
        }
    }
}

/// Counts the lines that are written; see [`Progress::counting_lines`].
pub(crate) struct CountingLines<'a, W> {
    progress: &'a Progress,
    inner: W,
}

impl<W: Write> Write for CountingLines<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        let lines = bytes.iter().take(written).filter(|byte| **byte == b'\n').count();
        self.progress.add(u64::try_from(lines).unwrap_or(0));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Sends what is written, so that a test can wait for it.
    struct Screen(Sender<String>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn begin(text: &str, columns: usize, first: Duration) -> (Progress, Receiver<String>) {
        let (sender, screen) = channel();
        let line = Line { writer: Screen(sender), columns, first, interval: Duration::from_millis(1) };
        (Progress::new(text, Some(line)), screen)
    }

    /// What was written until it has this text.
    fn until(screen: &Receiver<String>, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            seen.push_str(&screen.recv().unwrap());
        }
        seen
    }

    #[test]
    fn a_line_shows_the_text_and_the_count_and_is_erased() {
        let (progress, screen) = begin("checking skills", 80, Duration::ZERO);
        until(&screen, "checking skills… 0 s");
        progress.say("checking\nmore");
        let mut lines = progress.counting_lines(Vec::new());
        lines.write_all(b"one\ntwo\n").unwrap();
        until(&screen, "checking more… 2 done, 0 s");
        drop(progress);
        let rest: String = screen.iter().collect();
        assert!(rest.ends_with("\r\u{1b}[2K"), "{rest:?}");
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let (progress, screen) = begin(&"long ".repeat(40), 20, Duration::ZERO);
        let seen = until(&screen, "…");
        assert_eq!(seen.trim_start_matches("\r\u{1b}[2K").chars().count(), 19, "{seen:?}");
        drop(progress);
    }

    #[test]
    fn short_work_prints_nothing() {
        let (progress, screen) = begin("checking skills", 80, Duration::from_hours(1));
        drop(progress);
        assert_eq!(screen.iter().collect::<String>(), "");
    }
}
