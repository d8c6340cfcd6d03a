//! A server that is started and talked to on its standard streams, one message per line.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metier_sandbox::{Local, Program, ProgramPipes, SupervisedProgram};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::wire::Inbox;
use super::{LONGEST, UpstreamError};

/// How many messages may wait until the server reads them. After that it is considered to hang.
const QUEUE: usize = 1_024;

/// How much of its standard error is kept, for messages.
const ERRORS: usize = 2 << 10;

/// How long it may take to end by itself when its input ends.
const GRACE: Duration = Duration::from_secs(2);

/// The sending side. When it is dropped, the server's input ends, and then its whole process tree.
pub(super) struct ProgramPeer(mpsc::Sender<Vec<u8>>);

impl ProgramPeer {
    /// Starts the program. Its messages go to the inbox.
    pub(super) async fn start(
        local: &Local,
        program: &Program,
        inbox: &Arc<Inbox>,
    ) -> Result<Self, UpstreamError> {
        let (local, program) = (local.clone(), program.clone());
        let started = tokio::task::spawn_blocking(move || local.start_piped(&program)).await;
        let (running, pipes) =
            started.map_err(UpstreamError::unreachable)?.map_err(UpstreamError::unreachable)?;
        let ProgramPipes { input, output, errors, .. } = pipes;
        let opened = || -> io::Result<_> {
            let input = pipe::Sender::from_owned_fd(OwnedFd::from(input))?;
            let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
            Ok((input, output, pipe::Receiver::from_owned_fd(OwnedFd::from(errors))?))
        };
        let (input, output, errors) = opened().map_err(UpstreamError::unreachable)?;
        let (messages, queue) = mpsc::channel(QUEUE);
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let reading = Arc::clone(inbox);
        let kept = Arc::clone(&tail);
        let telling = tokio::spawn(keep_tail(errors, kept));
        tokio::spawn(write(input, queue, Arc::clone(inbox)));
        tokio::spawn(async move {
            let reason = read(output, &reading).await;
            // What it printed last says more than that it ended.
            let reason = if matches!(reason, UpstreamError::Ended { .. }) {
                let _ = tokio::time::timeout(GRACE, telling).await;
                UpstreamError::ended(last_words(&tail))
            } else {
                reason
            };
            reading.end(reason);
        });
        let ended = inbox.ended.clone();
        tokio::spawn(async move {
            ended.cancelled().await;
            stop(running).await;
        });
        Ok(Self(messages))
    }

    pub(super) fn send(&self, message: &Value) -> Result<(), UpstreamError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.0.try_send(line).map_err(|_| UpstreamError::ended("it does not read its input"))
    }
}

/// Ends the process tree: by itself if it wants to, else by force.
async fn stop(mut running: SupervisedProgram) {
    // Its input has ended, or it is misbehaving. Waiting happens on a thread that may block.
    let stopped = tokio::task::spawn_blocking(move || {
        if let Ok(signals) = running.signals() {
            let ending = std::thread::spawn(move || {
                std::thread::park_timeout(GRACE);
                let _ = signals.send(SIGKILL);
            });
            let _ = running.wait();
            ending.thread().unpark();
        }
        // Whatever it started ends with it.
        running.end();
    });
    let _ = stopped.await;
}

const SIGKILL: u8 = 9;

async fn write(mut input: pipe::Sender, mut queue: mpsc::Receiver<Vec<u8>>, inbox: Arc<Inbox>) {
    loop {
        let line = tokio::select! {
            biased;
            () = inbox.ended.cancelled() => return,
            line = queue.recv() => line,
        };
        let Some(line) = line else { return };
        tokio::select! {
            () = inbox.ended.cancelled() => return,
            written = input.write_all(&line) => if written.is_err() {
                // Its end is noticed where it is read from.
                return;
            },
        }
    }
}

/// Reads messages until the end; returns why there are no more.
async fn read(output: pipe::Receiver, inbox: &Inbox) -> UpstreamError {
    let mut output = BufReader::with_capacity(64 << 10, output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut output).take((LONGEST + 1) as u64);
        let read = tokio::select! {
            () = inbox.ended.cancelled() => return inbox.why(),
            read = limited.read_until(b'\n', &mut line) => read,
        };
        match read {
            Ok(0) => return UpstreamError::ended("it closed its output"),
            Err(error) => return UpstreamError::ended(error.to_string()),
            Ok(_) if line.len() > LONGEST => return UpstreamError::TooLong { most: LONGEST },
            Ok(_) => {}
        }
        // Programs print other things on their output as well.
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        if let Err(reason) = inbox.take(message, None) {
            return reason;
        }
    }
}

async fn keep_tail(mut errors: pipe::Receiver, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut bytes = vec![0; 4 << 10];
    while let Ok(count @ 1..) = errors.read(&mut bytes).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&bytes[..count]);
        let over = tail.len().saturating_sub(ERRORS);
        tail.drain(..over);
    }
}

/// The last line that it printed on standard error.
fn last_words(tail: &Mutex<VecDeque<u8>>) -> String {
    let bytes: Vec<u8> = tail.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    match line {
        Some(line) => metier_skill::visible_name(line.trim()).chars().take(300).collect(),
        None => "it printed nothing on standard error".to_owned(),
    }
}
