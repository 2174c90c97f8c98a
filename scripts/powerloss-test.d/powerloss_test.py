"""The cuts of scripts/powerloss-test, one file system after another."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(os.path.dirname(here), "crash-test.d")]

from cuts import MAKE, Cuts  # noqa: E402
from processes import Failure  # noqa: E402
from volatile_disk import take_down_dead  # noqa: E402


def main():
    arguments = parse()
    filesystems = arguments.fs.split(",")
    print(f"powerloss-test: {arguments.cuts} cuts, {', '.join(filesystems)}, seed {arguments.seed}", flush=True)
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, interrupted)
    take_down_dead()
    folder = tempfile.mkdtemp(prefix="hydrant-power-", dir=arguments.dir)
    started, figures, failed = time.monotonic(), {}, False
    for number, filesystem in enumerate(filesystems):
        count = arguments.cuts // len(filesystems) + (number < arguments.cuts % len(filesystems))
        failed |= not run(f"{folder}/{filesystem}", filesystem, count, arguments, figures)
    print(", ".join(f"{name}: {count}" for name, count in figures.items()))
    print(f"{time.monotonic() - started:.0f} s")
    if failed:
        print(f"powerloss-test: FAILED; files: {folder}; again: --seed {arguments.seed} --cuts {arguments.cuts} "
              f"--fs {arguments.fs}")
        return 1
    os.rmdir(folder)
    print("powerloss-test: nothing that was fsynced was lost")
    return 0


def interrupted(*_):
    raise KeyboardInterrupt


def run(path, filesystem, count, arguments, figures):
    """Whether all cuts on one file system were good; then nothing is left over."""
    cuts, is_good = None, False
    # A disk wears out after so many cuts; a new one replaces it.
    done = 0
    try:
        while done < count:
            part = min(25, count - done)
            os.mkdir(path)
            cuts = Cuts(path, arguments.hydrant, filesystem, f"{arguments.seed}.{filesystem}.{done}")
            cuts.power_on()
            cuts.mount()
            for number in range(part):
                cuts.run_one()
                if arguments.verbose or (done + number + 1) % 25 == 0:
                    print(f"{filesystem}: {done + number + 1} cuts", flush=True)
            cuts.check_state()
            done += part
            cuts.take_down()
            add(figures, cuts)
            cuts.remove()
            cuts = None
        is_good = True
    except Failure as failure:
        print(f"\n{filesystem}, cut {done + cuts.number if cuts else 0}: {failure}", flush=True)
        if cuts:
            print(f"settings of the mount: {getattr(cuts, 'settings', None)}", flush=True)
    except subprocess.CalledProcessError as error:
        print(f"\n{filesystem}: {error}", flush=True)
    except Exception:
        traceback.print_exc()
    finally:
        if cuts:
            cuts.take_down()
            add(figures, cuts)
            if sys.exc_info()[0] is KeyboardInterrupt:
                cuts.remove()
    return is_good


def add(figures, cuts):
    for name, figure in cuts.figures.items():
        figures[name] = figures.get(name, 0) + figure


def parse():
    parser = argparse.ArgumentParser(prog="scripts/powerloss-test", add_help=False)
    parser.add_argument("--cuts", type=int, default=6)
    parser.add_argument("--seed", default=str(int.from_bytes(os.urandom(4), "big")))
    parser.add_argument("--fs", default=",".join(MAKE))
    parser.add_argument("--dir", default="/tmp")
    parser.add_argument("--hydrant", required=True)
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
