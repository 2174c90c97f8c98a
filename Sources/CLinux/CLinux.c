#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stddef.h>
#include <linux/fs.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int clinux_status(int dirfd, const char *path, bool follow, struct clinux_status *out) {
    struct statx s;
    int flags = AT_NO_AUTOMOUNT;
    if (path == NULL) {
        path = "";
        flags |= AT_EMPTY_PATH;
    } else if (!follow) {
        flags |= AT_SYMLINK_NOFOLLOW;
    }
    int result = statx(dirfd, path, flags, STATX_BASIC_STATS | STATX_BTIME, &s);
    if (result != 0) return result;
    out->device = makedev(s.stx_dev_major, s.stx_dev_minor);
    out->inode = s.stx_ino;
    out->size = s.stx_size;
    out->mode = s.stx_mode;
    out->links = s.stx_nlink;
    out->owner = s.stx_uid;
    out->group = s.stx_gid;
    out->modified_seconds = s.stx_mtime.tv_sec;
    out->modified_nanoseconds = s.stx_mtime.tv_nsec;
    out->changed_seconds = s.stx_ctime.tv_sec;
    out->changed_nanoseconds = s.stx_ctime.tv_nsec;
    out->has_birth = (s.stx_mask & STATX_BTIME) != 0;
    out->birth_seconds = out->has_birth ? s.stx_btime.tv_sec : 0;
    out->birth_nanoseconds = out->has_birth ? s.stx_btime.tv_nsec : 0;
    out->is_mount_point = (s.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    out->flags = s.stx_attributes & (STATX_ATTR_COMPRESSED | STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND | STATX_ATTR_NODUMP);
    return 0;
}

int clinux_identity(const char *path, uint64_t *device, uint64_t *inode) {
    struct statx s;
    int result = statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_INO, &s);
    if (result != 0) return result;
    *device = makedev(s.stx_dev_major, s.stx_dev_minor);
    *inode = s.stx_ino;
    return 0;
}

int clinux_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags) {
    return renameat2(from_dir, from, to_dir, to, flags);
}

int clinux_spawn_close_from(void *actions, int from) {
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

int clinux_spawn_change_folder(void *actions, const char *folder) {
    return posix_spawn_file_actions_addchdir_np(actions, folder);
}

int clinux_spawn_tied(const char *program, char *const argv[], char *const envp[], int socket, int error, pid_t *child) {
    sigset_t all, before;
    sigfillset(&all);
    // Until execvpe the child shares our memory: none of our handlers may run in it.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    volatile int problem = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &usual, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // (We may have ended before.)
        if (getppid() != parent) _exit(1);
        setpgid(0, 0);
        // (A descriptor below 3 would be overwritten, or keep its close-on-exec flag.)
        int in = fcntl(socket, F_DUPFD, 3), err = error < 0 ? -1 : fcntl(error, F_DUPFD, 3);
        if (in < 0 || dup2(in, 0) < 0 || dup2(in, 1) < 0 || (error >= 0 && dup2(err, 2) < 0)) {
            problem = errno;
            _exit(1);
        }
        syscall(SYS_close_range, 3, ~0u, 0);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execvpe(program, argv, envp);
        problem = errno;
        _exit(127);
    }
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) return failure;
    if (problem != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
        return problem;
    }
    *child = pid;
    return 0;
}

int clinux_open_folder(int dirfd, const char *path, bool follow) {
    return openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
}

int clinux_set_modified_fd(int fd, int64_t seconds, int64_t nanoseconds) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    return futimens(fd, times);
}

ssize_t clinux_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count) {
    off_t in = from_offset, out = to_offset;
    return copy_file_range(from, &in, to, &out, count, 0);
}

int clinux_share(int from, int to) { return ioctl(to, FICLONE, from); }

int clinux_sync_file_system(int fd) { return syncfs(fd); }

int clinux_write_out(int fd) {
    return sync_file_range(
        fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

int clinux_unmount(const char *path, int flags) {
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || slash[1] == 0 || strlen(path) >= PATH_MAX) {
        errno = EINVAL;
        return -1;
    }
    char folder[PATH_MAX] = "/", found[PATH_MAX] = "", name[PATH_MAX + 64];
    if (slash != path) memcpy(folder, path, (size_t)(slash - path));
    int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    int result = -1, error = ELOOP;
    // The folder's path according to the kernel: it differs when a link was followed on the way.
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (readlink(name, found, sizeof found - 1) > 0 && strcmp(found, folder) == 0) {
        snprintf(name, sizeof name, "/proc/self/fd/%d/%s", fd, slash + 1);
        result = umount2(name, flags | UMOUNT_NOFOLLOW);
        error = errno;
    }
    close(fd);
    errno = error;
    return result;
}

int64_t clinux_file_system_magic(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (int64_t)status.f_type : 0;
}

int clinux_allocate(int fd, int mode, int64_t offset, int64_t length) {
    return fallocate(fd, mode, offset, length);
}

static int try_lease(int fd, int kind) {
    if (fcntl(fd, F_SETLEASE, kind) != 0) return -1;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return 0;
}

int clinux_try_read_lease(int fd) { return try_lease(fd, F_RDLCK); }
int clinux_try_write_lease(int fd) { return try_lease(fd, F_WRLCK); }

int clinux_open_beneath(int dirfd, const char *path) {
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long result;
    int tries = 0;
    // (EAGAIN: a rename happened meanwhile, and the kernel cannot tell where the path leads.)
    do
        result = syscall(SYS_openat2, dirfd, path, &how, sizeof how);
    while (result < 0 && (errno == EAGAIN || errno == EINTR) && ++tries < 100);
    return (int)result;
}

int clinux_open_path(int dirfd, const char *path) {
    return openat(dirfd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int clinux_set_modified_path(int fd, int64_t seconds, int64_t nanoseconds) {
    // The kernel accepts AT_EMPTY_PATH here only since 5.8, and glibc not at all.
    char path[32];
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return utimensat(AT_FDCWD, path, times, 0);
}

int clinux_leave_no_core(void) {
    // 1, not 0: a program that takes core dumps through a pipe gets them with any limit except 1.
    struct rlimit limit = {1, 1};
    return setrlimit(RLIMIT_CORE, &limit);
}

int clinux_raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t clinux_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    return limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

void clinux_return_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

// By default there are eight arenas for each processor, and each keeps the memory that its threads freed. Done before
// main, as the arenas of the runtime's threads would stay.
__attribute__((constructor)) static void share_arenas(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    mallopt(M_ARENA_MAX, processors < 2 ? 2 : processors > 8 ? 8 : (int)processors);
}

// The loader has changed the code of a library with text relocations: the file does not have those pages.
static int has_text_relocations(const struct dl_phdr_info *object) {
    for (int index = 0; index < object->dlpi_phnum; index++) {
        if (object->dlpi_phdr[index].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[index].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL)) return 1;
        }
    }
    return 0;
}

static int unmap_constants(struct dl_phdr_info *object, size_t size, void *page) {
    // (The vDSO is no file.)
    if (!object->dlpi_name || strstr(object->dlpi_name, "vdso") || has_text_relocations(object)) return 0;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t mask = ~(*(uintptr_t *)page - 1);
        // (Only whole pages: the last one may be shared with the next segment.)
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & mask;
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz) & mask;
        if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void clinux_trim_memory(void) {
    malloc_trim(0);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(unmap_constants, &page);
}

int clinux_pipe(int ends[2], int flags) { return pipe2(ends, flags); }

pid_t clinux_spawn_bound(const char *program, char *const words[], char *const environment[], int output) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) return -1;
    pid_t parent = getpid();
    // No handler of ours may run in the child, whose memory is this process's until it executes the program.
    sigset_t all, before, none;
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = vfork();
    if (child == 0) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        for (int number = 1; number < 65; number++) sigaction(number, &usual, NULL);
        // A parent that has ended by now sends no signal any more.
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || setpgid(0, 0) != 0) _exit(127);
        if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(127);
        syscall(SYS_close_range, 3u, ~0u, 0u);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(program, words, environment);
        _exit(127);
    }
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(null);
    errno = number;
    return child;
}

int clinux_bound(pid_t pid, uint64_t memory, uint64_t seconds, uint64_t file) {
    struct rlimit space = {memory, memory}, time = {seconds, seconds + 1}, size = {file, file}, none = {0, 0};
    int result = prlimit(pid, RLIMIT_AS, &space, NULL);
    result |= prlimit(pid, RLIMIT_CPU, &time, NULL);
    result |= prlimit(pid, RLIMIT_FSIZE, &size, NULL);
    result |= prlimit(pid, RLIMIT_CORE, &none, NULL);
    return result;
}
