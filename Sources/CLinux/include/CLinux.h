// Linux calls that the Glibc module hides from Swift behind _GNU_SOURCE: statx(2), renameat2(2) and a few constants;
// and the headers of xattr(7) and eventfd(2). No logic here: a call is passed on, and errno is left as set.

#ifndef CLINUX_H
#define CLINUX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/types.h>
#include <sys/xattr.h>

#define CLINUX_RENAME_NOREPLACE 1u
#define CLINUX_RENAME_EXCHANGE 2u

/// The result of statx(2) for one file; `has_birth` if the file system has a birth time, `is_mount_point` if the kernel
/// reports a mount there.
struct clinux_status {
    uint64_t device, inode, size;
    uint32_t mode, links, owner, group;
    int64_t modified_seconds, changed_seconds, birth_seconds;
    uint32_t modified_nanoseconds, changed_nanoseconds, birth_nanoseconds;
    bool has_birth, is_mount_point;
    /// The STATX_ATTR_… flags that chattr(1) sets.
    uint64_t flags;
};

/// statx(2) with STATX_BASIC_STATS | STATX_BTIME; `path` NULL means the file `dirfd` itself; a symbolic
/// link as last component is followed only if `follow`.
int clinux_status(int dirfd, const char *path, bool follow, struct clinux_status *out);

/// Device and inode of a path, following links. Does not ask a server or daemon for the file's own attributes
/// (AT_STATX_DONT_SYNC); the names of the path are looked up as usual.
int clinux_identity(const char *path, uint64_t *device, uint64_t *inode);

/// prlimit(2): limits for a process, and for those that it starts later: bytes of address space, seconds of processor
/// time, bytes of a file that it writes; and no core files.
int clinux_bound(pid_t pid, uint64_t memory, uint64_t seconds, uint64_t file);

int clinux_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);

/// posix_spawn_file_actions_addclosefrom_np(3) on a `posix_spawn_file_actions_t`: closes all descriptors from this one
/// on in the new process.
int clinux_spawn_close_from(void *actions, int from);

/// posix_spawn_file_actions_addchdir_np(3), likewise: the new process starts in this folder.
int clinux_spawn_change_folder(void *actions, const char *folder);

/// vfork(2) and execvpe(3) of a program that the kernel kills (SIGKILL) when the calling *thread* ends. `socket` is its
/// standard input and output; `error`, if not negative, its standard error. It leads a process group of its own, no signal
/// is blocked or ignored in it, and it inherits no other descriptor. Returns an errno.
int clinux_spawn_tied(const char *program, char *const argv[], char *const envp[], int socket, int error, pid_t *child);

/// O_PATH and O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC: a folder as a base for other calls, never through a link.
int clinux_open_folder(int dirfd, const char *path, bool follow);

/// O_PATH, O_NOFOLLOW, O_CLOEXEC: any file that has the name, not for reading; a link itself.
int clinux_open_path(int dirfd, const char *path);

/// openat2(2) with RESOLVE_BENEATH: as clinux_open_folder, for a path with links that must not lead out of `dirfd`
/// (EXDEV), not even through an absolute path that leads in again. Linux 5.6.
int clinux_open_beneath(int dirfd, const char *path);

/// futimens(3), setting only the modification time.
int clinux_set_modified_fd(int fd, int64_t seconds, int64_t nanoseconds);

/// FICLONE, ioctl_ficlone(2): `to` shares all bytes of `from`, without a copy. -1 where a file system cannot.
int clinux_share(int from, int to);

/// copy_file_range(2).
ssize_t clinux_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);

/// Disables core dumps of this process, as a file and to a program that collects them (core(5)).
int clinux_leave_no_core(void);

/// setrlimit(2): raises the limit of open files to the hard limit.
int clinux_raise_file_limit(void);
/// The limit of open files; -1: unknown.
int64_t clinux_file_limit(void);

/// syncfs(2).
int clinux_sync_file_system(int fd);

/// sync_file_range(2) of the whole file: writes all changed pages, and waits for them; no metadata, no flush.
int clinux_write_out(int fd);

/// umount2(2) of the mount at this absolute path, in which no component may be a symbolic link. (A user who may rename
/// a folder above could otherwise make root unmount another mount.) -1, ELOOP: there is a link.
int clinux_unmount(const char *path, int flags);

#define CLINUX_UNMOUNT_FORCE 1
#define CLINUX_UNMOUNT_DETACH 2

/// statfs(2): the file system's magic number, 0 if unknown.
int64_t clinux_file_system_magic(const char *path);

/// fallocate(2).
int clinux_allocate(int fd, int mode, int64_t offset, int64_t length);

#define CLINUX_ALLOCATE_KEEP_SIZE 0x01
#define CLINUX_ALLOCATE_PUNCH_HOLE 0x02
#define CLINUX_ALLOCATE_ZERO_RANGE 0x10
#define CLINUX_SEEK_DATA 3
#define CLINUX_SEEK_HOLE 4

/// fcntl(2), F_SETLEASE with F_RDLCK or F_WRLCK, and at once F_UNLCK: 0 when the lease would be granted.
int clinux_try_read_lease(int fd);
int clinux_try_write_lease(int fd);

/// The same for an O_PATH descriptor of a file, folder or link (the link's own time).
int clinux_set_modified_path(int fd, int64_t seconds, int64_t nanoseconds);

/// pipe2(2).
int clinux_pipe(int ends[2], int flags);

/// vfork(2) and execve(2): a program in a process group of its own that the kernel kills when the calling thread ends
/// (prctl(2), PR_SET_PDEATHSIG, which posix_spawn(3) does not have). No signal is blocked or ignored in it, `output` is its
/// standard output and standard error, and it has no other file of this process. A program that cannot be executed
/// ends with the status 127.
pid_t clinux_spawn_bound(const char *program, char *const words[], char *const environment[], int output);

/// Returns large pieces of memory to the system when they are freed, instead of keeping ever larger ones for reuse
/// (mallopt(3), M_MMAP_THRESHOLD, M_TRIM_THRESHOLD). The number of arenas (M_ARENA_MAX) is limited before main.
void clinux_return_memory(void);

/// Returns freed memory to the system, as far as whole pages are free (malloc_trim(3)), and lets go of code and constants
/// (madvise(2), MADV_DONTNEED): the kernel maps what is used again when it is used, from its cache of the file.
void clinux_trim_memory(void);

#endif
