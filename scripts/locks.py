"""Checks that the documentation names every lock, actor and thread in Sources, and says which it does not name.

A lock is to stand in LockOrder, as `Type.property` or as `Type`; an actor, and a type that starts threads, in Threads, as
`Type`. `Type` is any of the types around it; of a global it is the file's name.
"""

import pathlib
import re
import sys

PAGES = pathlib.Path("Sources/Daemon/Documentation.docc")
# The locks themselves, and programs to be copied.
LEFT_OUT = ("Sources/Locking", "Sources/Examples")

TYPE = re.compile(r"(?:(?:@[\w.()]+|[a-z]+(?:\(\w+\))?)\s+)*?\b(class|struct|enum|actor|extension|protocol)\s+([A-Z][\w.]*)")
LOCK = re.compile(
    r"\b(?:AdaptiveMutex|Mutex|NSLock|NSRecursiveLock|NSCondition|NSConditionLock|Monitor|DispatchSemaphore|Semaphore)\b[(<]"
    r"|\bpthread_(?:mutex|rwlock|spin)_init\b|\bsem_init\b|\bos_unfair_lock\b")
PROPERTY = re.compile(r"\b(?:let|var)\s+(\w+)\s*[:=]")
THREAD = re.compile(
    r"\bThread(?:\s*\{|\(|\.detachNewThread)|\bpthread_create\(|\b(?:NIOThreadPool|MultiThreadedEventLoopGroup|Workers)\("
    r"|\bDispatchQueue(?:\(|\.global)|(?<!func )\bstartThread\s*[({]")


def named(page):
    """All that stands in backticks on a page."""
    return set(re.findall(r"`+([^`\n]+)`+", (PAGES / f"{page}.md").read_text()))


def lines(path):
    """The lines of code, each with the types around it: indentation, name and kind, the outermost first."""
    around = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.split("//")[0].strip()
        if not code:
            continue
        indent = len(line) - len(line.lstrip())
        if not code.startswith((")", "}", "{", "#", "]")):
            while around and around[-1][0] >= indent:
                around.pop()
        opened = TYPE.match(code)
        if opened:
            around.append((indent, opened[2], opened[1]))
        yield number, code, around


def main():
    pages = {page: named(page) for page in ["LockOrder", "Threads"]}
    missing = set()
    for path in sorted(pathlib.Path("Sources").rglob("*.swift")):
        if str(path).startswith(LEFT_OUT):
            continue
        for number, code, around in lines(path):
            types = [name for _, name, _ in around] or [path.stem]

            def require(page, own=None):
                name = f"{types[-1]}.{own}" if own else types[-1]
                if not pages[page] & {name, *types, *(last for name in types for last in name.split(".")[-1:]), ".".join(types)}:
                    missing.add((str(path), number, name, page))

            if TYPE.match(code) and around[-1][2] == "actor":
                require("Threads")
            own = PROPERTY.search(code)
            if own and LOCK.search(code, own.end()):
                require("LockOrder", own[1])
            if THREAD.search(code):
                require("Threads")
    for path, number, name, page in sorted(missing):
        print(f"{path}:{number}: {name} is not named in {PAGES}/{page}.md")
    sys.exit(1 if missing else 0)


main()
