"""An ordinary user's FUSE mount without libfuse: the device, after the INIT that agrees on passthrough."""

import array
import os
import socket
import struct
import subprocess

EXTENDED, PASSTHROUGH = 1 << 30, 1 << 37


def mount(folder):
    """The device's descriptor. fusermount3 mounts, and passes it over."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with here, there:
        subprocess.run(
            ["fusermount3", "-o", "rw,nosuid,nodev,subtype=attack", "--", folder], check=True,
            pass_fds=[there.fileno()], env={**os.environ, "_FUSE_COMMFD": str(there.fileno())})
        _, control, _, _ = here.recvmsg(1, socket.CMSG_SPACE(4))
        descriptors = array.array("i")
        descriptors.frombytes(control[0][2][:4])
    greet(descriptors[0])
    return descriptors[0]


def greet(device):
    """Answers the kernel's INIT (linux/fuse.h, struct fuse_init_out as of 7.40)."""
    request = os.read(device, 1 << 21)
    _, opcode, unique = struct.unpack_from("=IIQ", request)
    assert opcode == 26, opcode
    flags, flags2 = struct.unpack_from("=II", request, 52)
    if not (flags & EXTENDED and (flags2 << 32) & PASSTHROUGH):
        raise NotImplementedError("this kernel has no passthrough (Linux 6.9 has it)")
    body = struct.pack(
        "=IIIIHHIIHHIIHH20x", 7, 40, 1 << 17, EXTENDED, 12, 9, 1 << 17, 1, 32, 0, PASSTHROUGH >> 32, 1, 0, 0)
    assert len(body) == 64, len(body)
    os.write(device, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
