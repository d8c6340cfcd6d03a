//! Reads the two output streams of a program, and keeps them up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::mem::take;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};

use crate::executor::{CapturedOutput, Sink, Stream};

/// Both streams.
#[derive(Debug)]
pub(crate) struct Capture {
    pipes: [Pipe; 2],
    most: usize,
}

#[derive(Debug)]
struct Pipe {
    end: Option<File>,
    captured: CapturedOutput,
    stream: Stream,
}

impl Capture {
    /// Reads from these pipes, at most this many bytes of each.
    pub(crate) fn new(output: OwnedFd, errors: OwnedFd, most: u64) -> io::Result<Self> {
        let pipe = |end: OwnedFd, stream| -> io::Result<Pipe> {
            rustix::io::ioctl_fionbio(&end, true)?;
            Ok(Pipe { end: Some(end.into()), captured: CapturedOutput::default(), stream })
        };
        let pipes = [pipe(output, Stream::Output)?, pipe(errors, Stream::Errors)?];
        Ok(Self { pipes, most: usize::try_from(most).unwrap_or(usize::MAX) })
    }

    /// The descriptors to poll.
    pub(crate) fn ends(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.pipes.iter().filter_map(|pipe| pipe.end.as_ref()).map(|end| PollFd::new(end, PollFlags::IN))
    }

    /// Whether both streams have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.end.is_none())
    }

    /// Whether there was more output than was kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.pipes.iter().any(|pipe| pipe.captured.cut)
    }

    /// Reads the available output; returns whether there was any.
    pub(crate) fn read_once(&mut self, sink: &mut dyn Sink) -> bool {
        let mut buffer = [0; 16 << 10];
        let mut any = false;
        for pipe in &mut self.pipes {
            let Some(end) = &mut pipe.end else { continue };
            match end.read(&mut buffer) {
                Ok(0) => pipe.end = None,
                Ok(length) => {
                    any = true;
                    let room = self.most - pipe.captured.bytes.len();
                    let kept = &buffer[..length.min(room)];
                    pipe.captured.cut |= length > room;
                    pipe.captured.bytes.extend_from_slice(kept);
                    if !kept.is_empty() {
                        sink.take(pipe.stream, kept);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => any = true,
                Err(_) => pipe.end = None,
            }
        }
        any
    }

    /// Reads the rest after the program has ended.
    pub(crate) fn drain(&mut self, sink: &mut dyn Sink) {
        while !self.is_done() && !self.is_cut() && self.read_once(sink) {}
    }

    /// The kept bytes: standard output, then standard error.
    pub(crate) fn take(&mut self) -> (CapturedOutput, CapturedOutput) {
        let [output, errors] = &mut self.pipes;
        (take(&mut output.captured), take(&mut errors.captured))
    }
}
