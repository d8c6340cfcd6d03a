// Makes one call that writes fail, be cut short, or be the last thing that a process does. Loaded before the C library.
//
// METIER_FAULT is `NUMBER:KIND`: the how manieth call on a file below METIER_FAULT_BELOW, and what becomes of it: `k`illed before, `K`illed after,
// `e` (EIO), `f` (ENOSPC), `s`hort. METIER_FAULT_LOG gets the number of calls when the process ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls;

static int is_below(const char *path) {
  const char *below = getenv("METIER_FAULT_BELOW");
  return below && strncmp(path, below, strlen(below)) == 0;
}

static int is_descriptor_below(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

// What becomes of this call: 0 for nothing.
static char fate(int counts) {
  const char *fault = getenv("METIER_FAULT");
  if (!fault || !counts) return 0;
  char *end;
  long wanted = strtol(fault, &end, 10);
  if (__sync_add_and_fetch(&calls, 1) != wanted || *end != ':') return 0;
  if (end[1] == 'k') kill(getpid(), SIGKILL);
  return end[1];
}

static void after(char kind) {
  if (kind == 'K') kill(getpid(), SIGKILL);
}

static int fails(char kind) {
  if (kind != 'e' && kind != 'f') return 0;
  errno = kind == 'e' ? EIO : ENOSPC;
  return 1;
}

#define REAL(name, ...) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

#define WRITING(name, parameters, ...)                              \
  ssize_t name parameters {                                        \
    char kind = fate(is_descriptor_below(descriptor));             \
    if (fails(kind)) return -1;                                    \
    if (kind == 's' && count > 1) count /= 2;                      \
    ssize_t result = REAL(name, __VA_ARGS__);                      \
    after(kind);                                                   \
    return result;                                                 \
  }

WRITING(write, (int descriptor, const void *bytes, size_t count), descriptor, bytes, count)
WRITING(pwrite, (int descriptor, const void *bytes, size_t count, off_t at), descriptor, bytes, count, at)
WRITING(pwrite64, (int descriptor, const void *bytes, size_t count, off64_t at), descriptor, bytes, count, at)

#define DOING(name, parameters, counts, ...)                        \
  int name parameters {                                            \
    char kind = fate(counts);                                      \
    if (fails(kind)) return -1;                                    \
    int result = REAL(name, __VA_ARGS__);                          \
    after(kind);                                                   \
    return result;                                                 \
  }

DOING(fsync, (int descriptor), is_descriptor_below(descriptor), descriptor)
DOING(fdatasync, (int descriptor), is_descriptor_below(descriptor), descriptor)
DOING(ftruncate, (int descriptor, off_t length), is_descriptor_below(descriptor), descriptor, length)
DOING(ftruncate64, (int descriptor, off64_t length), is_descriptor_below(descriptor), descriptor, length)
DOING(unlink, (const char *path), is_below(path), path)

__attribute__((destructor)) static void report(void) {
  const char *log = getenv("METIER_FAULT_LOG");
  if (!log) return;
  FILE *file = fopen(log, "w");
  if (!file) return;
  fprintf(file, "%ld", calls);
  fclose(file);
}
