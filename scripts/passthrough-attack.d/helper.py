"""A running hydrant-passthrough, and the requests to it (Sources/CFUSE/passthrough.h)."""

import array
import errno
import socket
import struct
import subprocess

START, OPEN, CLOSE = 1, 2, 3


class Gone(Exception):
    """The helper has ended."""


class Helper:
    def __init__(self, program, keeps_its_end=False, **how):
        self.here, self.there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.here.settimeout(10)
        self.process = subprocess.Popen([program], stdin=self.there, stderr=subprocess.PIPE, **how)
        if not keeps_its_end:
            self.there.close()

    @property
    def pid(self):
        return self.process.pid

    def raw(self, packet, descriptors=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            self.here.sendmsg([packet], control)
            answer = self.here.recv(100)
        except (BrokenPipeError, ConnectionResetError):
            raise Gone from None
        if not answer:
            raise Gone
        if len(answer) != 4:
            raise AssertionError(f"an answer of {len(answer)} bytes")
        return struct.unpack("=i", answer)[0]

    def ask(self, operation, backing=0, descriptors=()):
        """The answer, or the name of its error."""
        result = self.raw(struct.pack("=II", operation, backing & 0xFFFFFFFF), descriptors)
        return errno.errorcode[-result] if result < 0 else result

    def open(self, descriptor):
        return self.ask(OPEN, descriptors=[descriptor])

    def end(self):
        """The exit status, and the text on standard error."""
        self.here.close()
        try:
            _, said = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError("it went on after its other end was closed") from None
        return self.process.returncode, said.decode()
