//! The system call filters: their data, and how it becomes programs for the kernel.
//!
//! Several filters are applied. One allows the calls in [`ALLOWED`] and answers all others like a kernel that does not
//! have them, so that programs fall back to older ones (`clone3`, `openat2`, `io_uring_setup`). Another refuses some of
//! those calls by their arguments ([`refused`]). A call with another word size kills the program.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The inputs of the filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Whether network sockets are allowed.
    pub(crate) network: bool,
    /// Whether namespaces isolate its processes from others.
    pub(crate) namespaces: bool,
    /// Whether a cgroup counts memory that no process has mapped.
    pub(crate) counted_memory: bool,
}

/// Why a filter could not be created: a bug, or an unsupported processor.
pub(crate) type FilterError = seccompiler::BackendError;

/// The programs for the kernel, in the order in which to apply them.
pub(crate) fn filters(needs: Needs) -> Result<Vec<BpfProgram>, FilterError> {
    let arch = std::env::consts::ARCH.try_into()?;
    let errno = |number: i32| SeccompAction::Errno(number.cast_unsigned());
    let allowed = ALLOWED
        .iter()
        .chain(ALLOWED_HERE)
        .filter(|call| needs.counted_memory || **call != libc::SYS_memfd_create);
    let allowed = allowed.map(|call| (*call, Vec::new())).collect();
    let by_number = SeccompFilter::new(allowed, errno(libc::ENOSYS), SeccompAction::Allow, arch)?;
    let by_argument = SeccompFilter::new(refused(needs)?, SeccompAction::Allow, errno(libc::EPERM), arch)?;
    // Reserved space does not count as written; programs that cannot reserve write instead.
    let reserving = BTreeMap::from([(libc::SYS_fallocate, Vec::new())]);
    let reserving = SeccompFilter::new(reserving, SeccompAction::Allow, errno(libc::EOPNOTSUPP), arch)?;
    Ok(vec![reserving.try_into()?, by_argument.try_into()?, by_number.try_into()?])
}

/// A condition on the argument at `index`. Only its lower 32 bits count, as in the kernel, so that higher bits change
/// nothing.
fn is(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, FilterError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

/// Any of the bits in `mask`, as one rule each.
fn any_bit(index: u8, mask: u64) -> Result<Vec<SeccompRule>, FilterError> {
    bits(mask).map(|bit| SeccompRule::new(vec![is(index, SeccompCmpOp::MaskedEq(bit), bit)?])).collect()
}

fn bits(mask: u64) -> impl Iterator<Item = u64> {
    (0..32).map(|shift| 1 << shift).filter(move |bit| mask & bit != 0)
}

/// None of `values`, as one rule.
fn none_of(index: u8, values: &[i32]) -> Result<SeccompRule, FilterError> {
    let conditions = values.iter().map(|value| is(index, SeccompCmpOp::Ne, unsigned(*value)));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn unsigned(value: i32) -> u64 {
    value.cast_unsigned().into()
}

/// What a call does with its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It may write to the file, or create it.
    Changed,
    /// It creates something.
    Made,
    /// It removes the file.
    Removed,
    /// It replaces the file.
    Replaced,
}

/// A call that can write to the file tree, with its path arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    pub(crate) call: c_long,
    /// The argument with the directory that a relative path is relative to.
    pub(crate) directory: Option<usize>,
    pub(crate) path: usize,
    /// The argument with the flags of `open`.
    pub(crate) flags: Option<usize>,
    pub(crate) what: Written,
}

const fn write(call: c_long, directory: Option<usize>, path: usize, what: Written) -> Write {
    Write { call, directory, path, flags: None, what }
}

/// Calls whose write attempts are observed. Some have two paths.
pub(crate) const WRITES: &[Write] = &[
    Write { flags: Some(2), ..write(libc::SYS_openat, Some(0), 1, Written::Changed) },
    write(libc::SYS_mkdirat, Some(0), 1, Written::Made),
    write(libc::SYS_mknodat, Some(0), 1, Written::Made),
    write(libc::SYS_symlinkat, Some(1), 2, Written::Made),
    write(libc::SYS_linkat, Some(2), 3, Written::Made),
    write(libc::SYS_unlinkat, Some(0), 1, Written::Removed),
    write(libc::SYS_renameat2, Some(0), 1, Written::Removed),
    write(libc::SYS_renameat2, Some(2), 3, Written::Replaced),
    write(libc::SYS_truncate, None, 0, Written::Changed),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_renameat, Some(0), 1, Written::Removed),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_renameat, Some(2), 3, Written::Replaced),
    #[cfg(target_arch = "x86_64")]
    Write { flags: Some(1), ..write(libc::SYS_open, None, 0, Written::Changed) },
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_mkdir, None, 0, Written::Made),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_symlink, None, 1, Written::Made),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_link, None, 1, Written::Made),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_unlink, None, 0, Written::Removed),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_rmdir, None, 0, Written::Removed),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_rename, None, 0, Written::Removed),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_rename, None, 1, Written::Replaced),
];

/// A placeholder action, because the filter crate has none for user notifications.
const STAND_IN: u32 = 0xbeef;
/// `SECCOMP_RET_TRACE` and `SECCOMP_RET_USER_NOTIF`.
const TRACE: u32 = 0x7ff0_0000;
const TELL: u32 = 0x7fc0_0000;

/// The program that makes the kernel report each of [`WRITES`], and `open` only for writing.
pub(crate) fn observer() -> Result<BpfProgram, FilterError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for write in WRITES {
        let told = match write.flags.and_then(|index| u8::try_from(index).ok()) {
            Some(flags) => any_bit(flags, unsigned(libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT))?,
            None => Vec::new(),
        };
        rules.insert(write.call, told);
    }
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(STAND_IN), arch)?;
    let mut program: BpfProgram = filter.try_into()?;
    for instruction in program.iter_mut().filter(|it| it.k == TRACE | STAND_IN) {
        instruction.k = TELL;
    }
    Ok(program)
}

/// Set-user-id and set-group-id.
const SET_ID: u64 = 0o6000;
/// Deprecated in libc, but still supported.
const SOCK_PACKET: i32 = 10;
/// Commands of `fcntl` that report what others do with a file or a directory. The tables of libc lack the last.
const F_NOTIFY: i32 = libc::F_NOTIFY;
const F_SETLEASE: i32 = libc::F_SETLEASE;
const F_SETDELEG: i32 = 1040;
/// Every kind of namespace.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Allowed calls that are refused with these arguments.
fn refused(needs: Needs) -> Result<BTreeMap<c_long, Vec<SeccompRule>>, FilterError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules = BTreeMap::new();

    rules.insert(libc::SYS_clone, any_bit(0, unsigned(NAMESPACES))?);

    // Files that run as their owner, who may be root outside. The mode matters only if a file is created.
    let created = |flags: u8, mode: u8| -> Result<Vec<SeccompRule>, FilterError> {
        let mut rules = Vec::new();
        // `O_TMPFILE` contains `O_DIRECTORY`; its own bit is sufficient.
        for creates in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            for bit in bits(SET_ID) {
                let creates = unsigned(creates);
                rules.push(SeccompRule::new(vec![
                    is(flags, MaskedEq(creates), creates)?,
                    is(mode, MaskedEq(bit), bit)?,
                ])?);
            }
        }
        Ok(rules)
    };
    rules.insert(libc::SYS_openat, created(2, 3)?);
    rules.insert(libc::SYS_fchmod, any_bit(1, SET_ID)?);
    rules.insert(libc::SYS_fchmodat, any_bit(2, SET_ID)?);
    rules.insert(libc::SYS_mknodat, [any_bit(2, SET_ID)?, device(2)?].concat());
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_open, created(1, 2)?);
        rules.insert(libc::SYS_creat, any_bit(1, SET_ID)?);
        rules.insert(libc::SYS_chmod, any_bit(1, SET_ID)?);
        rules.insert(libc::SYS_mknod, [any_bit(1, SET_ID)?, device(1)?].concat());
    }

    // Typing into a terminal, and other operations on one. Linux identifies `TIOCSTI` by 32 bits.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, libc::TIOCCONS, libc::TIOCSCTTY];
    let terminal = terminal.iter().map(|call| SeccompRule::new(vec![is(1, Eq, *call & 0xffff_ffff)?]));
    rules.insert(libc::SYS_ioctl, terminal.collect::<Result<_, FilterError>>()?);

    let tricks = [libc::PR_SET_MM, libc::PR_SET_SECCOMP, libc::PR_SET_PTRACER, libc::PR_SCHED_CORE];
    let tricks = tricks.iter().map(|option| SeccompRule::new(vec![is(0, Eq, unsigned(*option))?]));
    rules.insert(libc::SYS_prctl, tricks.collect::<Result<_, FilterError>>()?);

    // Querying it, and being an ordinary program.
    rules.insert(libc::SYS_personality, vec![none_of(0, &[-1, 0])?]);

    // Watching for changes of a file is allowed; watching for reads would reveal which programs others start.
    let reading = libc::IN_ACCESS | libc::IN_OPEN | libc::IN_CLOSE_NOWRITE;
    rules.insert(libc::SYS_inotify_add_watch, any_bit(2, reading.into())?);

    // Leaves a device behind.
    rules.insert(libc::SYS_renameat2, any_bit(4, u64::from(libc::RENAME_WHITEOUT))?);

    let mut commands = vec![F_NOTIFY, F_SETLEASE, F_SETDELEG];
    if !needs.counted_memory {
        // Memory in large pipes and sockets is not counted for any process.
        commands.push(libc::F_SETPIPE_SZ);
        let larger = [libc::SO_SNDBUF, libc::SO_RCVBUF].map(|option| {
            SeccompRule::new(vec![is(1, Eq, unsigned(libc::SOL_SOCKET))?, is(2, Eq, unsigned(option))?])
        });
        rules.insert(libc::SYS_setsockopt, larger.into_iter().collect::<Result<_, FilterError>>()?);
    }

    let commands = commands.iter().map(|command| SeccompRule::new(vec![is(1, Eq, unsigned(*command))?]));
    rules.insert(libc::SYS_fcntl, commands.collect::<Result<_, FilterError>>()?);

    let families: &[i32] =
        if needs.network { &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] } else { &[libc::AF_NETLINK] };
    let netlink = |operator, value: i32| -> Result<SeccompRule, FilterError> {
        SeccompRule::new(vec![is(0, Eq, unsigned(libc::AF_NETLINK))?, is(2, operator, unsigned(value))?])
    };
    // Only streams and datagrams of these families; no raw, sequenced or packet sockets.
    let kind = |kind: i32| -> Result<SeccompRule, FilterError> {
        // The type is in the low bits; flags are above. Netlink sockets are always raw.
        SeccompRule::new(vec![is(0, Ne, unsigned(libc::AF_NETLINK))?, is(1, MaskedEq(0xf), unsigned(kind))?])
    };
    let kinds = [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, SOCK_PACKET];
    let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
    let mut sockets = vec![none_of(0, families)?, netlink(Ne, libc::NETLINK_ROUTE)?, none_of(2, &protocols)?];
    for one in kinds {
        sockets.push(kind(one)?);
    }
    rules.insert(libc::SYS_socket, sockets);
    // A pair is only connected to itself, if it is a stream or sequenced packets. A datagram socket can send to any
    // other by its path, including descriptors, connected or not; the raw type counts as one in the kernel.
    let mut pairs = vec![none_of(0, &[libc::AF_UNIX])?];
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(unsigned);
    for kind in (0..=0xf).filter(|kind| !connected.contains(kind)) {
        pairs.push(SeccompRule::new(vec![is(1, MaskedEq(0xf), kind)?])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);

    if !needs.namespaces {
        // Without a process namespace, only itself: other processes of the same user could be slowed down.
        for call in [
            libc::SYS_prlimit64,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
        ] {
            rules.insert(call, vec![SeccompRule::new(vec![is(0, Ne, 0)?])?]);
        }
        // Landlock does not check these calls, and every file of the user can be named. Open files were checked.
        for call in OF_ANY_FILE.iter().chain(OF_ANY_FILE_HERE) {
            rules.insert(*call, Vec::new());
        }
        // Without a path it applies to an open file.
        let named = SeccompCondition::new(1, SeccompCmpArgLen::Qword, Ne, 0)?;
        rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![named])?]);
        for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
            rules.insert(call, vec![SeccompRule::new(vec![is(1, Ne, 0)?])?]);
        }
    }
    Ok(rules)
}

/// Calls that change a file by its path without opening it.
const OF_ANY_FILE: &[c_long] = &[
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
];
#[cfg(target_arch = "x86_64")]
const OF_ANY_FILE_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_ANY_FILE_HERE: &[c_long] = &[];

/// Character and block devices.
fn device(index: u8) -> Result<Vec<SeccompRule>, FilterError> {
    let kinds = [libc::S_IFCHR, libc::S_IFBLK].map(|kind| {
        SeccompRule::new(vec![is(index, SeccompCmpOp::MaskedEq(libc::S_IFMT.into()), kind.into())?])
    });
    kinds.into_iter().collect()
}

/// The calls that scripts and their programs need, on every processor.
#[rustfmt::skip]
const ALLOWED: &[c_long] = &[
    // Files
    libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_fstat, libc::SYS_lseek, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_readv, libc::SYS_writev, libc::SYS_preadv, libc::SYS_pwritev, libc::SYS_preadv2,
    libc::SYS_pwritev2, libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee, libc::SYS_copy_file_range, libc::SYS_dup,
    libc::SYS_dup3, libc::SYS_fcntl, libc::SYS_flock, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range,
    libc::SYS_truncate, libc::SYS_ftruncate, libc::SYS_fallocate, libc::SYS_fadvise64, libc::SYS_readahead,
    libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_openat, libc::SYS_mkdirat,
    libc::SYS_mknodat, libc::SYS_unlinkat, libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat,
    libc::SYS_readlinkat, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_statfs,
    libc::SYS_fstatfs, libc::SYS_utimensat, libc::SYS_umask, libc::SYS_pipe2, libc::SYS_ioctl, libc::SYS_close_range,
    libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_fgetxattr, libc::SYS_listxattr, libc::SYS_llistxattr,
    libc::SYS_flistxattr, libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr,
    libc::SYS_lremovexattr, libc::SYS_fremovexattr,
    // Memory
    libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_brk, libc::SYS_mremap, libc::SYS_msync,
    libc::SYS_mincore, libc::SYS_madvise, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock, libc::SYS_mlockall,
    libc::SYS_munlockall, libc::SYS_mbind, libc::SYS_get_mempolicy, libc::SYS_set_mempolicy, libc::SYS_pkey_mprotect,
    libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_membarrier, libc::SYS_memfd_create, libc::SYS_mseal,
    // Processes, threads, signals
    libc::SYS_clone, libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4,
    libc::SYS_waitid, libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal, libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getpgid,
    libc::SYS_setpgid, libc::SYS_getsid, libc::SYS_setsid, libc::SYS_set_tid_address, libc::SYS_set_robust_list,
    libc::SYS_get_robust_list, libc::SYS_futex, libc::SYS_futex_waitv, libc::SYS_rseq, libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity, libc::SYS_sched_getparam, libc::SYS_sched_setparam,
    libc::SYS_sched_getscheduler, libc::SYS_sched_setscheduler, libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min, libc::SYS_sched_rr_get_interval, libc::SYS_sched_getattr,
    libc::SYS_sched_setattr, libc::SYS_getpriority, libc::SYS_setpriority, libc::SYS_ioprio_get, libc::SYS_ioprio_set,
    libc::SYS_getcpu, libc::SYS_prctl, libc::SYS_personality, libc::SYS_restart_syscall, libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo, libc::SYS_rt_sigsuspend, libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    // Users and limits: without capabilities, these change nothing relevant
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid,
    libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid,
    libc::SYS_setregid, libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setfsuid, libc::SYS_setfsgid,
    libc::SYS_capget, libc::SYS_capset, libc::SYS_prlimit64, libc::SYS_getrusage, libc::SYS_times, libc::SYS_sysinfo,
    libc::SYS_uname,
    // Waiting and time
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2, libc::SYS_eventfd2, libc::SYS_inotify_init1, libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch, libc::SYS_timerfd_create, libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime,
    libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_gettime, libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete, libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_clock_gettime,
    libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_getitimer, libc::SYS_setitimer, libc::SYS_getrandom,
    // Sockets, of the families that `refused` allows
    libc::SYS_socket, libc::SYS_socketpair, libc::SYS_bind, libc::SYS_connect, libc::SYS_listen, libc::SYS_accept,
    libc::SYS_accept4, libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_getsockopt, libc::SYS_setsockopt,
    libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg, libc::SYS_recvfrom, libc::SYS_recvmsg,
    libc::SYS_recvmmsg, libc::SYS_shutdown,
    // Programs that sandbox others themselves
    libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self,
];

/// Older calls that only this processor has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const ALLOWED_HERE: &[c_long] = &[
    libc::SYS_open, libc::SYS_creat, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_pipe,
    libc::SYS_select, libc::SYS_poll, libc::SYS_dup2, libc::SYS_pause, libc::SYS_alarm, libc::SYS_fork,
    libc::SYS_vfork, libc::SYS_getdents, libc::SYS_rename, libc::SYS_renameat, libc::SYS_mkdir, libc::SYS_rmdir,
    libc::SYS_link, libc::SYS_unlink, libc::SYS_symlink, libc::SYS_readlink, libc::SYS_chmod, libc::SYS_chown,
    libc::SYS_lchown, libc::SYS_mknod, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_getpgrp,
    libc::SYS_time, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_eventfd, libc::SYS_signalfd,
    libc::SYS_inotify_init, libc::SYS_getrlimit, libc::SYS_setrlimit, libc::SYS_arch_prctl,
    // Newer than the tables of libc: map_shadow_stack, futex_wake, futex_wait, futex_requeue
    453, 454, 455, 456,
];

/// Newer calls than the tables of libc have: `map_shadow_stack`, `futex_wake`, `futex_wait`, `futex_requeue`.
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[c_long] = &[libc::SYS_renameat, 453, 454, 455, 456];

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel does with a call: as its own interpreter of these programs does it, as far as they use it.
    fn run(filter: &BpfProgram, call: c_long, arguments: [u64; 6]) -> u32 {
        const ARCH: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
        let word = |offset: u32| {
            let argument = |index: u32| arguments[index as usize / 8];
            match offset {
                0 => u32::try_from(call).unwrap(),
                4 => ARCH,
                16..64 if offset.is_multiple_of(8) => (argument(offset - 16) & 0xffff_ffff) as u32,
                16..64 => (argument(offset - 20) >> 32) as u32,
                _ => 0,
            }
        };
        let (mut accumulator, mut next) = (0_u32, 0_usize);
        loop {
            let step = &filter[next];
            let jump = |is_so: bool| usize::from(if is_so { step.jt } else { step.jf });
            next += 1;
            match step.code {
                0x20 => accumulator = word(step.k),
                0x54 => accumulator &= step.k,
                0x05 => next += step.k as usize,
                0x15 => next += jump(accumulator == step.k),
                0x25 => next += jump(accumulator > step.k),
                0x35 => next += jump(accumulator >= step.k),
                0x45 => next += jump(accumulator & step.k != 0),
                0x06 => return step.k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    /// The strictest of what the filters say, in a word.
    fn decision(needs: Needs, call: c_long, arguments: [u64; 6]) -> String {
        // Of several the kernel takes the one with the lowest action.
        let all = filters(needs).unwrap();
        let result =
            all.iter().map(|filter| run(filter, call, arguments)).min_by_key(|one| one & 0xffff_0000);
        match result.unwrap() {
            0x7fff_0000 => "allowed".to_owned(),
            errno if errno & 0xffff_0000 == 0x0005_0000 => {
                let errno = (errno & 0xffff).cast_signed();
                let names =
                    [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS"), (libc::EOPNOTSUPP, "EOPNOTSUPP")];
                names.iter().find(|(number, _)| *number == errno).unwrap().1.to_owned()
            }
            other => format!("{other:#x}"),
        }
    }

    const FULL: Needs = Needs { network: true, namespaces: true, counted_memory: true };
    const LEAST: Needs = Needs { network: false, namespaces: false, counted_memory: false };

    /// A change of what scripts may call is a change of this list, for a reviewer to see.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn calls_with_every_argument_zero() {
        use std::fmt::Write as _;

        let mut text = String::new();
        for call in 0..512 {
            let both = [FULL, LEAST].map(|needs| decision(needs, call, [0; 6]));
            if both != ["ENOSYS", "ENOSYS"] {
                let [full, least] = both;
                writeln!(text, "{call:3} {full:10} {least}").unwrap();
            }
        }
        insta::assert_snapshot!("calls", text);
    }

    #[test]
    fn sockets_and_pairs_of_them() {
        let dgram = unsigned(libc::SOCK_DGRAM);
        let (cloexec, nonblock) = (unsigned(libc::SOCK_CLOEXEC), unsigned(libc::SOCK_NONBLOCK));
        let pair = |family: i32, kind: u64| {
            [FULL, LEAST]
                .map(|needs| decision(needs, libc::SYS_socketpair, [unsigned(family), kind, 0, 0, 0, 0]))
        };
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
            for flags in [0, cloexec, cloexec | nonblock] {
                assert_eq!(
                    pair(libc::AF_UNIX, unsigned(kind) | flags),
                    ["allowed", "allowed"],
                    "{kind} {flags:#x}"
                );
            }
        }
        // Also with bits that the kernel does not look at.
        for kind in
            [dgram, dgram | cloexec, dgram | nonblock, dgram | 1 << 32, unsigned(libc::SOCK_RAW), 0, 4, 15]
        {
            assert_eq!(pair(libc::AF_UNIX, kind), ["EPERM", "EPERM"], "{kind:#x}");
        }
        assert_eq!(pair(libc::AF_INET, unsigned(libc::SOCK_STREAM)), ["EPERM", "EPERM"]);
        let socket = |needs, family: i32, kind: u64| {
            decision(needs, libc::SYS_socket, [unsigned(family), kind, 0, 0, 0, 0])
        };
        assert_eq!(socket(FULL, libc::AF_INET, dgram), "allowed");
        assert_eq!(socket(LEAST, libc::AF_INET, dgram), "EPERM");
        assert_eq!(socket(FULL, libc::AF_UNIX, dgram), "EPERM");
        assert_eq!(socket(FULL, libc::AF_INET, unsigned(libc::SOCK_RAW)), "EPERM");
    }

    #[test]
    fn only_changes_of_files_can_be_watched() {
        let watch = |mask: u32| {
            let arguments = [0, 0, mask.into(), 0, 0, 0];
            [FULL, LEAST].map(|needs| decision(needs, libc::SYS_inotify_add_watch, arguments))
        };
        // What libuv asks for.
        let changes = libc::IN_ATTRIB | libc::IN_CREATE | libc::IN_MODIFY | libc::IN_DELETE | libc::IN_MOVE;
        assert_eq!(watch(changes | libc::IN_DELETE_SELF | libc::IN_MOVE_SELF), ["allowed", "allowed"]);
        for reading in [libc::IN_OPEN, libc::IN_ACCESS, libc::IN_CLOSE, libc::IN_ALL_EVENTS] {
            assert_eq!(watch(reading), ["EPERM", "EPERM"]);
        }
    }

    /// Notices about directories and leases on files tell which programs others start, as watches do.
    #[test]
    fn nothing_else_tells_of_files_that_others_open() {
        for needs in [FULL, LEAST] {
            let fcntl = |command: u64| decision(needs, libc::SYS_fcntl, [3, command, 0, 0, 0, 0]);
            for command in [F_NOTIFY, F_SETLEASE, F_SETDELEG].map(unsigned) {
                assert_eq!(fcntl(command), "EPERM", "{command}");
                assert_eq!(fcntl(command | 1 << 32), "EPERM", "{command} with a bit that the kernel drops");
            }
            for command in
                [libc::F_DUPFD_CLOEXEC, libc::F_GETFL, libc::F_SETLK, libc::F_OFD_SETLK].map(unsigned)
            {
                assert_eq!(fcntl(command), "allowed", "{command}");
            }
        }
    }

    /// The kernel takes 4096 instructions.
    #[test]
    fn filters_can_be_made_for_all_that_they_depend_on() {
        for bits in 0..8 {
            let needs =
                Needs { network: bits & 1 != 0, namespaces: bits & 2 != 0, counted_memory: bits & 4 != 0 };
            assert!(filters(needs).unwrap().iter().all(|filter| filter.len() < 4096), "{needs:?}");
            assert_eq!(decision(needs, libc::SYS_read, [0; 6]), "allowed");
            let memory = decision(needs, libc::SYS_memfd_create, [0; 6]);
            assert_eq!(memory, if needs.counted_memory { "allowed" } else { "ENOSYS" });
        }
    }

    #[test]
    fn dangerous_calls_are_not_allowed() {
        let dangerous = [
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_clone3,
            libc::SYS_openat2,
            libc::SYS_io_uring_setup,
            libc::SYS_userfaultfd,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_pidfd_getfd,
            libc::SYS_open_by_handle_at,
            libc::SYS_seccomp,
            libc::SYS_shmget,
            libc::SYS_fanotify_init,
        ];
        for call in dangerous {
            assert!(!ALLOWED.contains(&call) && !ALLOWED_HERE.contains(&call), "{call}");
        }
    }
}
