//! `metier serve --http` and the machine that it runs on: how many descriptors there are, and who else has an account.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::serve::{place, soon};
use crate::serve_http::Server;
use crate::support::{Place, skips_namespaces};

/// Connections never take the descriptors that the journal, skills and scripts need.
#[test]
fn fewer_connections_are_open_than_there_are_descriptors() {
    let place = place();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 200 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_metier"), "serve"]);
    command.args(["--root", "skills", "--http", "127.0.0.1:0"]).current_dir(place.path()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", fs::canonicalize(place.path()).unwrap().join("me"));
    let server = Server::listening(command);
    // More than may be open, and not more than the system lets wait.
    let held: Vec<TcpStream> = (0..150).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let open = || fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    assert!(soon(|| open() > 50), "{}", open());
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(open() < 100, "{}", open());
    drop(held);
    assert!(!server.session(&[]).is_empty());
}

/// What a server prints that listens on a machine with these accounts.
fn printed_among(place: &Place, accounts: &str, more: &[&str]) -> String {
    let accounts = place.write("accounts", accounts);
    let set_up = "mount -t tmpfs tmpfs /etc && cp \"$1\" /etc/passwd && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", set_up, "sh"]).arg(accounts);
    command.arg(env!("CARGO_BIN_EXE_metier")).args(["serve", "--root", "skills", "--http", "127.0.0.1:0"]);
    command.args(more).current_dir(place.path()).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", fs::canonicalize(place.path()).unwrap().join("me"));
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut printed = String::new();
    errors.read_line(&mut printed).unwrap();
    let address = printed.trim().strip_prefix("listening on http://").unwrap().strip_suffix("/mcp").unwrap();
    // The server answers only after it has printed everything.
    let server = Server { address: address.to_owned(), child };
    server.request("GET", "/mcp", &[], "");
    server.end();
    errors.read_to_string(&mut printed).unwrap();
    printed
}

/// Without a token every account of the machine can use the server.
#[test]
fn a_server_without_tokens_warns_where_others_have_an_account() {
    if skips_namespaces() {
        return;
    }
    let place = place();
    place.write("tokens", "the-only-one-of-the-tokens\n");
    let system = "root:x:0:0:root:/root:/bin/sh\n";
    let others = format!("{system}you:x:1001:1001::/home/you:/bin/sh\n");
    let warning = "warning: every user of this machine can use this server";
    for (accounts, more, is_warned) in [
        (others.as_str(), &[][..], true),
        (&others, &["--token-file", "tokens"], false),
        (system, &[], false),
    ] {
        let printed = printed_among(&place, accounts, more);
        assert_eq!(printed.contains(warning), is_warned, "{accounts} {more:?}: {printed}");
    }
}
