//! The socket between metier and its launcher: small messages, sometimes with file descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::Pid;

use crate::SandboxError;
use crate::plan::Reply;

/// The maximum length of a message. Longer data (the plan) goes through a file.
const MESSAGE: usize = 8 << 10;

/// A message with its descriptors.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
    /// The process that sent it, according to the kernel.
    pub(crate) sender: Option<Pid>,
}

/// Starts the launcher's program under the name that says what it is to do, with one end of a socket as its standard input.
/// The other end is returned; the kernel says who sends on it.
pub(crate) fn start(program: &Path, name: &str) -> Result<(Child, OwnedFd), SandboxError> {
    let failed = |step: &str, source: io::Error| SandboxError::Launch { step: step.to_owned(), source };
    let opened = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let opened = opened.and_then(|pair| set_socket_passcred(&pair.0, true).map(|()| pair));
    let (control, other) = opened.map_err(|error| failed("opening a socket", error.into()))?;
    let started = Command::new(program)
        .arg0(name)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(other))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = started.map_err(|error| failed(&format!("starting `{name}`"), error))?;
    Ok((child, control))
}

/// Sends one message.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors in one message"));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for one message; `None` once the other side is closed.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Option<Received>> {
    let mut bytes = vec![0; MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16), ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let mut is_reset = false;
    let length = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags) {
            Ok(message) => break message.bytes,
            Err(rustix::io::Errno::INTR) => {}
            // A reset by the other side is reported once, before the data that it sent earlier.
            Err(rustix::io::Errno::CONNRESET) if !is_reset => is_reset = true,
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    if length == 0 {
        return Ok(None);
    }
    bytes.truncate(length);
    let mut received = Received { bytes, descriptors: Vec::new(), sender: None };
    for message in ancillary.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(descriptors) => received.descriptors.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(credentials) => received.sender = Some(credentials.pid),
            _ => {}
        }
    }
    Ok(Some(received))
}

/// Sends a reply from the launcher. If metier is gone, the error is ignored.
pub(crate) fn reply(socket: impl AsFd, reply: &Reply, descriptors: &[BorrowedFd<'_>]) {
    if let Ok(bytes) = postcard::to_stdvec(reply) {
        let _ = send(socket, &bytes, descriptors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_arrives_though_the_sender_left_something_unread() {
        let (here, there) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        send(&here, b"end", &[]).unwrap();
        send(&there, b"ended", &[]).unwrap();
        drop(there);
        assert_eq!(receive(&here).unwrap().unwrap().bytes, b"ended");
        assert!(receive(&here).unwrap().is_none());
    }
}
