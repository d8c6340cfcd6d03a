//! What a script is given, and what comes back: arguments, environment, input, results, how it ended.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use metier_sandbox::{
    Ending, Executor as _, Job, Limit, Network, PathSample, PinnedPath, Sink, Stream, TouchedFiles,
};

use crate::{common, text};

#[test]
fn arguments_arrive_unchanged() {
    let every_byte: Vec<u8> = (1..=255).collect();
    let long = vec![b'x'; 100_000];
    let arguments: &[&[u8]] = &[
        b"",
        b" ",
        b"two words",
        b"'",
        b"\"",
        b"$HOME `id` $(id) \\ * ? ~",
        b"line\nbreak\r\n\ttab",
        b"--",
        b"-n",
        b"\xff\xfe not text",
        "grüße 日本".as_bytes(),
        &every_byte,
        &long,
    ];
    let work = common::work();
    let mut given: Vec<OsString> = vec!["%s\\0".into()];
    given.extend(arguments.iter().map(|one| OsString::from_vec(one.to_vec())));
    let outcome = common::run_job(&Job::new(common::profile(work.path()), "/usr/bin/printf", given));
    let mut arrived: Vec<&[u8]> = outcome.output.bytes.split(|byte| *byte == 0).collect();
    assert_eq!(arrived.pop(), Some(&b""[..]));
    assert_eq!(arrived, arguments);
}

#[test]
fn environment_is_that_of_the_profile() {
    let work = common::work();
    let mut profile = common::profile(work.path());
    let more: &[(&[u8], &[u8])] =
        &[(b"EMPTY", b""), (b"BLANKS", b" a b\nc=d "), (b"BYTES", b"\xff\xfe"), (b"\xfe", b"odd name")];
    for (name, value) in more {
        profile.environment.insert(OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec()));
    }
    let mut expected: Vec<Vec<u8>> =
        profile.environment.iter().map(|(n, v)| [n.as_bytes(), v.as_bytes()].join(&b'=')).collect();
    let outcome = common::run(profile, "/usr/bin/env", &["-0"]);
    let mut found: Vec<Vec<u8>> = outcome.output.bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    assert_eq!(found.pop(), Some(Vec::new()));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn input_arrives_whole() {
    let work = common::work();
    for length in [1, 4096, 65_536, 65_537, 1 << 20] {
        let mut job = Job::new(common::profile(work.path()), "cat", Vec::new());
        job.input = (0..length).map(|n: u32| n.to_le_bytes()[n as usize % 4]).collect();
        let outcome = common::run_job(&job);
        assert_eq!(outcome.ending, Ending::Exited(0));
        assert!(outcome.output.bytes == job.input, "{} of {length} bytes", outcome.output.bytes.len());
    }
}

#[test]
fn input_can_be_opened_by_name() {
    let work = common::work();
    let mut job = Job::new(common::profile(work.path()), "cat", vec!["/dev/stdin".into()]);
    job.input = b"by name".to_vec();
    assert_eq!(text(&common::run_job(&job).output.bytes), "by name");
}

#[test]
fn input_that_is_not_given_is_at_its_end() {
    let work = common::work();
    let outcome = common::sh(common::profile(work.path()), "wc -c; read -r x || echo end; wc -c </dev/stdin");
    assert_eq!(text(&outcome.output.bytes), "0\nend\n0\n");
    assert_eq!(outcome.ending, Ending::Exited(0));
}

#[test]
fn input_need_not_be_read() {
    let work = common::work();
    for script in ["exit 7", "head -c 1 >/dev/null; exit 7", "exec <&-; exit 7"] {
        let mut job = Job::new(common::profile(work.path()), "sh", vec!["-c".into(), script.into()]);
        job.input = vec![b'x'; 1 << 20];
        assert_eq!(common::run_job(&job).ending, Ending::Exited(7), "{script}");
    }
}

#[test]
fn output_comes_while_it_runs_and_whole_afterwards() {
    struct Taken(Vec<(Stream, Vec<u8>)>);
    impl Sink for Taken {
        fn take(&mut self, stream: Stream, bytes: &[u8]) {
            self.0.push((stream, bytes.to_vec()));
        }
    }
    let work = common::work();
    let script = "head -c 300000 /dev/zero; printf 'message\\n' >&2; printf end";
    let job = Job::new(common::profile(work.path()), "sh", vec!["-c".into(), script.into()]);
    let mut taken = Taken(Vec::new());
    let outcome = metier_sandbox::Executor::run(&common::local(), &job, &mut taken).unwrap();
    for (stream, captured) in [(Stream::Output, &outcome.output), (Stream::Errors, &outcome.errors)] {
        let of_stream = taken.0.iter().filter(|(one, _)| *one == stream);
        let joined: Vec<u8> = of_stream.flat_map(|(_, bytes)| bytes.clone()).collect();
        assert!(joined == captured.bytes && !captured.cut);
    }
    assert_eq!((outcome.output.bytes.len(), outcome.errors.bytes.as_slice()), (300_003, &b"message\n"[..]));
}

/// The code by which a shell says that its child was ended because its file was too large: `SIGXFSZ`.
const FILE_TOO_LARGE: i32 = 153;

#[test]
fn exit_codes() {
    let work = common::work();
    for code in 0..=255 {
        let outcome = common::sh(common::profile(work.path()), &format!("exit {code}"));
        let expected = if code == FILE_TOO_LARGE { Ending::Limit(Limit::File) } else { Ending::Exited(code) };
        assert_eq!(outcome.ending, expected);
    }
}

#[test]
fn signals() {
    let work = common::work();
    for (name, number) in
        [("HUP", 1), ("INT", 2), ("ABRT", 6), ("KILL", 9), ("SEGV", 11), ("PIPE", 13), ("TERM", 15)]
    {
        let outcome = common::sh(common::profile(work.path()), &format!("kill -{name} $$; sleep 60"));
        assert_eq!(outcome.ending, Ending::Killed(number), "{name}");
    }
}

#[test]
fn a_fault_is_a_signal() {
    let work = common::work();
    let fault = "import ctypes; ctypes.string_at(0)";
    let outcome = common::run(common::profile(work.path()), "/usr/bin/python3", &["-c", fault]);
    assert_eq!(outcome.ending, Ending::Killed(11));
}

#[test]
fn results_are_the_owners() {
    let work = common::work();
    let mut owners = vec![work.path().metadata().unwrap().uid()];
    if common::is_root() {
        owners.push(common::ORDINARY);
    }
    for owner in owners {
        let place = work.path().join(owner.to_string());
        fs::create_dir(&place).unwrap();
        std::os::unix::fs::chown(&place, Some(owner), Some(owner)).unwrap();
        let script =
            "stat -c %U .; mkdir -p new/deeper; echo result >new/deeper/file; ln -s file new/deeper/link";
        let outcome = common::sh(common::profile(&place), script);
        assert_eq!((outcome.ending, text(&outcome.output.bytes)), (Ending::Exited(0), "skill\n".into()));
        for made in ["new", "new/deeper", "new/deeper/file", "new/deeper/link"] {
            let found = place.join(made).symlink_metadata().unwrap();
            assert_eq!((found.uid(), found.gid()), (owner, owner), "{made}");
        }
        assert_eq!(fs::read_to_string(place.join("new/deeper/file")).unwrap(), "result\n");
    }
}

#[test]
fn the_skill_can_be_read_and_not_changed() {
    let (work, skill) = (common::work(), common::work());
    fs::create_dir(skill.path().join("scripts")).unwrap();
    fs::write(
        skill.path().join("scripts/tool.sh"),
        "echo \"tool of ${0%/*}: $(cat \"$METIER_SKILL_DIR/data\")\"",
    )
    .unwrap();
    fs::write(skill.path().join("data"), "data").unwrap();
    let mut profile = common::profile(work.path());
    profile.add_skill(PinnedPath::pin(skill.path()).unwrap());
    let script = "cd \"$METIER_SKILL_DIR\" && sh scripts/tool.sh
        echo x >new; echo x >>data; rm data; ls \"$CLAUDE_SKILL_DIR\"";
    let outcome = common::sh(profile, script);
    assert_eq!(text(&outcome.output.bytes), "tool of scripts: data\ndata\nscripts\n");
    assert_eq!(text(&outcome.errors.bytes).matches("Read-only file system").count(), 3);
    assert_eq!(fs::read(skill.path().join("data")).unwrap(), b"data");
}

#[test]
fn a_server_on_the_loopback_is_the_scripts_alone() {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let script = format!(
        "import socket\n\
         try: socket.create_connection(('127.0.0.1', {port}), 5)\n\
         except OSError as error: print(type(error).__name__)\n\
         server = socket.create_server(('127.0.0.1', {port}))\n\
         client = socket.create_connection(('127.0.0.1', {port}), 5)\n\
         server.accept()[0].send(b'mine')\n\
         print(client.recv(9).decode())"
    );
    let work = common::work();
    let outcome = common::run(common::profile(work.path()), "/usr/bin/python3", &["-c", &script]);
    assert_eq!(
        text(&outcome.output.bytes),
        "ConnectionRefusedError\nmine\n",
        "{}",
        text(&outcome.errors.bytes)
    );
}

#[test]
fn without_a_network_there_are_no_sockets_for_one() {
    let work = common::work();
    let mut profile = common::profile(work.path());
    profile.network = Network::None;
    let script = "import socket; socket.socketpair(); print('pair'); socket.socket()";
    let outcome = common::run(profile, "/usr/bin/python3", &["-c", script]);
    assert_eq!((text(&outcome.output.bytes), outcome.ending), ("pair\n".into(), Ending::Exited(1)));
    assert!(text(&outcome.errors.bytes).contains("Operation not permitted"));
}

#[test]
fn touched_files_are_observed_unless_the_host_does_not_want_it() {
    let work = common::work();
    let job = Job::new(common::profile(work.path()), "touch", vec!["new".into()]);
    let observed = common::local().run(&job, &mut ()).unwrap().touched.unwrap();
    assert_eq!(observed.created.first, ["new"].map(std::path::PathBuf::from));
    let outcome = common::local().without_touched_files().run(&job, &mut ()).unwrap();
    assert_eq!(outcome.touched, None);
}

/// A script that closes a directory after it wrote to it hides nothing, and nothing is taken for deleted.
#[test]
fn what_a_script_did_in_a_directory_that_it_then_closed_is_recorded() {
    let script = "echo new > sub/payload.sh; echo more >> sub/conf; mkdir d n; echo x > d/more; echo x > n/inner; \
                  echo new > top.sh; chmod 333 sub n .";
    let touched = closed(script, 0o333);
    assert_eq!(names(&touched.created), ["d/more", "n/inner", "sub/payload.sh", "top.sh"]);
    assert_eq!((names(&touched.changed), names(&touched.deleted)), (vec!["sub/conf"], Vec::new()));
    // Not even the owner can look at what is in this one, and says so.
    let touched = closed("echo more >> sub/conf; echo new > sub/payload.sh; chmod 000 sub", 0o000);
    assert_eq!(names(&touched.deleted), Vec::<&str>::new());
    assert_eq!(names(&touched.changed), ["sub/conf"]);
    assert_eq!(names(&touched.created), ["sub/payload.sh"]);
    assert!(touched.incomplete || common::is_root());
    // Compared as a whole, since it is another directory by now.
    let touched = closed("mv sub s; mv s sub; chmod 000 sub", 0o000);
    assert_eq!(names(&touched.deleted), Vec::<&str>::new());
    assert!(touched.incomplete || common::is_root());
}

/// What is found of a script, after which `sub` has these permissions.
fn closed(script: &str, mode: u32) -> TouchedFiles {
    let work = common::work();
    let at = |name: &str| work.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("sub/conf"), "before").unwrap();
    let outcome = common::sh(common::profile(work.path()), script);
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", text(&outcome.errors.bytes));
    assert_eq!(fs::symlink_metadata(at("sub")).unwrap().mode() & 0o777, mode, "it stays closed");
    for name in ["", "sub", "n"] {
        let _ = fs::set_permissions(at(name), fs::Permissions::from_mode(0o755));
    }
    outcome.touched.unwrap()
}

fn names(paths: &PathSample) -> Vec<&str> {
    paths.first.iter().map(|path| path.to_str().unwrap()).collect()
}
