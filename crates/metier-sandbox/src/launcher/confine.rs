//! The last steps before a script starts: limits, capabilities, Landlock, filters. They cannot be undone.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Mode as FileMode, OFlags};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::sock_filter;

use super::endings::tasks_of;
use super::root::{UNREADABLE, find, is_directory};
use super::{During, Failure, ROOM};
use crate::plan::{Kind, Mode, Net, Plan, Step};
use crate::sys;

/// Sets the kernel's limits for each process.
pub(super) fn limit(plan: &Plan) -> io::Result<()> {
    let bounds = &plan.bounds;
    // The kernel counts whole seconds; init's own check is finer, and this is the fallback.
    let cpu = bounds.cpu_ms.div_ceil(1000) + 1;
    let mut limits = vec![
        (Resource::Cpu, cpu),
        (Resource::Fsize, bounds.file),
        (Resource::Nofile, bounds.open_files),
        (Resource::Core, 0),
        (Resource::Memlock, 1 << 20),
        (Resource::Msgqueue, 0),
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
        (Resource::Sigpending, 1024),
    ];
    // Counted per user namespace; without one, together with the user's other processes.
    let others =
        if plan.mode == Mode::Full { 0 } else { ROOM + tasks_of(rustix::process::getuid().as_raw()) };
    if plan.mode != Mode::Unprotected {
        limits.push((Resource::Nproc, bounds.processes_of_user + others));
    }
    for (resource, most) in limits {
        // A limit that is already lower stays: it cannot be raised.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Drops every capability, and the means to get one.
pub(super) fn drop_powers() -> Result<(), Failure> {
    sys::drop_bounding_set().or_else(without_the_right_to).during(Step::Other, "dropping capabilities")?;
    keep_only(CapabilitySet::empty()).during(Step::Other, "dropping capabilities")?;
    rustix::thread::set_no_new_privs(true).during(Step::Other, "giving up new privileges")
}

/// Without namespaces, an ordinary user has no capabilities to drop, and may not drop any.
fn without_the_right_to(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::PermissionDenied { Ok(()) } else { Err(error) }
}

/// Keeps exactly these capabilities.
pub(super) fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Makes the kernel check every file access against the plan.
pub(super) fn landlock(plan: &Plan) -> Result<(), Failure> {
    let allowed = allowed(plan)?;
    let enforced = restrict(plan, allowed)
        .map_err(io::Error::other)
        .during(Step::Landlock, "enforcing Landlock rules")?;
    if enforced {
        return Ok(());
    }
    Err(Failure::new(Step::Landlock, "Landlock rules are only partly enforced", io::ErrorKind::Unsupported))
}

/// The paths that may be accessed, opened, with the kind of access.
fn allowed(plan: &Plan) -> Result<Vec<(OwnedFd, BitFlags<AccessFs>)>, Failure> {
    let all = AccessFs::from_all(ABI::from(plan.landlock_abi));
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let mut allowed = Vec::new();
    for bind in &plan.binds {
        let access = match bind.kind {
            Kind::Read => read | AccessFs::Execute,
            Kind::Write => write,
            Kind::Device => (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate) & all,
        };
        // Without a separate file tree, this is where a swapped path is noticed.
        allowed.extend(find(bind)?.map(|place| (place, access)));
    }
    let mut own: Vec<(&str, BitFlags<AccessFs>)> = vec![("/proc", read)];
    if plan.mode == Mode::Full {
        own.push(("/tmp", write));
        own.push(("/dev/shm", write & !AccessFs::Execute));
        own.push(("/etc", read));
        own.push(("/", AccessFs::ReadDir.into()));
    }
    for (path, access) in own {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = rustix::fs::open(path, flags, FileMode::empty());
        allowed.extend(opened.ok().map(|place| (place, access)));
    }
    Ok(allowed)
}

fn restrict(
    plan: &Plan,
    allowed: Vec<(OwnedFd, BitFlags<AccessFs>)>,
) -> Result<bool, landlock::RulesetError> {
    let abi = ABI::from(plan.landlock_abi);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if plan.network == Net::None && plan.landlock_abi >= 4 {
        rules = rules.handle_access(AccessNet::from_all(abi))?;
    }
    if plan.landlock_abi >= 6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    let mut rules = rules.create()?;
    for (place, access) in allowed {
        let access = if is_directory(&place) { access } else { access & AccessFs::from_file(abi) };
        rules = rules.add_rule(PathBeneath::new(place.as_fd(), access))?;
    }
    Ok(rules.restrict_self()?.ruleset == RulesetStatus::FullyEnforced)
}

/// Makes the kernel check every system call.
pub(super) fn seccomp(plan: &Plan) -> Result<(), Failure> {
    for filter in &plan.filters {
        let program: Vec<sock_filter> = filter.iter().map(|packed| unpack(*packed)).collect();
        seccompiler::apply_filter(&program)
            .map_err(io::Error::other)
            .during(Step::Seccomp, "installing the system call filter")?;
    }
    Ok(())
}

/// Makes the kernel report calls that could write to the holder of the returned descriptor. Not every kernel supports
/// it.
pub(super) fn observe(plan: &Plan) -> Option<OwnedFd> {
    let program: Vec<sock_filter> = plan.observer.iter().map(|packed| unpack(*packed)).collect();
    if program.is_empty() { None } else { sys::listen(&program).ok() }
}

/// One instruction as one number, for sending.
pub(crate) fn pack(instruction: &sock_filter) -> u64 {
    u64::from(instruction.code)
        | u64::from(instruction.jt) << 16
        | u64::from(instruction.jf) << 24
        | u64::from(instruction.k) << 32
}

fn unpack(packed: u64) -> sock_filter {
    let [low, high, jt, jf, k @ ..] = packed.to_le_bytes();
    sock_filter { code: u16::from_le_bytes([low, high]), jt, jf, k: u32::from_le_bytes(k) }
}

/// Tries actions that Landlock and the filter must now refuse.
pub(super) fn try_out(mode: Mode) -> (bool, bool) {
    // A script has its own root, or must not list the real one.
    let path = if mode == Mode::Full { UNREADABLE } else { "/" };
    let landlock = std::ffi::CString::new(path).is_ok_and(|path| sys::is_refused(&path));
    // With all arguments zero, the kernel itself would refuse it for another reason.
    let seccomp = sys::errno_of(libc::SYS_bpf) == Some(libc::ENOSYS);
    (landlock, seccomp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_survive_being_sent() {
        for (code, jt, jf, k) in [(0x20, 0, 0, 4), (0x15, 1, 255, 0xc000_003e), (0x06, 0, 0, 0x7fff_0000)] {
            let instruction = sock_filter { code, jt, jf, k };
            assert_eq!(unpack(pack(&instruction)), instruction);
        }
    }
}
