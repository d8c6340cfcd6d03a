//! Without a protection that its profile needs, no script starts, and the error says which one it is. Without
//! namespaces, where the profile can do without them, the rest still holds.
//!
//! What a kernel lacks is played by filters (see `missing/filter.rs`), each in a thread of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/common.rs"]
mod common;
#[path = "missing/filter.rs"]
mod filter;
#[path = "leftovers/kinds.rs"]
mod kinds;
#[path = "leftovers/processes.rs"]
mod processes;
#[path = "missing/weaker.rs"]
mod weaker;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use libc::{
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS,
    EINVAL, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM,
};
use metier_sandbox::Protection::{
    EndsTogether, HostnameNamespace, IpcNamespace, Landlock, MountNamespace, NetworkNamespace,
    NoCapabilities, NoDescriptors, NoTerminal, ProcessNamespace, ProtectedPaths, ResourceLimits, Seccomp,
    UnprivilegedUser, UserNamespace,
};
use metier_sandbox::{Executor, Job, Protection, RunOutcome, SandboxError, Strictness};

use crate::filter::{Lacking, Only};

/// What is not there without namespaces.
const OF_NAMESPACES: [Protection; 8] = [
    UserNamespace,
    MountNamespace,
    ProcessNamespace,
    NetworkNamespace,
    IpcNamespace,
    HostnameNamespace,
    ProtectedPaths,
    EndsTogether,
];

/// What the kernel lacks, and the protection that cannot be had without; none where a step fails that is a part of
/// several, or that always works.
struct Case(&'static str, Lacking, Option<Protection>);

fn cases() -> Vec<Case> {
    let every = |name, call, error, missing| Case(name, Lacking::new(call, None, error), missing);
    let some = |name, call, only: Only, error, missing| Case(name, Lacking::new(call, only, error), missing);
    let unshare =
        |name, flag, missing| some(name, libc::SYS_unshare, Only::Bit(0, flag), EPERM, Some(missing));
    let prctl =
        |name, option, error, missing| some(name, libc::SYS_prctl, Only::Is(0, option), error, missing);
    let set_filter = Only::Is(0, libc::SECCOMP_SET_MODE_FILTER.cast_signed());
    let old_filter = Only::Is(0, libc::PR_SET_SECCOMP);
    let up = Only::Is(1, i32::try_from(libc::SIOCSIFFLAGS).unwrap());
    let all_filters = Lacking::new(libc::SYS_seccomp, None, ENOSYS).and(libc::SYS_prctl, old_filter);
    let new_filters = Lacking::new(libc::SYS_seccomp, set_filter, EPERM).and(libc::SYS_prctl, old_filter);
    let limits = Lacking::new(libc::SYS_prlimit64, Only::Some(2), EPERM);
    let mut cases = vec![
        every("unshare", libc::SYS_unshare, EPERM, Some(UserNamespace)),
        every("unshare is unknown", libc::SYS_unshare, ENOSYS, Some(UserNamespace)),
        every("no room for namespaces", libc::SYS_unshare, ENOSPC, Some(UserNamespace)),
        unshare("user namespaces", CLONE_NEWUSER, UserNamespace),
        unshare("mount namespaces", CLONE_NEWNS, MountNamespace),
        unshare("process namespaces", CLONE_NEWPID, ProcessNamespace),
        unshare("network namespaces", CLONE_NEWNET, NetworkNamespace),
        unshare("ipc namespaces", CLONE_NEWIPC, IpcNamespace),
        unshare("hostname namespaces", CLONE_NEWUTS, HostnameNamespace),
        unshare("cgroup namespaces", CLONE_NEWCGROUP, MountNamespace),
        every("mount_setattr", libc::SYS_mount_setattr, EPERM, Some(MountNamespace)),
        every("open_tree", libc::SYS_open_tree, EPERM, Some(MountNamespace)),
        every("move_mount", libc::SYS_move_mount, EPERM, Some(MountNamespace)),
        every("fsopen", libc::SYS_fsopen, EPERM, Some(MountNamespace)),
        every("fsmount", libc::SYS_fsmount, ENOSYS, Some(MountNamespace)),
        every("pivot_root", libc::SYS_pivot_root, EPERM, Some(MountNamespace)),
        every("umount2", libc::SYS_umount2, EPERM, Some(MountNamespace)),
        every("sethostname", libc::SYS_sethostname, EPERM, Some(HostnameNamespace)),
        every("setdomainname", libc::SYS_setdomainname, EPERM, Some(HostnameNamespace)),
        some("sockets", libc::SYS_socket, Only::Is(0, libc::AF_INET), EPERM, Some(NetworkNamespace)),
        some("a loopback", libc::SYS_ioctl, up, EPERM, Some(NetworkNamespace)),
        every("Landlock", libc::SYS_landlock_create_ruleset, ENOSYS, Some(Landlock)),
        every("Landlock, not enabled", libc::SYS_landlock_create_ruleset, EOPNOTSUPP, Some(Landlock)),
        every("Landlock's rules", libc::SYS_landlock_add_rule, EPERM, Some(Landlock)),
        every("Landlock's last step", libc::SYS_landlock_restrict_self, EPERM, Some(Landlock)),
        Case("seccomp", all_filters, Some(Seccomp)),
        Case("seccomp's last step", new_filters, Some(Seccomp)),
        prctl("dropping what could be gained", libc::PR_CAPBSET_DROP, EPERM, Some(NoCapabilities)),
        prctl("capabilities", libc::PR_CAPBSET_DROP, EINVAL, Some(NoCapabilities)),
        every("capset", libc::SYS_capset, EPERM, None),
        prctl("ambient capabilities", libc::PR_CAP_AMBIENT, EINVAL, None),
        prctl("no new privileges", libc::PR_SET_NO_NEW_PRIVS, EINVAL, None),
        prctl("ending together", libc::PR_SET_PDEATHSIG, EINVAL, None),
        prctl("hiding", libc::PR_SET_DUMPABLE, EINVAL, None),
        Case("limits", limits.and(libc::SYS_setrlimit, None), None),
        every("setsid", libc::SYS_setsid, EPERM, None),
        every("close_range", libc::SYS_close_range, ENOSYS, None),
        every("memfd_create", libc::SYS_memfd_create, ENOSYS, None),
        every("pidfd_open", libc::SYS_pidfd_open, ENOSYS, None),
        every("openat2", libc::SYS_openat2, ENOSYS, None),
        every("socketpair", libc::SYS_socketpair, EPERM, None),
    ];
    if common::is_root() {
        cases.extend([
            every("setgroups", libc::SYS_setgroups, EPERM, Some(UnprivilegedUser)),
            every("setresgid", libc::SYS_setresgid, EPERM, Some(UnprivilegedUser)),
            every("setresuid", libc::SYS_setresuid, EPERM, Some(UnprivilegedUser)),
        ]);
    }
    // No filter sees which file is written, but this is how long what is written to `uid_map` is.
    let map = format!(
        "1000 {} 1",
        if common::is_root() { 0x6d65_7469 } else { rustix::process::geteuid().as_raw() }
    );
    let length = Only::Is(2, i32::try_from(map.len()).unwrap());
    cases.push(some("mapping ids", libc::SYS_write, length, EPERM, Some(UserNamespace)));
    cases
}

/// What a script does that must not start.
const START: [&str; 2] = ["-c", "echo > started"];

/// Runs it where something is lacking; what came of it, and whether it started.
fn run(lacking: &Lacking, strictness: Strictness) -> (Result<RunOutcome, SandboxError>, bool) {
    let work = common::work();
    // Without a file tree of its own, a script that root starts is nobody in it.
    fs::set_permissions(work.path(), Permissions::from_mode(0o777)).unwrap();
    let mut profile = common::profile(work.path());
    profile.strictness = strictness;
    let job = Job::new(profile, "/bin/sh", START.map(Into::into).to_vec());
    let result = lacking.during(|| common::local().run(&job, &mut ()));
    (result, work.path().join("started").exists())
}

fn missing(outcome: &RunOutcome) -> Vec<Protection> {
    outcome.protections.missing().map(|found| found.protection).collect()
}

/// Why this was not a refusal for want of `protection`, if it was not.
fn complaint(result: &Result<RunOutcome, SandboxError>, protection: Option<Protection>) -> Option<String> {
    match (result, protection) {
        (Err(error @ SandboxError::Missing { missing }), Some(protection)) => {
            let is_named = missing.iter().any(|one| one.protection == protection && !one.reason.is_empty())
                && error.to_string().contains(protection.as_str())
                && !protection.remedy().is_empty();
            (!is_named).then(|| format!("not {protection}: {error:?}"))
        }
        (Err(_), None) => None,
        (Err(error), Some(protection)) => Some(format!("not {protection}: {error:?}")),
        (Ok(outcome), _) => Some(format!("it ran without {:?}", missing(outcome))),
    }
}

#[test]
fn nothing_starts_without_what_it_needs() {
    let mut wrong = Vec::new();
    let cases = cases();
    for Case(name, lacking, protection) in &cases {
        let (result, started) = run(lacking, Strictness::Every);
        wrong.extend(complaint(&result, *protection).map(|what| format!("{name}: {what}")));
        wrong.extend(started.then(|| format!("{name}: it started")));
    }
    println!("missing: {} layers, each refused with every protection needed", cases.len() - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_namespaces_can_be_done_without() {
    let mut wrong = Vec::new();
    let mut weaker = 0;
    for Case(name, lacking, protection) in cases() {
        let (result, started) = run(&lacking, Strictness::Core);
        if protection.is_none_or(|one| Strictness::Core.needs(one)) {
            wrong.extend(complaint(&result, protection).map(|what| format!("{name}: {what}")));
            wrong.extend(started.then(|| format!("{name}: it started")));
            continue;
        }
        match result {
            Ok(outcome) if started && missing(&outcome) == OF_NAMESPACES => weaker += 1,
            Ok(outcome) => wrong.push(format!("{name}: started {started}, without {:?}", missing(&outcome))),
            Err(error) => wrong.push(format!("{name}: refused: {error:?}")),
        }
    }
    println!("missing: {weaker} layers, each done without where namespaces are not needed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The kernel's own limit, in a user namespace in which none can be made.
#[test]
fn no_more_user_namespaces() {
    let test = "in_a_user_namespace_without_others";
    let script = r#"echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" --exact "$1" --nocapture"#;
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env("METIER_NO_MORE", if common::is_root() { "root" } else { "user" })
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("refused as it should be"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Not a test: what the one above starts.
#[test]
fn in_a_user_namespace_without_others() {
    #[expect(clippy::disallowed_methods, reason = "this is how it is told where it is")]
    let Ok(who) = std::env::var("METIER_NO_MORE") else { return };
    // Something that no script needs.
    let nothing = Lacking::new(libc::SYS_kexec_load, None, EPERM);
    let (result, started) = run(&nothing, Strictness::Every);
    assert_eq!(complaint(&result, Some(UserNamespace)), None);
    assert!(!started);
    let (result, started) = run(&nothing, Strictness::Core);
    if who == "root" {
        // Root is the only one here, and a script is never root.
        assert_eq!(complaint(&result, Some(UnprivilegedUser)), None);
    } else {
        assert_eq!((missing(&result.unwrap()), started), (OF_NAMESPACES.to_vec(), true));
    }
    println!("refused as it should be");
}

#[test]
fn unprotected_scripts_say_so() {
    let work = common::work();
    let mut profile = common::profile(work.path());
    profile.strictness = Strictness::Unprotected;
    let outcome = common::sh(profile, "echo $(id -u)");
    assert_eq!(outcome.output.bytes, format!("{}\n", rustix::process::geteuid().as_raw()).into_bytes());
    // What any program has that is started with care, and what an ordinary user is.
    let mut others = vec![ResourceLimits, NoTerminal, NoDescriptors];
    if !common::is_root() {
        others.extend([UnprivilegedUser, NoCapabilities]);
    }
    let expected: Vec<_> = Protection::ALL.into_iter().filter(|one| !others.contains(one)).collect();
    assert_eq!(missing(&outcome), expected, "{:#?}", outcome.protections);
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
