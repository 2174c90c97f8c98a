"""The rounds of scripts/crash-test, in several processes at a time."""

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from processes import Failure, die_with_parent  # noqa: E402
from rounds import Rounds  # noqa: E402


def main():
    arguments = parse()
    seed = arguments.seed
    print(f"crash-test: {arguments.rounds} rounds, seed {seed}, {arguments.jobs} at a time", flush=True)
    folder = tempfile.mkdtemp(prefix="hydrant-crash-", dir=arguments.dir)
    started, jobs = time.monotonic(), {}
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, lambda number, _: stop(jobs, number))
    for job in range(arguments.jobs):
        rounds = arguments.rounds // arguments.jobs + (job < arguments.rounds % arguments.jobs)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            os._exit(run_job(f"{folder}/{job}", arguments, f"{seed}.{job}", rounds, write_end))
        os.close(write_end)
        jobs[pid] = os.fdopen(read_end)
    failed, figures = False, {}
    for pid, pipe in list(jobs.items()):
        for line in pipe:
            name, _, count = line.rpartition(" ")
            figures[name] = figures.get(name, 0) + int(count)
        failed |= os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
        del jobs[pid]
    print(", ".join(f"{name}: {count}" for name, count in figures.items()))
    print(f"{time.monotonic() - started:.0f} s")
    if failed:
        print(f"crash-test: FAILED; files: {folder}; again: --seed {seed} --rounds {arguments.rounds} "
              f"--jobs {arguments.jobs}")
        return 1
    os.rmdir(folder)
    print("crash-test: nothing was lost")
    return 0


def stop(jobs, number):
    for pid in jobs:
        os.kill(pid, signal.SIGTERM)
    for pid in jobs:
        os.waitpid(pid, 0)
    os._exit(128 + number)


def run_job(path, arguments, seed, count, report):
    """0: all rounds were good, and left nothing."""
    die_with_parent()
    for sig in (signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)

    def interrupted(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    rounds, status = None, 1
    try:
        os.mkdir(path)
        rounds = Rounds(path, arguments.hydrant, seed)
        rounds.mount()
        for number in range(count):
            rounds.run_one(number == count - 1)
            if arguments.verbose or (number + 1) % 50 == 0:
                print(f"job {seed}: {number + 1} rounds", flush=True)
        status = 0
    except Failure as failure:
        print(f"\njob {seed}, round {rounds.round if rounds else 0}: {failure}", flush=True)
        if rounds:
            print(f"settings of the mount: {getattr(rounds, 'settings', None)}", flush=True)
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    try:
        if rounds:
            rounds.take_down()
            for name, figure in rounds.figures.items():
                os.write(report, f"{name} {figure}\n".encode())
            if status in (0, 130):
                rounds.remove()
    except Failure as failure:
        print(f"job {seed}: {failure}", flush=True)
        status = 1
    return status


def parse():
    parser = argparse.ArgumentParser(prog="scripts/crash-test", add_help=False)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", default=str(int.from_bytes(os.urandom(4), "big")))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dir", default="/tmp")
    parser.add_argument("--hydrant", required=True)
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
