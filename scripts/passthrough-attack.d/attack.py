"""Attacks hydrant-passthrough as the user who starts it. Starts as root, which observes; the attacker is a child."""

import argparse
import ctypes
import fcntl
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import traceback

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import device  # noqa: E402
from helper import CLOSE, OPEN, START, Gone, Helper  # noqa: E402

USER = 65534
failures = []


def expect(what, found, wanted):
    is_good = found in wanted if isinstance(wanted, (set, range)) else found == wanted
    if not is_good:
        failures.append(f"{what}: {found}, expected {wanted}")


def main():
    arguments = parse()
    print(f"passthrough-attack: {arguments.rounds} random packets, seed {arguments.seed}", flush=True)
    folder = arguments.folder
    try:
        # A plain copy, without the capability.
        shutil.copy(folder + "/hydrant-passthrough", folder + "/copy")
        # Owned by root, writable for everybody.
        with open(folder + "/root's", "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o666)
        os.mkdir(folder + "/home")
        os.chown(folder + "/home", USER, USER)
        return attacker(arguments, folder)
    finally:
        subprocess.run(["umount", "-l", folder + "/home/mnt"], check=False, stderr=subprocess.DEVNULL)


def attacker(arguments, folder):
    # Root answers here with facts about the helper's process that only root can see.
    mine, his = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            mine.close()
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            os.chdir(folder + "/home")
            # A process that changes its user cannot be traced, and does not own its /proc; a log-in would not be so.
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
            code = attack(arguments, folder, his)
        except NotImplementedError as error:
            print(f"passthrough-attack: {error}")
            code = 77
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    his.close()
    while question := mine.recv(100):
        helper = int(question)
        answer = [len(os.listdir(f"/proc/{helper}/fd"))]
        with open(f"/proc/{helper}/status", encoding="utf-8") as file:
            answer += [line.split()[1] for line in file if line.startswith(("Cap", "NoNewPrivs"))]
        mine.send(repr(answer).encode())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def attack(arguments, folder, root):
    program = folder + "/hydrant-passthrough"
    os.mkdir("mnt")
    fuse = device.mount(folder + "/home/mnt")

    def seen_by_root(helper):
        root.send(str(helper.pid).encode())
        return eval(root.recv(1000), {})  # noqa: S307: our own list of numbers and strings

    wrong_starts(program, fuse)
    without_capability(folder + "/copy", fuse)
    helper = Helper(program)
    before_the_device(helper, fuse)
    files(helper, folder)
    its_process(helper, seen_by_root)
    of_chance(helper, fuse, random.Random(arguments.seed), arguments.rounds)
    descriptors = seen_by_root(helper)[0]
    expect("descriptors it holds after all that (0, 1, 2, the device)", descriptors, 4)
    own = os.open("own", os.O_RDWR)
    expect("its owner's file, after all that", helper.open(own), range(1, 1 << 31))
    expect("how it ends", helper.end(), (0, ""))
    with_pidfds(program, fuse, own, seen_by_root)
    limits(program, fuse, own)

    for failure in failures:
        print("  " + failure)
    print("passthrough-attack: " + ("FAILED" if failures else "the attacker got nothing that was not its own"))
    return 1 if failures else 0


def wrong_starts(program, fuse):
    """By hand, through a pipe, with another user's socket."""
    def start(**how):
        result = subprocess.run([program], stderr=subprocess.PIPE, timeout=10, check=False, **how)
        return result.returncode, result.stderr.count(b"\n")

    expect("by hand", start(stdin=subprocess.DEVNULL), (64, 1))
    expect("through a pipe", start(input=b"\1\0\0\0\0\0\0\0"), (64, 1))
    expect("on the device", start(stdin=fuse), (64, 1))
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with here, there:
        expect("on a socket of another kind", start(stdin=there), (64, 1))
    closed = subprocess.run(["sh", "-c", 'exec "$0" 0<&- 2>/dev/null', program], check=False, timeout=10)
    expect("without standard input", closed.returncode, 64)


def without_capability(program, fuse):
    helper = Helper(program)
    expect("where it was not installed", helper.ask(START, descriptors=[fuse]), "EPERM")
    helper.end()


def before_the_device(helper, fuse):
    own = os.open("own", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(own, b"mine")
    null = os.open("/dev/null", os.O_RDWR)
    expect("a file before the device", helper.open(own), "ENODEV")
    expect("an id before the device", helper.ask(CLOSE, 1), "ENODEV")
    expect("no device", helper.ask(START), "EBADF")
    expect("a file as the device", helper.ask(START, descriptors=[own]), "ENODEV")
    expect("another device", helper.ask(START, descriptors=[null]), "ENODEV")
    expect("two devices", helper.ask(START, descriptors=[fuse, fuse]), "EINVAL")
    other = os.open("/dev/fuse", os.O_RDWR)
    unbound = Helper(helper.process.args[0])
    expect("a device without a mount", unbound.ask(START, descriptors=[other]), 0)
    expect("a file for it", unbound.open(own), "EPERM")
    unbound.end()
    expect("the device", helper.ask(START, descriptors=[fuse]), 0)
    expect("the device again", helper.ask(START, descriptors=[fuse]), "EALREADY")
    for descriptor in (own, null, other):
        os.close(descriptor)


def files(helper, folder):
    def refused(what, path, flags, reason):
        descriptor = os.open(path, flags)
        expect(what, helper.open(descriptor), reason)
        os.close(descriptor)

    own = os.open("own", os.O_RDWR)
    backing = helper.open(own)
    expect("its owner's file", backing, range(1, 1 << 31))
    expect("the same again", helper.open(own), range(1, 1 << 31))
    expect("given back", helper.ask(CLOSE, backing), 0)
    expect("given back twice", helper.ask(CLOSE, backing), {"ENOENT", "EINVAL"})
    expect("an id of nothing", helper.ask(CLOSE, 0x7FFFFFFF), {"ENOENT", "EINVAL"})
    expect("a negative id", helper.ask(CLOSE, -1), {"ENOENT", "EINVAL"})
    refused("for reading", "own", os.O_RDONLY, "EACCES")
    refused("for writing", "own", os.O_WRONLY, "EACCES")
    refused("for appending", "own", os.O_RDWR | os.O_APPEND, "EACCES")
    refused("a path", "own", os.O_PATH, "EACCES")
    refused("another's, for reading", "/etc/passwd", os.O_RDONLY, "EACCES")
    refused("a path of another's", "/etc/passwd", os.O_PATH, "EACCES")
    refused("a path of a secret", "/etc/shadow", os.O_PATH, "EACCES")
    refused("another's, which he may write to", folder + "/root's", os.O_RDWR, "EACCES")
    refused("a folder", ".", os.O_RDONLY, "EACCES")
    refused("a device", "/dev/null", os.O_RDWR, "EINVAL")
    os.mkfifo("pipe")
    refused("a pipe", "pipe", os.O_RDWR, "EINVAL")
    refused("a process's memory", "/proc/self/mem", os.O_RDWR, "EMEDIUMTYPE")
    memory = os.memfd_create("x")
    expect("memory", helper.open(memory), "EMEDIUMTYPE")
    here, there = socket.socketpair()
    expect("a socket", helper.open(here.fileno()), "EINVAL")
    expect("its own end", helper.open(helper.here.fileno()), "EINVAL")
    here.close()
    there.close()
    # Appending removed from the descriptor later, which the kernel refuses for an append-only file.
    descriptor = os.open("own", os.O_RDWR | os.O_APPEND)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, 0)
    expect("no longer appending", helper.open(descriptor), range(1, 1 << 31))
    expect("two files", helper.ask(OPEN, descriptors=[own, own]), "EINVAL")
    expect("no file", helper.ask(OPEN), "EBADF")
    expect("an id with a file", helper.ask(CLOSE, 1, descriptors=[own]), "EBADF")
    os.unlink("own")
    expect("without a name", helper.open(own), range(1, 1 << 31))
    os.close(os.open("own", os.O_RDWR | os.O_CREAT, 0o600))
    for descriptor in (descriptor, own, memory):
        os.close(descriptor)


def its_process(helper, seen_by_root):
    _, inheritable, permitted, effective, bounding, ambient, no_new = seen_by_root(helper)
    admin = 1 << 21
    expect("its inheritable rights", int(inheritable, 16), 0)
    expect("its permitted rights", int(permitted, 16), admin)
    expect("its effective rights between requests", int(effective, 16), 0)
    expect("its ambient rights", int(ambient, 16), 0)
    expect("whether it may gain others", no_new, "1")
    libc = ctypes.CDLL(None, use_errno=True)
    expect("a debugger (PTRACE_ATTACH)", libc.ptrace(16, helper.pid, 0, 0), -1)
    try:
        os.listdir(f"/proc/{helper.pid}/fd")
        expect("its descriptors", "seen", "EACCES")
    except PermissionError:
        pass


def of_chance(helper, fuse, chance, rounds):
    """Random bytes and descriptors. The helper answers each packet, and correct ones correctly."""
    own = os.open("own", os.O_RDWR)
    others = [
        fuse, os.open("/etc/passwd", os.O_RDONLY), os.open(".", os.O_RDONLY), os.open("own", os.O_PATH),
        os.open("/proc/self/mem", os.O_RDWR), os.open("/dev/null", os.O_RDWR), helper.here.fileno()]
    held = []
    for number in range(rounds):
        kind = chance.random()
        try:
            if kind < 0.2:
                backing = helper.open(own)
                expect(f"packet {number}: its owner's file", backing, range(1, 1 << 31))
                held.append(backing)
            elif kind < 0.4 and held:
                backing = held.pop(chance.randrange(len(held)))
                expect(f"packet {number}: given back", helper.ask(CLOSE, backing), 0)
            else:
                length = chance.choice((0, 1, 4, 7, 8, 9, 12, 64, 4096)) if chance.random() < 0.7 else 8
                packet = chance.randbytes(length)
                if length >= 4 and chance.random() < 0.6:
                    packet = chance.choice((START, OPEN, CLOSE, 0, 4)).to_bytes(4, "little") + packet[4:]
                if length == 0:
                    # (For a receiver, an empty packet is the end of the conversation.)
                    continue
                descriptors = [chance.choice(others) for _ in range(chance.choice((0, 0, 1, 1, 2, 3, 17, 253)))]
                answer = helper.raw(packet, descriptors)
                # A random packet may have released an id by chance.
                if answer == 0 and len(packet) == 8:
                    held = [backing for backing in held if backing != int.from_bytes(packet[4:], "little")]
                expect(f"packet {number}: {packet[:16]!r} with {descriptors}", answer, range(-4096, 1))
        except (Gone, TimeoutError) as error:
            failures.append(f"packet {number}: {type(error).__name__}")
            return
        if len(failures) > 10:
            return
    for backing in held:
        expect("given back at last", helper.ask(CLOSE, backing), 0)
    for descriptor in [own, *others[1:-1]]:
        os.close(descriptor)


def with_pidfds(program, fuse, own, seen_by_root):
    """SO_PASSPIDFD on its own end of the socket: the kernel passes a descriptor of the sender with every packet."""
    helper = Helper(program, keeps_its_end=True)
    try:
        helper.there.setsockopt(socket.SOL_SOCKET, 76, 1)
        for _ in range(50):
            expect("a request with a descriptor of its sender", helper.ask(CLOSE, 1 << 30) != 0, True)
        # 0, 1, 2.
        expect("descriptors it holds after those", seen_by_root(helper)[0], 3)
        helper.there.setsockopt(socket.SOL_SOCKET, 76, 0)
        expect("the device, afterwards", helper.ask(START, descriptors=[fuse]), 0)
        helper.there.setsockopt(socket.SOL_SOCKET, 76, 1)
        for _ in range(50):
            helper.ask(OPEN, descriptors=[own])
        expect("descriptors it holds with the device", seen_by_root(helper)[0], 4)
        helper.there.setsockopt(socket.SOL_SOCKET, 76, 0)
        expect("a file, afterwards", helper.open(own), range(1, 1 << 31))
    except OSError as error:
        if error.errno != 92:  # ENOPROTOOPT: before Linux 6.5 there is no such option.
            raise
    helper.there.close()
    helper.end()


def limits(program, fuse, own):
    """It holds no more files than its caller could; and it ends when its caller does."""
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    helper = Helper(program, preexec_fn=lower)
    expect("the device, with few files", helper.ask(START, descriptors=[fuse]), 0)
    held = [helper.open(own) for _ in range(41)]
    expect("the fortieth", held[39], range(1, 1 << 31))
    expect("one more than the limit", held[40], "EMFILE")
    expect("one given back", helper.ask(CLOSE, held[0]), 0)
    expect("one more again", helper.open(own), range(1, 1 << 31))
    helper.process.send_signal(signal.SIGKILL)
    helper.process.wait()
    try:
        expect("the killed", helper.open(own), "Gone")
    except (Gone, ConnectionResetError):
        pass


def parse():
    parser = argparse.ArgumentParser(prog="scripts/passthrough-attack", add_help=False)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--folder", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
