/*
 * Records what a process does to the files of one folder: creations, writes, truncations, removals and syncs, in their order.
 * It is preloaded (LD_PRELOAD) and stands between SQLite and the C library; every call still happens.
 *
 *   RECORDER_FOLDER  the folder, as the process names it, without a slash at its end
 *   RECORDER_LOG     where the records go, outside of the folder
 *
 * A record: length of the name (1 byte), kind (1 byte), offset or size (8 bytes), length of the data (4 bytes), name, data;
 * numbers in the byte order of the machine. Kinds: c create, w write, t truncate, u unlink, s sync; the name of the folder
 * itself is empty. `log.ts` reads them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { files_max = 4096, name_max = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int log_file = -1;
/* The name of the file that a descriptor stands for, plus 1 byte that tells that it is of the folder. */
static struct { char of_folder; char name[name_max]; } files[files_max];

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

__attribute__((constructor)) static void start(void) {
  folder = getenv("RECORDER_FOLDER");
  const char *path = getenv("RECORDER_LOG");
  if (folder == NULL || path == NULL) return;
  folder_length = strlen(folder);
  log_file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The name within the folder, empty for the folder itself; NULL for other paths. */
static const char *name_of(const char *path) {
  if (log_file < 0 || path == NULL || strncmp(path, folder, folder_length) != 0) return NULL;
  const char *rest = path + folder_length;
  if (*rest == '\0') return rest;
  return *rest == '/' && strchr(rest + 1, '/') == NULL && strlen(rest + 1) < name_max ? rest + 1 : NULL;
}

static void record(char kind, const char *name, uint64_t offset, const void *data, uint32_t length) {
  /* What is not recorded would be taken for something that never happened. */
  unsigned char head[14];
  size_t name_length = strlen(name);
  head[0] = (unsigned char)name_length;
  head[1] = (unsigned char)kind;
  memcpy(head + 2, &offset, 8);
  memcpy(head + 10, &length, 4);
  struct iovec parts[3] = {{head, sizeof head}, {(void *)name, name_length}, {(void *)data, length}};
  ssize_t expected = (ssize_t)(sizeof head + name_length + length);
  pthread_mutex_lock(&lock);
  if (syscall(SYS_writev, log_file, parts, 3) != expected) abort();
  pthread_mutex_unlock(&lock);
}

static const char *file_of(int fd) {
  return fd >= 0 && fd < files_max && files[fd].of_folder ? files[fd].name : NULL;
}

static int opened(int fd, const char *name, int is_new) {
  if (fd < 0 || name == NULL) return fd;
  if (fd >= files_max) abort();
  files[fd].of_folder = 1;
  strcpy(files[fd].name, name);
  if (is_new) record('c', name, 0, NULL, 0);
  return fd;
}

static int is_missing(const char *path, const char *name, int flags) {
  return name != NULL && (flags & O_CREAT) != 0 && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
}

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(function, parameters, arguments)                                 \
  int function parameters {                                                   \
    va_list more;                                                             \
    va_start(more, flags);                                                    \
    mode_t mode = mode_of(flags, more);                                       \
    va_end(more);                                                             \
    const char *name = name_of(path);                                         \
    int is_new = is_missing(path, name, flags);                               \
    return opened(REAL(function) arguments, name, is_new);                    \
  }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

int close(int fd) {
  if (fd >= 0 && fd < files_max) files[fd].of_folder = 0;
  return REAL(close)(fd);
}

#define PWRITE(function, offset_type)                                         \
  ssize_t function(int fd, const void *data, size_t size, offset_type at) {   \
    ssize_t done = REAL(function)(fd, data, size, at);                        \
    const char *name = file_of(fd);                                           \
    if (done > 0 && name != NULL) record('w', name, at, data, done);          \
    return done;                                                              \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
  const char *name = file_of(fd);
  off_t at = name == NULL ? 0 : lseek(fd, 0, SEEK_CUR);
  ssize_t done = REAL(write)(fd, data, size);
  if (done > 0 && name != NULL) record('w', name, at, data, done);
  return done;
}

#define TRUNCATE(function, offset_type)                                       \
  int function(int fd, offset_type size) {                                    \
    int failed = REAL(function)(fd, size);                                    \
    const char *name = file_of(fd);                                           \
    if (!failed && name != NULL) record('t', name, size, NULL, 0);            \
    return failed;                                                            \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(function)                                                        \
  int function(int fd) {                                                      \
    int failed = REAL(function)(fd);                                          \
    const char *name = file_of(fd);                                           \
    if (!failed && name != NULL) record('s', name, 0, NULL, 0);               \
    return failed;                                                            \
  }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
  const char *name = name_of(path);
  int failed = REAL(unlink)(path);
  if (!failed && name != NULL) record('u', name, 0, NULL, 0);
  return failed;
}

/* What has no record above must not happen to a file of the folder. */
#define FORBIDDEN(path) do { if (name_of(path) != NULL) abort(); } while (0)
int rename(const char *from, const char *to) {
  FORBIDDEN(from);
  FORBIDDEN(to);
  return REAL(rename)(from, to);
}
