// hydrant-passthrough: the kernel's passthrough of FUSE for ordinary users.
//
// FUSE_DEV_IOC_BACKING_OPEN and _CLOSE (linux/fuse.h) need CAP_SYS_ADMIN. This program has it, as a file capability,
// and does these two calls for the daemon that started it, and nothing else. It is written in C, and small, because no
// other part of Hydrant has a right that its caller lacks: it can be read in one sitting, and links only the C library.
// "Passthrough" in the documentation says what an attacker gains by it, and why not more.
//
// Standard input is one end of a socketpair(2), AF_UNIX and SOCK_SEQPACKET. A request is a struct
// hydrant_backing_request; "start" comes with one descriptor, the FUSE device, and "open" with one, the file. The
// answer is an int32_t: a backing id, 0, or -errno. The program ends when the other end is closed.

#define _GNU_SOURCE
#include "../CFUSE/passthrough.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

// A process could not hold open more than this itself.
static rlim_t limit;
static rlim_t count;
static int device = -1;

// MARK: Rights

static int set_capabilities(bool effective) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    memset(data, 0, sizeof data);
    data[CAP_TO_INDEX(CAP_SYS_ADMIN)].permitted = CAP_TO_MASK(CAP_SYS_ADMIN);
    if (effective) data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective = CAP_TO_MASK(CAP_SYS_ADMIN);
    return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

// The only place where the right is in effect. The kernel keeps our credentials for later (it reads and writes the file
// with them): so only those file systems are accepted on which they make no difference.
static int32_t privileged_ioctl(unsigned long request, void *argument) {
    int32_t error = set_capabilities(true);
    if (error != 0) return error;
    int result = ioctl(device, request, argument);
    error = errno;
    if (set_capabilities(false) != 0) _exit(70);
    return result < 0 ? -error : result;
}

// MARK: Checks

static bool is_fuse_device(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(10, 229);
}

// The kernel opens a backing file again, for reading and writing, without checking the opener's rights. So accept only
// files that the caller could open again: it owns the file, and holds it open for reading and writing. Append-only
// files (chattr +a) can be opened for writing with O_APPEND only, which the kernel would drop; F_SETFL cannot clear the
// flag on those.
static int32_t refusal(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -errno;
    if ((flags & O_PATH) || (flags & O_ACCMODE) != O_RDWR || (flags & O_APPEND)) return -EACCES;
    struct stat status;
    if (fstat(fd, &status) != 0) return -errno;
    if (!S_ISREG(status.st_mode)) return -EINVAL;
    if (status.st_uid != getuid()) return -EACCES;
    // Plain files on a disk. In other file systems (proc, sysfs, cgroup, another FUSE) open and write have effects that
    // depend on the caller.
    struct statfs system;
    if (fstatfs(fd, &system) != 0) return -errno;
    switch ((unsigned long)system.f_type) {
        case 0xEF53:      // ext2, ext3, ext4
        case 0x58465342:  // XFS
        case 0x9123683E:  // Btrfs
        case 0xF2F52010:  // F2FS
            return 0;
        default: return -EMEDIUMTYPE;
    }
}

// MARK: Requests

static int32_t start(int fd) {
    if (device >= 0) return -EALREADY;
    if (!is_fuse_device(fd)) return -ENODEV;
    int32_t error = set_capabilities(true);
    if (error != 0 || (error = set_capabilities(false)) != 0) return error;
    device = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return device < 0 ? -errno : 0;
}

static int32_t open_backing(int fd) {
    if (device < 0) return -ENODEV;
    if (count >= limit) return -EMFILE;
    int32_t error = refusal(fd);
    if (error != 0) return error;
    struct hydrant_backing_map map = {.fd = fd, .flags = 0, .padding = 0};
    int32_t result = privileged_ioctl(HYDRANT_IOC_BACKING_OPEN, &map);
    if (result > 0) count++;
    return result;
}

static int32_t close_backing(uint32_t id) {
    if (device < 0) return -ENODEV;
    int32_t result = privileged_ioctl(HYDRANT_IOC_BACKING_CLOSE, &id);
    if (result == 0 && count > 0) count--;
    return result;
}

static int32_t answer(const struct hydrant_backing_request *request, int fd) {
    bool wants_descriptor = request->operation == HYDRANT_BACKING_START || request->operation == HYDRANT_BACKING_OPEN;
    if (wants_descriptor != (fd >= 0)) return -EBADF;
    switch (request->operation) {
        case HYDRANT_BACKING_START: return start(fd);
        case HYDRANT_BACKING_OPEN: return open_backing(fd);
        case HYDRANT_BACKING_CLOSE: return close_backing(request->backing);
        default: return -EOPNOTSUPP;
    }
}

// Before the next request, wanted or not. By number, because the kernel has more than one way to pass a descriptor
// (SCM_RIGHTS, and SCM_PIDFD when the caller asks for it), and may get others.
static void close_what_came(void) {
    if (device > 3) syscall(SYS_close_range, 3, device - 1, 0);
    if (syscall(SYS_close_range, device < 0 ? 3 : device + 1, ~0U, 0) != 0) _exit(70);
}

// Handles one request. False: the other end is closed.
static bool serve_one(void) {
    struct hydrant_backing_request request;
    struct iovec vector = {.iov_base = &request, .iov_len = sizeof request};
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
    if (length < 0) return errno == EINTR;
    if (length == 0) return false;

    int descriptors[2], received = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t size = part->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= size && received < 2; at += sizeof(int)) {
            memcpy(&descriptors[received++], CMSG_DATA(part) + at, sizeof(int));
        }
    }
    bool is_whole = length == sizeof request && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && received <= 1;
    int32_t result = is_whole ? answer(&request, received == 1 ? descriptors[0] : -1) : -EINVAL;
    close_what_came();
    ssize_t sent;
    do sent = send(STDIN_FILENO, &result, sizeof result, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == sizeof result;
}

// MARK: The start

static void die(const char *text) {
    fprintf(stderr, "hydrant-passthrough: %s\n", text);
    exit(64);
}

// The caller chose our arguments, environment, limits, signals and open files.
static void shut_out_the_caller(void) {
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX
        || getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
        die("started by hydrant, not by hand: it gives an ordinary user's mounts passthrough");
    }
    struct ucred peer;
    size = sizeof peer;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != getuid()) {
        die("standard input was made by another user");
    }
    if (getuid() != geteuid() || getgid() != getegid()) die("must not be setuid or setgid; use setcap cap_sys_admin=p");
    if (getuid() == 0) die("the superuser needs no helper");
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) die("no limit of open files");
    limit = files.rlim_max;
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0
        || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_close_range, 3, ~0U, 0) != 0 || chdir("/") != 0) {
        die("cannot shut out its caller");
    }
}

int main(void) {
    shut_out_the_caller();
    // Without the file capability this fails, and "start" reports it.
    set_capabilities(false);
    while (serve_one()) {}
    return 0;
}
