//! A terminal for tests: captures what a user sees who runs a command.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, ExitStatus, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Runs a command with both streams at a terminal with this many columns, without colours and with empty standard input.
/// Returns the screen's content and the exit status.
pub(crate) fn at_terminal(command: Command, columns: usize) -> (String, ExitStatus) {
    watched(command, columns, |_| ())
}

/// Like [`at_terminal`]; `watch` gets everything that was shown so far, each time there is more.
pub(crate) fn watched(
    mut command: Command,
    columns: usize,
    watch: impl FnMut(&str) + Send + 'static,
) -> (String, ExitStatus) {
    command.env("NO_COLOR", "1");
    shown(command, columns, watch)
}

/// Like [`at_terminal`], with the escape sequences that a terminal with colours gets.
pub(crate) fn at_colour_terminal(command: Command, columns: usize) -> (String, ExitStatus) {
    shown(command, columns, |_| ())
}

fn shown(
    mut command: Command,
    columns: usize,
    mut watch: impl FnMut(&str) + Send + 'static,
) -> (String, ExitStatus) {
    let mut terminal = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let other_end = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    command.env("COLUMNS", columns.to_string());
    command.stdin(Stdio::null()).stdout(other_end.try_clone().unwrap()).stderr(other_end);
    // A terminal buffers little, so its output must be read all the time.
    let reading = std::thread::spawn(move || {
        let (mut seen, mut part) = (Vec::new(), [0; 4_096]);
        // Reading fails once the other end is closed.
        while let Ok(count @ 1..) = terminal.read(&mut part) {
            seen.extend_from_slice(&part[..count]);
            watch(&String::from_utf8_lossy(&seen));
        }
        seen
    });
    let status = command.status().unwrap();
    drop(command);
    let seen = reading.join().unwrap();
    (String::from_utf8_lossy(&seen).replace("\r\n", "\n"), status)
}
