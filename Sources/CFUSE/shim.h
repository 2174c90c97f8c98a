// The parts of libfuse 3.14's low-level API that Hydrant uses, and those that Swift cannot import: macros, ioctls,
// variadic callbacks, and kernel structs that libfuse 3.14 lacks. Only the FUSE target may import this.
#ifndef HYDRANT_CFUSE_SHIM_H
#define HYDRANT_CFUSE_SHIM_H

#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 314
#endif

// Without this, the C library's structs would be defined here a second time, and `stat` and `timespec` would count as
// CFUSE's instead of Glibc's in the FUSE target's public API.
#if defined(__clang__) && __has_feature(modules)
#pragma clang module import SwiftGlibc
#endif

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "passthrough.h"

// MARK: The kernel's structs

/// `fuse_open_out` as of protocol 7.40; the last field is padding in older headers.
struct hydrant_open_out {
    uint64_t fh;
    uint32_t open_flags;
    int32_t backing_id;
};

/// The reply to CREATE: an entry and an open file.
struct hydrant_create_out {
    struct fuse_entry_out entry;
    struct hydrant_open_out open;
};

_Static_assert(sizeof(struct hydrant_open_out) == 16, "fuse_open_out is 16 bytes");
_Static_assert(sizeof(struct fuse_entry_out) == 128, "fuse_entry_out is 128 bytes");
_Static_assert(sizeof(struct hydrant_create_out) == 144, "CREATE is answered with 144 bytes");

enum {
    HYDRANT_OPEN_DIRECT_IO = 1 << 0,
    HYDRANT_OPEN_KEEP_CACHE = 1 << 1,
    HYDRANT_OPEN_CACHE_DIRECTORY = 1 << 3,
    HYDRANT_OPEN_NO_FLUSH = 1 << 5,
    HYDRANT_OPEN_PASSTHROUGH = 1 << 7,
};

// MARK: Passthrough (protocol 7.40)

/// The backing id of `fd`, or -errno.
static inline int32_t hydrant_backing_open(int device, int32_t fd) {
    struct hydrant_backing_map map = {.fd = fd, .flags = 0, .padding = 0};
    int result = ioctl(device, HYDRANT_IOC_BACKING_OPEN, &map);
    return result < 0 ? -errno : result;
}

static inline int32_t hydrant_backing_close(int device, int32_t backing) {
    uint32_t argument = (uint32_t)backing;
    return ioctl(device, HYDRANT_IOC_BACKING_CLOSE, &argument) < 0 ? -errno : 0;
}

/// Whether this process may register files: 0, or -EPERM; other errors do not tell.
static inline int32_t hydrant_backing_probe(int device) {
    int fd = (int)syscall(SYS_memfd_create, "hydrant-probe", 1u /* MFD_CLOEXEC */);
    if (fd < 0) return -errno;
    int32_t result = hydrant_backing_open(device, fd);
    close(fd);
    if (result > 0) hydrant_backing_close(device, result);
    return result < 0 ? result : 0;
}

/// Sends a request to hydrant-passthrough at the other end of `socket`, with `fd` unless it is negative. Returns its
/// answer, or -EPIPE: none.
static inline int32_t hydrant_ask_helper(int socket, struct hydrant_backing_request request, int32_t fd) {
    struct iovec vector = {.iov_base = &request, .iov_len = sizeof request};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control = {{0}};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(part), &fd, sizeof(int));
    }
    ssize_t length;
    do length = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (length < 0 && errno == EINTR);
    int32_t answer = 0;
    if (length == sizeof request) {
        do length = recv(socket, &answer, sizeof answer, 0);
        while (length < 0 && errno == EINTR);
    } else {
        length = -1;
    }
    return length == sizeof answer ? answer : -EPIPE;
}

// MARK: The threads

/// A thread of a session. In C, because libfuse ends a thread that is blocked in `read` by cancelling it, and the
/// unwinding would skip Swift's releases.
struct hydrant_worker {
    pthread_t thread;
    struct fuse_session *session;
    struct fuse_buf buffer;
    /// Called last by a thread that was not cancelled, with 0 or -errno.
    void (*ended)(void *context, int result);
    void *context;
};

static inline void *hydrant_work(void *argument) {
    struct hydrant_worker *worker = (struct hydrant_worker *)argument;
    int result = 0, ignored;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    while (!fuse_session_exited(worker->session)) {
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
        result = fuse_session_receive_buf(worker->session, &worker->buffer);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
        if (result == -EINTR || result == -EAGAIN) { continue; }
        if (result <= 0) { break; }
        fuse_session_process_buf(worker->session, &worker->buffer);
    }
    worker->ended(worker->context, result < 0 ? result : 0);
    return NULL;
}

/// 0 or a positive errno. The thread blocks all signals, for the program's own threads.
static inline int hydrant_worker_start(struct hydrant_worker *worker) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&worker->thread, NULL, hydrant_work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static inline void hydrant_worker_join(struct hydrant_worker *worker) {
    pthread_join(worker->thread, NULL);
    free(worker->buffer.mem);
    worker->buffer.mem = NULL;
}

// MARK: Differences between releases

// Expires a name (FUSE_EXPIRE_ONLY). Up to libfuse 3.15 the call takes flags, and kernels without this one drop the
// entry. From 3.16 on such kernels return -ENOSYS.
static inline int hydrant_expire_entry(
    struct fuse_session *session, fuse_ino_t parent, const char *name, size_t length
) {
#if FUSE_MINOR_VERSION < 16
    return fuse_lowlevel_notify_expire_entry(session, parent, name, length, FUSE_LL_EXPIRE_ONLY);
#else
    return fuse_lowlevel_notify_expire_entry(session, parent, name, length);
#endif
}

// MARK: The right to mount

/// Whether mount(2) is allowed to this process (CAP_SYS_ADMIN), so that libfuse needs no fusermount3.
static inline int hydrant_may_mount(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &header, data) == 0 && ((data[0].effective >> CAP_SYS_ADMIN) & 1);
}

// MARK: Declarations that Glibc's module lacks

// Swift imports the C library without _GNU_SOURCE, which hides these.
extern int dup3(int from, int to, int flags);
enum { HYDRANT_O_DIRECT = __O_DIRECT };

/// Makes `fd` a duplicate of `replacement`.
static inline int hydrant_replace(int fd, int replacement) {
    int result;
    do {
        result = dup3(replacement, fd, O_CLOEXEC);
    } while (result < 0 && (errno == EBUSY || errno == EINTR));
    return result;
}

// MARK: libfuse's log

/// Implemented in FUSELog.swift.
extern void hydrant_fuse_log(int32_t level, const char *text);

static inline void hydrant_format_log(enum fuse_log_level level, const char *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    hydrant_fuse_log((int32_t)level, text);
}

/// libfuse has one log for the whole process.
static inline void hydrant_install_log(void) { fuse_set_log_func(hydrant_format_log); }

#endif
