// What Linux has and the Glibc module does not show to Swift, because it stands behind _GNU_SOURCE:
// statx(2), renameat2(2) and a few constants; and the headers of xattr(7) and eventfd(2).
// No logic here: a call is passed on, errno stays as it was set.

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

/// What statx(2) says of one file; `has_birth` where the file system knows the birth time, `is_mount_point` where the
/// kernel says that something is mounted there.
struct clinux_status {
    uint64_t device, inode, size;
    uint32_t mode, links, owner, group;
    int64_t modified_seconds, changed_seconds, birth_seconds;
    uint32_t modified_nanoseconds, changed_nanoseconds, birth_nanoseconds;
    bool has_birth, is_mount_point;
    /// Of STATX_ATTR_…: those that chattr(1) sets.
    uint64_t flags;
};

/// statx(2) with STATX_BASIC_STATS | STATX_BTIME; `path` NULL means the file `dirfd` itself; a symbolic
/// link as last component is followed only if `follow`.
int clinux_status(int dirfd, const char *path, bool follow, struct clinux_status *out);

/// Device and inode of what a path names, links followed. Its own attributes are not asked for at a server or daemon
/// (AT_STATX_DONT_SYNC); the names on the way are looked up as ever.
int clinux_identity(const char *path, uint64_t *device, uint64_t *inode);

/// prlimit(2): what a process, and those that it starts from then on, may take: bytes of address space, seconds of processor
/// time, bytes of a file that it writes; and no core files.
int clinux_bound(pid_t pid, uint64_t memory, uint64_t seconds, uint64_t file);

int clinux_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);

/// posix_spawn_file_actions_addclosefrom_np(3), of a `posix_spawn_file_actions_t`: the new process has no descriptor from this
/// one on.
int clinux_spawn_close_from(void *actions, int from);

/// posix_spawn_file_actions_addchdir_np(3), of the same: the new process begins in this folder.
int clinux_spawn_change_folder(void *actions, const char *folder);

/// O_PATH and O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC: a folder to start from, never through a link.
int clinux_open_folder(int dirfd, const char *path, bool follow);

/// O_PATH, O_NOFOLLOW, O_CLOEXEC: whatever has the name, not for reading; of a link, the link itself.
int clinux_open_path(int dirfd, const char *path);

/// openat2(2) with RESOLVE_BENEATH: as clinux_open_folder, of a path that may have links in it, none of which leads out of
/// `dirfd` (EXDEV), not even with an absolute path that leads in again. Linux 5.6.
int clinux_open_beneath(int dirfd, const char *path);

/// futimens(3), setting only the modification time.
int clinux_set_modified_fd(int fd, int64_t seconds, int64_t nanoseconds);

/// FICLONE, ioctl_ficlone(2): all of `to` becomes that of `from`, without a copy of the bytes. -1 where a file system cannot.
int clinux_share(int from, int to);

/// copy_file_range(2).
ssize_t clinux_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);

/// From now on this process leaves no core dump, neither as a file nor to a program that collects them (core(5)).
int clinux_leave_no_core(void);

/// setrlimit(2): as many open files as the hard limit allows.
int clinux_raise_file_limit(void);
/// How many files may be open; -1: it is not known.
int64_t clinux_file_limit(void);

/// syncfs(2).
int clinux_sync_file_system(int fd);

/// umount2(2) of what is mounted at this absolute path, which must be free of symbolic links: none is followed, in no part of
/// it. (Who may rename a folder above could otherwise have root unmount what he points at.) -1, ELOOP: there is one.
int clinux_unmount(const char *path, int flags);

#define CLINUX_UNMOUNT_FORCE 1
#define CLINUX_UNMOUNT_DETACH 2

/// statfs(2): the file system's magic number, 0 when it cannot be told.
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

/// The same for an O_PATH descriptor of a file, folder or link (of which it is the link's own time).
int clinux_set_modified_path(int fd, int64_t seconds, int64_t nanoseconds);

/// pipe2(2).
int clinux_pipe(int ends[2], int flags);

/// From now on large pieces of memory go back to the system when they are freed, instead of larger and larger ones being
/// kept for the next (mallopt(3), M_MMAP_THRESHOLD, M_TRIM_THRESHOLD). That threads share few arenas (M_ARENA_MAX) is seen
/// to before main.
void clinux_return_memory(void);

/// malloc_trim(3): what was freed goes back to the system, as far as whole pages of it are free.
void clinux_trim_memory(void);

#endif
