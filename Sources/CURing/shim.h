// The parts of liburing that FUSE over io_uring needs, and the kernel's structs for it (linux/fuse.h as of protocol
// 7.42), which Debian's headers lack. Only the FUSE target may import this.
#ifndef HYDRANT_CURING_SHIM_H
#define HYDRANT_CURING_SHIM_H

#if defined(__clang__) && __has_feature(modules)
#pragma clang module import SwiftGlibc
#endif

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// MARK: The kernel's structs (Documentation/filesystems/fuse/fuse-io-uring.rst)

/// `fuse_uring_req_header`: in a request, fuse_in_header, the operation's struct, and the last part; in an answer,
/// fuse_out_header and the last part. All else is payload.
struct hydrant_ring_header {
    char in_out[128];
    char operation[128];
    uint64_t flags;
    uint64_t commit_id;
    uint32_t payload_size;
    uint32_t padding;
    uint64_t reserved;
};

/// `fuse_uring_cmd_req`
struct hydrant_ring_command {
    uint64_t flags;
    uint64_t commit_id;
    uint16_t queue;
    uint8_t padding[6];
};

_Static_assert(sizeof(struct hydrant_ring_header) == 288, "fuse_uring_req_header is 288 bytes");
_Static_assert(sizeof(struct hydrant_ring_command) == 24, "fuse_uring_cmd_req is 24 bytes");

enum { HYDRANT_RING_REGISTER = 1, HYDRANT_RING_COMMIT_AND_FETCH = 2 };

// MARK: A ring, which one thread uses

struct hydrant_ring {
    struct io_uring uring;
    /// Another thread wakes the ring's thread with a write.
    int wake;
    uint64_t woken;
};

/// 0 or -errno.
static inline int hydrant_ring_open(struct hydrant_ring *ring, unsigned entries) {
    struct io_uring_params parameters = {0};
    // (With SINGLE_ISSUER and DEFER_TASKRUN a request took a tenth to a half longer.)
    parameters.flags = IORING_SETUP_SQE128 | IORING_SETUP_CLAMP;
    memset(ring, 0, sizeof *ring);
    ring->wake = eventfd(0, EFD_CLOEXEC);
    if (ring->wake < 0) return -errno;
    int result = io_uring_queue_init_params(entries, &ring->uring, &parameters);
    if (result < 0) {
        close(ring->wake);
        ring->wake = -1;
    }
    return result;
}

static inline void hydrant_ring_close(struct hydrant_ring *ring) { io_uring_queue_exit(&ring->uring); }

/// When no thread can wake it any more: the number of its descriptor may be another file's afterwards.
static inline void hydrant_ring_forget(struct hydrant_ring *ring) {
    if (ring->wake >= 0) close(ring->wake);
}

static inline struct io_uring_sqe *hydrant_ring_slot(struct hydrant_ring *ring) {
    struct io_uring_sqe *slot = io_uring_get_sqe(&ring->uring);
    if (slot != NULL) return slot;
    io_uring_submit(&ring->uring);
    return io_uring_get_sqe(&ring->uring);
}

/// The next wake-up completes with a NULL tag. False: no room, which does not happen, as submitting makes room.
static inline _Bool hydrant_ring_watch(struct hydrant_ring *ring) {
    struct io_uring_sqe *slot = hydrant_ring_slot(ring);
    if (slot == NULL) return 0;
    memset(slot, 0, 2 * sizeof *slot);
    io_uring_prep_read(slot, ring->wake, &ring->woken, sizeof ring->woken, 0);
    return 1;
}

/// First on the ring's thread.
static inline _Bool hydrant_ring_begin(struct hydrant_ring *ring) {
    // Saves looking the descriptor up in each call; without it all works as well.
    io_uring_register_ring_fd(&ring->uring);
    return hydrant_ring_watch(ring);
}

static inline void hydrant_ring_wake(struct hydrant_ring *ring) {
    uint64_t one = 1;
    ssize_t ignored = write(ring->wake, &one, sizeof one);
    (void)ignored;
}

/// Prepares a command for an entry; `parts` (two: the header, the payload) only to register it.
static inline _Bool hydrant_ring_command(
    struct hydrant_ring *ring, int device, uint32_t operation, uint16_t queue, uint64_t commit_id,
    const struct iovec *parts, void *tag
) {
    struct io_uring_sqe *slot = hydrant_ring_slot(ring);
    if (slot == NULL) return 0;
    memset(slot, 0, 2 * sizeof *slot);
    slot->opcode = IORING_OP_URING_CMD;
    slot->fd = device;
    slot->cmd_op = operation;
    slot->user_data = (uint64_t)(uintptr_t)tag;
    if (parts != NULL) {
        slot->addr = (uint64_t)(uintptr_t)parts;
        slot->len = 2;
    }
    struct hydrant_ring_command command = {.commit_id = commit_id, .queue = queue};
    memcpy(slot->cmd, &command, sizeof command);
    return 1;
}

/// Submits what is prepared, and waits for a completion. 0 or -errno.
static inline int hydrant_ring_wait(struct hydrant_ring *ring) {
    int result = io_uring_submit_and_wait(&ring->uring, 1);
    return result < 0 ? result : 0;
}

/// Whether something is prepared.
static inline _Bool hydrant_ring_has_commands(struct hydrant_ring *ring) { return io_uring_sq_ready(&ring->uring) > 0; }

/// Submits what is prepared. 0 or -errno.
static inline int hydrant_ring_submit(struct hydrant_ring *ring) {
    int result = io_uring_submit(&ring->uring);
    return result < 0 ? result : 0;
}

/// Takes the next completion; false: there is none.
static inline _Bool hydrant_ring_next(struct hydrant_ring *ring, void **tag, int32_t *result) {
    struct io_uring_cqe *completion = NULL;
    if (io_uring_peek_cqe(&ring->uring, &completion) != 0 || completion == NULL) return 0;
    *tag = (void *)(uintptr_t)completion->user_data;
    *result = completion->res;
    io_uring_cqe_seen(&ring->uring, completion);
    return 1;
}

// MARK: Threads

static inline int hydrant_thread_number(void) { return (int)syscall(SYS_gettid); }

// (The C library's functions are hidden without _GNU_SOURCE.) 0: the calling thread.
static inline int hydrant_get_processors(int thread, size_t size, unsigned long *mask) {
    return (int)syscall(SYS_sched_getaffinity, thread, size, mask);
}
static inline int hydrant_set_processors(int thread, size_t size, const unsigned long *mask) {
    return (int)syscall(SYS_sched_setaffinity, thread, size, mask);
}

#endif
