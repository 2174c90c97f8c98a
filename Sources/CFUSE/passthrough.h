// Passthrough (protocol 7.40), which the headers of libfuse 3.14 lack; and the requests to hydrant-passthrough, which
// makes these ioctls for processes that may not.
#ifndef HYDRANT_CFUSE_PASSTHROUGH_H
#define HYDRANT_CFUSE_PASSTHROUGH_H

#include <stdint.h>
#include <sys/ioctl.h>

struct hydrant_backing_map {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
};

#define HYDRANT_IOC_BACKING_OPEN _IOW(229, 1, struct hydrant_backing_map)
#define HYDRANT_IOC_BACKING_CLOSE _IOW(229, 2, uint32_t)

/// One packet. The answer is an int32_t: a backing id, 0, or -errno.
struct hydrant_backing_request {
    uint32_t operation;
    /// The id to close.
    uint32_t backing;
};

enum {
    /// With the FUSE device as SCM_RIGHTS; once, first. EPERM: the program lacks its capability.
    HYDRANT_BACKING_START = 1,
    /// With the file as SCM_RIGHTS.
    HYDRANT_BACKING_OPEN = 2,
    HYDRANT_BACKING_CLOSE = 3,
};

#endif
