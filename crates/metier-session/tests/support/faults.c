// Runs a program and makes one of its calls that write fail, be cut short, be the last thing that it does, or come after somebody else's. It looks at
// system calls, not at functions of the C library, because rustix does not use that.
//
// faults NUMBER:KIND BELOW LOG PROGRAM ARGUMENTS…: the how manieth call on something below BELOW, and what becomes of it: `k`illed before, `K`illed
// after, `e` (EIO), `f` (ENOSPC), `s`hort, `h`: METIER_BY_HAND is run by a shell before it. LOG gets a line for each call: its name and where.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum where { DESCRIPTOR, AT, PATH };
static const struct { long number; const char *name; enum where where; int flags; } calls[] = {
  {SYS_write, "write", DESCRIPTOR, -1},       {SYS_pwrite64, "pwrite", DESCRIPTOR, -1},
  {SYS_writev, "writev", DESCRIPTOR, -1},     {SYS_ftruncate, "ftruncate", DESCRIPTOR, -1},
  {SYS_fsync, "fsync", DESCRIPTOR, -1},       {SYS_fdatasync, "fdatasync", DESCRIPTOR, -1},
  {SYS_fchmod, "fchmod", DESCRIPTOR, -1},     {SYS_fchown, "fchown", DESCRIPTOR, -1},
  {SYS_renameat, "renameat", AT, -1},         {SYS_renameat2, "renameat2", AT, -1},
  {SYS_unlinkat, "unlinkat", AT, -1},         {SYS_mkdirat, "mkdirat", AT, -1},
  {SYS_linkat, "linkat", AT, -1},             {SYS_symlinkat, "symlinkat", AT, -1},
  {SYS_openat, "openat", AT, 2},              {SYS_open, "open", PATH, 1},
  {SYS_mkdir, "mkdir", PATH, -1},             {SYS_rename, "rename", PATH, -1},
  {SYS_unlink, "unlink", PATH, -1},           {SYS_rmdir, "rmdir", PATH, -1},
};

static const char *below;
static long wanted, count;
static char kind;
static FILE *log_file;
// The call that something becomes of, and whose it is.
static pid_t struck;

static void read_text(pid_t process, unsigned long from, char *text, size_t size) {
  struct iovec here = {text, size - 1}, there = {(void *)from, size - 1};
  ssize_t length = process_vm_readv(process, &here, 1, &there, 1, 0);
  // The text may end just before memory that is not there.
  while (length < 0 && there.iov_len > 1) {
    there.iov_len = there.iov_len / 2;
    length = process_vm_readv(process, &here, 1, &there, 1, 0);
  }
  text[length < 0 ? 0 : length] = 0;
}

// Where a call is about to write, if that is of interest.
static int place_of(pid_t process, int call, const struct __ptrace_syscall_info *info, char *path, size_t size) {
  const uint64_t *args = info->entry.args;
  if (calls[call].flags >= 0 && !(args[calls[call].flags] & O_CREAT)) return 0;
  int is_path = calls[call].where == PATH || (calls[call].where == AT && (int)args[0] == AT_FDCWD);
  if (is_path) {
    read_text(process, args[calls[call].where == AT ? 1 : 0], path, size);
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", process, (int)args[0]);
    ssize_t length = readlink(link, path, size - 300);
    if (length < 0) return 0;
    path[length] = 0;
    if (calls[call].where == AT) {
      path[length] = '/';
      read_text(process, args[1], path + length + 1, 290);
    }
  }
  return strncmp(path, below, strlen(below)) == 0;
}

static void before(pid_t process, const struct __ptrace_syscall_info *info) {
  char path[8192];
  for (size_t call = 0; call < sizeof calls / sizeof *calls; call++) {
    if ((long)info->entry.nr != calls[call].number) continue;
    if (!place_of(process, (int)call, info, path, sizeof path)) return;
    fprintf(log_file, "%s %s\n", calls[call].name, path + strlen(below));
    fflush(log_file);
    if (++count != wanted) return;
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, process, 0, &registers);
    if (kind == 'k') kill(process, SIGKILL);
    if (kind == 'h' && system(getenv("METIER_BY_HAND")) != 0) fprintf(stderr, "by hand: failed\n");
    if (kind == 's' && calls[call].number == SYS_write && registers.rdx > 1) registers.rdx /= 2;
    if (kind == 'e' || kind == 'f') registers.orig_rax = -1;
    ptrace(PTRACE_SETREGS, process, 0, &registers);
    struck = process;
    return;
  }
}

static void after(pid_t process) {
  if (process != struck) return;
  struck = 0;
  if (kind == 'K') kill(process, SIGKILL);
  if (kind != 'e' && kind != 'f') return;
  struct user_regs_struct registers;
  ptrace(PTRACE_GETREGS, process, 0, &registers);
  registers.rax = kind == 'e' ? -EIO : -ENOSPC;
  ptrace(PTRACE_SETREGS, process, 0, &registers);
}

int main(int argc, char **argv) {
  if (argc < 5) return 64;
  wanted = strtol(argv[1], &argv[1], 10);
  kind = argv[1][0] ? argv[1][1] : 0;
  below = argv[2];
  log_file = fopen(argv[3], "w");
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execv(argv[4], argv + 4);
    _exit(127);
  }
  int status;
  if (!log_file || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 70;
  long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, child, 0, options) != 0) return 71;
  ptrace(PTRACE_SYSCALL, child, 0, 0);
  for (pid_t process; (process = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (process != child) continue;
      if (WIFSIGNALED(status)) kill(getpid(), WTERMSIG(status));
      return WEXITSTATUS(status);
    }
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      struct __ptrace_syscall_info info;
      ptrace(PTRACE_GET_SYSCALL_INFO, process, sizeof info, &info);
      if (info.op == PTRACE_SYSCALL_INFO_ENTRY) before(process, &info);
      if (info.op == PTRACE_SYSCALL_INFO_EXIT) after(process);
      signal = 0;
    } else if (signal == SIGTRAP || signal == SIGSTOP) {
      signal = 0;
    }
    ptrace(PTRACE_SYSCALL, process, 0, signal);
  }
  return 72;
}
