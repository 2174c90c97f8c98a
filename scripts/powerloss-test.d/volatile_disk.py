"""A disk with a volatile cache, for a loop device: one file in a FUSE file system of its own, served here through the
kernel's protocol (linux/fuse.h), so that every write and every flush of the file system above is seen in order.

After a power cut such a disk has all writes before the last completed flush, and any part of the later writes, in any
order, torn at any sector. cut() makes such an image, at one moment, while everything above goes on."""

import ctypes
import errno
import glob
import os
import random
import select
import socket
import stat
import struct
import subprocess
import sys

SECTOR = 512
libc = ctypes.CDLL(None, use_errno=True)
NAME, NODE = b"disk", 2
LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, DESTROY = (
    1, 2, 3, 14, 15, 16, 17, 18, 20, 25, 26, 36, 38)
BATCH_FORGET = 42
MAX_WRITE = 1 << 20


def take_down_dead():
    """Removes mounts of a killed run: while one is there, mkfs.btrfs fails (it looks at every mounted loop device)."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        lines = [line.split(" ") for line in mounts]
    for folder in [line[1] for line in lines if line[2] == "fuse.volatile-disk"]:
        try:
            os.stat(folder)
            continue
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                continue
        run = os.path.dirname(folder) + "/"
        loops = [loop for loop in glob.glob("/sys/block/loop*") if backing_file(loop).startswith(run)]
        for line in reversed(lines):
            if line[1].startswith(run):
                libc.umount2(os.fsencode(line[1]), 2)
        for loop in loops:
            subprocess.run(["losetup", "-d", "/dev/" + os.path.basename(loop)], check=False, stderr=subprocess.DEVNULL)


def backing_file(loop):
    try:
        with open(loop + "/loop/backing_file", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


class VolatileDisk:
    """Runs in a process of its own (serve()); its other methods are for the starting process."""

    def __init__(self, folder, image):
        """`image` is the changing disk; beside it is its durable part."""
        self.folder, self.image, self.durable_image = folder, image, image + ".durable"
        self.disk = os.path.join(folder, NAME.decode())
        self.here, self.there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    # For the starting process

    def start(self):
        copy(self.image, self.durable_image)
        self.fuse = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.fuse},rootmode=40000,user_id=0,group_id=0"
        if libc.mount(b"disk", os.fsencode(self.folder), b"fuse.volatile-disk", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), f"mount {self.folder}")
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                self.here.close()
                self.serve()
                code = 0
            finally:
                os._exit(code)
        os.close(self.fuse)
        self.there.close()

    def cut(self, target, seed):
        """Makes `target` the image that a power cut would leave at this moment; returns how much of it was not
        flushed."""
        self.here.send(f"{seed}\n{target}".encode())
        return self.here.recv(1000).decode()

    def end(self):
        libc.umount2(os.fsencode(self.folder), 2)
        self.here.close()
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass

    # The disk itself

    def serve(self):
        self.current, self.durable = os.open(self.image, os.O_RDWR), os.open(self.durable_image, os.O_RDWR)
        self.size = os.fstat(self.current).st_size
        self.pending = []
        waiting = select.poll()
        waiting.register(self.fuse, select.POLLIN)
        waiting.register(self.there, select.POLLIN)
        while True:
            for ready, events in waiting.poll():
                if ready == self.there.fileno():
                    order = self.there.recv(10_000).decode()
                    if not order:
                        # Unmounted lazily: the last user of the file ends it.
                        waiting.unregister(self.there)
                        continue
                    self.there.send(self.make_cut(*order.split("\n")).encode())
                elif not self.answer_one():
                    return

    def make_cut(self, seed, target):
        choose = random.Random(seed)
        copy(self.durable_image, target)
        kept, total = 0, 0
        share = choose.choice((0, 1, None, choose.random()))
        upto = choose.randint(0, len(self.pending))
        file = os.open(target, os.O_RDWR)
        for number, (offset, data) in enumerate(self.pending):
            for start in range(0, len(data), SECTOR * 8):
                total += 1
                # None: the first writes, in order.
                keeps = number < upto if share is None else choose.random() < share
                if keeps:
                    kept += 1
                    piece = data[start:start + SECTOR * 8]
                    if share not in (None, 1) and choose.random() < 0.05:
                        piece = piece[:SECTOR * choose.randint(1, 8)]
                    os.pwrite(file, piece, offset + start)
        os.close(file)
        return f"{kept} of {total} blocks that were not flushed"

    def answer_one(self):
        try:
            request = os.read(self.fuse, MAX_WRITE + 4096)
        except OSError as error:
            return error.errno in (4, 11, 2)  # EINTR, EAGAIN, ENOENT; ENODEV: unmounted
        length, opcode, unique, node = struct.unpack_from("=IIQQ", request)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return True
        error, body = 0, b""
        try:
            body = self.answer(opcode, node, request[40:length])
        except OSError as failure:
            error, body = -failure.errno, b""
        try:
            os.write(self.fuse, struct.pack("=IiQ", 16 + len(body), error, unique) + body)
        except OSError:
            pass  # the caller is gone
        return opcode != DESTROY

    def answer(self, opcode, node, body):
        if opcode == INIT:
            async_read, big_writes, max_pages = 1 << 0, 1 << 5, 1 << 22
            return struct.pack(
                "=IIIIHHIIHHI7I", 7, 31, 1 << 20, async_read | big_writes | max_pages, 64, 48, MAX_WRITE, 1,
                MAX_WRITE // 4096, 0, 0, *[0] * 7)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != NAME:
                raise OSError(2, "")
            return struct.pack("=QQQQII", NODE, 1, 3600, 3600, 0, 0) + self.attributes(NODE)
        if opcode == GETATTR:
            return struct.pack("=QII", 3600, 0, 0) + self.attributes(node)
        if opcode == OPEN:
            return struct.pack("=QIi", 0, 0, 0)
        if opcode == READ:
            _, offset, count = struct.unpack_from("=QQI", body)
            return os.pread(self.current, count, offset)
        if opcode == WRITE:
            _, offset, count = struct.unpack_from("=QQI", body)
            data = body[40:40 + count]
            os.pwrite(self.current, data, offset)
            self.pending.append((offset, data))
            return struct.pack("=II", count, 0)
        if opcode == FSYNC:
            for offset, data in self.pending:
                os.pwrite(self.durable, data, offset)
            self.pending = []
            return b""
        if opcode == STATFS:
            return struct.pack("=QQQQQIIII6I", 1 << 20, 1 << 19, 1 << 19, 100, 100, 4096, 255, 4096, 0, *[0] * 6)
        if opcode in (RELEASE, FLUSH, DESTROY):
            return b""
        raise OSError(38, "")  # ENOSYS: discards, for one

    def attributes(self, node):
        is_disk = node == NODE
        mode, size = (stat.S_IFREG | 0o600, self.size) if is_disk else (stat.S_IFDIR | 0o700, 0)
        return struct.pack(
            "=QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1 if is_disk else 2, 0, 0, 0, 4096, 0)


def copy(source, target):
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", source, target], check=True)
