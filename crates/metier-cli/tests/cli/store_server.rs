//! A git repository on a server at the loopback address: files and nothing more, or `git http-backend` as it was years ago, which hands
//! out nothing but what its references lead to.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// What kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Files,
    Backend,
}

/// The address of a server for what is below a directory; it goes with the process.
pub(crate) fn serve(root: &Path, kind: Kind) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let root = root.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = root.clone();
            // One that hangs up early is no matter.
            thread::spawn(move || answer(&stream, &root, kind));
        }
    });
    format!("http://{address}")
}

fn answer(stream: &TcpStream, root: &Path, kind: Kind) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let header =
        |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut stream = stream;
    if kind == Kind::Files {
        let file = fs::read(root.join(path.trim_start_matches('/')));
        let status = if file.is_ok() { "200 OK" } else { "404 Not Found" };
        let file = file.unwrap_or_default();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", file.len())?;
        return stream.write_all(&file);
    }
    let mut backend = Command::new("git");
    backend.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    backend.env("PATH_INFO", path).env("QUERY_STRING", query).env("REQUEST_METHOD", method);
    backend
        .env("CONTENT_LENGTH", length.to_string())
        .env("CONTENT_TYPE", header("content-type").unwrap_or(""));
    backend.env("HTTP_CONTENT_ENCODING", header("content-encoding").unwrap_or(""));
    let mut child = backend.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    // It may be done before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(&body);
    let mut said = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut said)?;
    child.wait()?;
    let is_refused = said.starts_with(b"Status: ");
    let status = if is_refused { "404 Not Found" } else { "200 OK" };
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n")?;
    stream.write_all(&said)
}

/// A repository, and what is done in it.
pub(crate) struct Repository(pub(crate) PathBuf);

impl Repository {
    pub(crate) fn new(path: PathBuf) -> Self {
        fs::create_dir_all(&path).unwrap();
        let repository = Self(path);
        repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        repository
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_with(args, b"")
    }

    /// With this at its standard input; what it says.
    pub(crate) fn git_with(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(&self.0).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Somebody")
                .env(format!("GIT_{who}_EMAIL"), "s@example.org");
            command.env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Everything that is there now; the commit.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["update-server-info"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }
}
