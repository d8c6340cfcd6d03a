//! The parts of this system that a script needs to run programs: programs and libraries, some files of /etc, some
//! devices.

use std::fs;
use std::path::{Path, PathBuf};

use crate::plan::{Bind, Kind, Mode, Raw};

/// What exists inside before anything of the profile.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) binds: Vec<Bind>,
    pub(super) links: Vec<(Raw, Raw)>,
    pub(super) files: Vec<(Raw, Vec<u8>)>,
}

const PROGRAMS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];

/// Files of /etc that programs read, without information about this machine or its users.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies",
    "/etc/debian_version", "/etc/fonts", "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/magic", "/etc/mime.types",
    "/etc/openssl", "/etc/os-release", "/etc/perl", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf", "/etc/protocols", "/etc/python3", "/etc/R", "/etc/services", "/etc/ssl/certs",
    "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/texmf", "/etc/timezone",
];

/// The same from the real /etc, for scripts without their own.
const SHARED_SETTINGS: &[&str] = &["/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd"];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

const LINKS: &[(&str, &str)] = &[
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

const FILES: &[(&str, &str)] = &[
    (
        "/etc/passwd",
        "root:x:0:0:root:/:/usr/sbin/nologin\n\
         skill:x:1000:1000:Skill:/tmp:/bin/sh\n\
         nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    ),
    ("/etc/group", "root:x:0:\nskill:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost sandbox.invalid\n::1 localhost\n"),
    ("/etc/host.conf", "multi on\n"),
    ("/etc/hostname", "sandbox.invalid\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    ),
    ("/etc/resolv.conf", "# there are no names to ask for here\n"),
];

/// The source of network names: the machine's own files, for scripts on its network.
const NAMES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// The paths of this system that every script can read: programs, libraries and their settings.
pub fn system_paths() -> Vec<PathBuf> {
    let all = PROGRAMS.iter().chain(SETTINGS).map(PathBuf::from);
    all.filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// The part of the system that a script may see.
pub(super) fn tree(mode: Mode, is_on_host_network: bool) -> Tree {
    let mut tree = Tree::default();
    for path in PROGRAMS.iter().chain(SETTINGS) {
        tree.show(Path::new(path), Kind::Read);
    }
    for path in DEVICES {
        tree.show(Path::new(path), Kind::Device);
    }
    if is_on_host_network && mode != Mode::Full {
        // It may be a link to a file that a service maintains elsewhere.
        if let Ok(real) = Path::new(NAMES[0]).canonicalize() {
            tree.show(&real, Kind::Read);
        }
    }
    if mode == Mode::Full {
        let raw = |text: &str| Raw::from(Path::new(text));
        tree.links.extend(LINKS.iter().map(|(link, target)| (raw(link), raw(target))));
        for (path, text) in FILES {
            let real = (is_on_host_network && NAMES.contains(path)).then(|| fs::read(path).ok()).flatten();
            tree.files.push((raw(path), real.unwrap_or_else(|| text.as_bytes().to_vec())));
        }
    } else {
        for path in SHARED_SETTINGS {
            tree.show(Path::new(path), Kind::Read);
        }
    }
    tree
}

impl Tree {
    /// Adds a path as the system has it: a link stays a link, and a missing path is left out.
    fn show(&mut self, path: &Path, kind: Kind) {
        if let Ok(target) = fs::read_link(path) {
            self.links.push((path.into(), target.into()));
        } else if path.symlink_metadata().is_ok() {
            self.binds.push(Bind {
                path: path.into(),
                identity: None,
                kind,
                owner: None,
                aliases: Vec::new(),
            });
        }
    }
}
