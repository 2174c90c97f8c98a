"""Documents that name themselves and their version: `NAME VERSION LENGTH` in the first line, then bytes made from
these. A reader can tell whether a document is complete."""

import random
import re

HEADER = re.compile(rb"([a-z]+-[0-9]+) ([0-9]+) ([0-9]+)\n")


def document(name, version, length):
    return f"{name} {version} {length}\n".encode() + random.Random(f"{name} {version}").randbytes(length)


def version(data, name):
    """None unless `data` is one whole version of the document `name`."""
    match = HEADER.match(data)
    if not match or match.group(1).decode() != name:
        return None
    number, length = int(match.group(2)), int(match.group(3))
    return number if data == document(name, number, length) else None


def log_line(name, number):
    return f"{name} line {number} of the log\n".encode()


def log_lines(data, name):
    """The numbers of the whole lines in it."""
    pattern = re.compile(rb"^%s line ([0-9]+) of the log$" % name.encode(), re.M)
    return {int(number) for number in pattern.findall(data)}
