"""Reports relative links of Markdown files to missing files or headings."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
IMAGE = re.compile(r"<img[^>]* src=\"([^\"]+)\"")


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """The anchors that GitHub makes from headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), flags=re.M):
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(anchor)
    return found


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", "*.md"],
        cwd=root, check=True, capture_output=True, text=True)
    wrong = 0
    for name in sorted(filter(None, listed.stdout.split("\0"))):
        page = root / name
        if not page.exists():
            continue
        text = without_code(page.read_text())
        for link in LINK.findall(text) + IMAGE.findall(text):
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            # DocC finds pictures by their names alone.
            if not target.exists() and page.parent.suffix == ".docc":
                target = page.parent / "Resources" / path
            if not target.exists():
                print(f"{name}: {link}: no such file", file=sys.stderr)
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                print(f"{name}: {link}: no such heading", file=sys.stderr)
            else:
                continue
            wrong += 1
    if wrong:
        sys.exit(f"docs: {wrong} links are broken")


main()
