//! System calls without a wrapper in the crates that we use: the only unsafe code of metier.
//!
//! Each function does one thing, takes and returns owned or borrowed types, and turns failure into an [`io::Error`].
//! Functions that fork, unshare, close or place descriptors are called only in the launcher, which has one thread.

#![expect(unsafe_code, reason = "system calls; each block says why it is sound")]

use std::ffi::{CStr, c_int, c_long};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// One of two processes after [`fork`].
pub(crate) enum Fork {
    Child,
    Parent(Pid),
}

/// Creates a second process that continues from here.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the launcher has one thread, so no lock can be held by another that the child would wait for.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pid::from_raw(pid).map_or(Fork::Child, Fork::Parent))
}

/// Makes the allocator return large blocks to the system as soon as they are freed.
///
/// glibc raises its threshold for that with each freed large block, and then keeps them, once per thread: a server
/// whose scripts print megabytes would keep hundreds of them. Call it at the start of a program that runs many scripts.
/// It is here because only this module may call C functions.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        for (parameter, value) in [(libc::M_MMAP_THRESHOLD, 128 << 10), (libc::M_ARENA_MAX, 2)] {
            // SAFETY: takes two numbers and changes only what later allocations do; may be called at any time.
            unsafe { libc::mallopt(parameter, value) };
        }
    }
}

/// Exits this process immediately, without cleanup.
pub(crate) fn leave(code: c_int) -> ! {
    // SAFETY: takes no pointers and does not return.
    unsafe { libc::_exit(code) }
}

/// Moves this process into new namespaces.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the launcher has one thread, and no flag used here unshares file descriptors.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Changes to a mount. The layout is the kernel's `struct mount_attr`.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct MountAttr {
    pub(crate) set: u64,
    pub(crate) clear: u64,
    pub(crate) propagation: u64,
    pub(crate) user_namespace: u64,
}

/// `mount_setattr` on the mount of `fd`, and on all mounts below it if `recursive`.
pub(crate) fn mount_setattr(fd: BorrowedFd<'_>, recursive: bool, attr: &MountAttr) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a string that ends in NUL, the attribute is borrowed for the call and its size is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attr),
            size_of::<MountAttr>(),
        )
    };
    check(result)
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: called where nothing above `first` is owned by a value that is still used.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, c_int::MAX, 0) })
}

/// Duplicates `fd` to `number`, without close-on-exec.
pub(crate) fn place(fd: impl AsFd, number: RawFd) -> io::Result<()> {
    // SAFETY: both are plain numbers; the caller owns `number`.
    check(unsafe { libc::dup2(fd.as_fd().as_raw_fd(), number) }.into())
}

/// The descriptor `number`, owned from now on.
pub(crate) fn own(number: RawFd) -> OwnedFd {
    // SAFETY: called once for each number, for descriptors that the launcher is started with or has placed.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Removes every capability from the bounding set.
pub(crate) fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: takes numbers only.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if result != 0 {
            let error = io::Error::last_os_error();
            // The first number that this kernel has no capability for.
            return if error.raw_os_error() == Some(libc::EINVAL) { Ok(()) } else { Err(error) };
        }
    }
    Ok(())
}

/// Sets the only user and group of this process, in a safe order: groups, group, user.
pub(crate) fn become_user(user: u32, group: u32, drop_groups: bool) -> io::Result<()> {
    if drop_groups {
        // SAFETY: an empty list needs no pointer.
        check(unsafe { libc::setgroups(0, std::ptr::null()) }.into())?;
    }
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresgid(group, group, group) }.into())?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresuid(user, user, user) }.into())
}

/// Starts the loopback interface of this network namespace.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all zeros is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0x41);
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which is borrowed for the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) }.into())
}

/// Resets every signal to its default action, whatever this process inherited.
pub(crate) fn reset_signals() {
    // SAFETY: takes numbers only; the set is initialised before it is used. Signals that cannot be changed say so.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Ignores signals from now on.
pub(crate) fn ignore_signals(signals: &[c_int]) {
    for signal in signals {
        // SAFETY: takes numbers only.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

/// A descriptor that becomes readable when a child has ended; the signal itself is blocked from now on.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by `sigemptyset` before it is used, and outlives the calls.
    let fd = unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()).into())?;
        libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    check(fd.into())?;
    Ok(own(fd))
}

/// Installs a filter that reports calls to the holder of the descriptor; each call waits for the answer.
pub(crate) fn listen(filter: &[seccompiler::sock_filter]) -> io::Result<OwnedFd> {
    const SET_MODE_FILTER: c_int = 1;
    // A new listener; a reported call is not interrupted by signals before the answer, unless it is killed.
    const FLAGS: c_long = 1 << 3 | 1 << 5;
    let length = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the program and what it points to are borrowed for the call, and have the kernel's layout.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, FLAGS, &raw const program) };
    check(fd)?;
    Ok(own(RawFd::try_from(fd).map_err(io::Error::other)?))
}

/// A call that waits for an answer. The layout is the kernel's `struct seccomp_notif`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Notified {
    id: u64,
    /// The process id, as seen from this process.
    pub(crate) process: u32,
    flags: u32,
    pub(crate) number: i32,
    arch: u32,
    instruction: u64,
    pub(crate) arguments: [u64; 6],
}

/// An answer. The layout is the kernel's `struct seccomp_notif_resp`.
#[repr(C)]
#[derive(Debug, Default)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// The next waiting call. It is an error if the caller was killed before.
pub(crate) fn next_call(listener: &OwnedFd) -> io::Result<Notified> {
    const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
    let mut call = Notified::default();
    // SAFETY: the kernel writes one such structure, which is all zeros as it wants it.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut call) }.into())?;
    Ok(call)
}

/// Whether a call still waits, so that data read from its process was its own.
pub(crate) fn is_waiting(listener: &OwnedFd, call: &Notified) -> bool {
    const IS_VALID: libc::Ioctl = 0x4008_2102;
    // SAFETY: the kernel reads one number.
    unsafe { libc::ioctl(listener.as_raw_fd(), IS_VALID, &raw const call.id) == 0 }
}

/// Lets a call continue normally.
pub(crate) fn go_on(listener: &OwnedFd, call: &Notified) {
    const SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
    const CONTINUE: u32 = 1;
    let mut answer = Answer { id: call.id, flags: CONTINUE, ..Answer::default() };
    // SAFETY: the kernel reads one such structure. It does not matter if no process waits any more.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw mut answer) };
}

/// Wakes the caller and the observer in turn on one processor, which is faster; older kernels ignore it.
pub(crate) fn wake_together(listener: &OwnedFd) {
    const SET_FLAGS: libc::Ioctl = 0x4008_2104;
    const SYNC_WAKE_UP: u64 = 1;
    // SAFETY: takes a number in the place of the pointer.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
}

/// The newest Landlock version of this kernel, if any.
pub(crate) fn landlock_abi() -> Option<i32> {
    const VERSION: c_int = 1;
    // SAFETY: asks for the version; no attribute is given.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    i32::try_from(abi).ok().filter(|abi| *abi > 0)
}

/// Whether this kernel supports system call filters.
pub(crate) fn has_seccomp_filters() -> bool {
    const GET_ACTION_AVAIL: c_int = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the action is borrowed for the call.
    unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAIL, 0, &raw const action) == 0 }
}

/// Makes a system call by number without arguments and returns its error, to check whether a filter is active.
pub(crate) fn errno_of(number: c_long) -> Option<i32> {
    // SAFETY: used only with numbers whose call does nothing when every argument is zero.
    let result = unsafe { libc::syscall(number, 0, 0, 0, 0, 0, 0) };
    (result < 0).then(|| io::Error::last_os_error().raw_os_error()).flatten()
}

/// Opens a path for reading, to check whether that is refused.
pub(crate) fn is_refused(path: &CStr) -> bool {
    // SAFETY: the path ends in NUL; the descriptor, should there be one, is closed again.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::close(fd);
            return false;
        }
    }
    io::Error::last_os_error().raw_os_error() == Some(libc::EACCES)
}

fn check(result: c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
