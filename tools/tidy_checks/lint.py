"""clang-tidy over what changed. A file's answer is kept under a hash of all that it depends on."""

import hashlib
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tidy_checks import Finding, cpp_text

PROGRAM = "clang-tidy-16"
PROCESSES_MAX = 2
SECONDS_MAX = 600
DATABASE = "build/release/compile_commands.json"
FOLDER = "build/tidy"
# Our commands are written for gcc. Clang refuses an option that it does not know.
GCC_ONLY = ("-Winvalid-pch", "-fanalyzer", "-fconcepts", "-fmax-errors", "-fno-gnu-unique",
            "-fno-var-tracking", "-fvar-tracking", "-Werror", "-Wno-error")
CLANG_ONLY = ["-Wno-unknown-warning-option", "-Qunused-arguments"]
COMPLAINT = re.compile(r"^(/.+?):(\d+):\d+: (?:error|warning): (.*)$", re.MULTILINE)


class UnknownRevision(Exception):
    pass


def changed_since(tree, base):
    """Files that differ from `base`, or from where this branch left origin/main, or from the commit
    before. Without any of these: all files."""
    if base:
        start = tree.git("rev-parse", "--verify", "--quiet", base + "^{commit}")
        if start is None:
            raise UnknownRevision(f"{base} is not a commit of this repository")
    else:
        start = tree.git("merge-base", "HEAD", "origin/main")
        if start is None or start == tree.git("rev-parse", "HEAD"):
            start = tree.git("rev-parse", "--verify", "--quiet", "HEAD~1")
    differ = tree.git("diff", "--name-only", "-z", start.strip()) if start else None
    if differ is None:
        return tree.files
    new = tree.git("ls-files", "-z", "--others", "--exclude-standard") or ""
    names = set(differ.split("\0")) | set(new.split("\0"))
    return [path for path in tree.files if path in names]


class Project:
    """Which project headers a file sees, and how it is compiled."""

    def __init__(self, tree):
        self.tree = tree
        self.commands = {}
        for entry in json.loads((tree.root / DATABASE).read_text()):
            path = os.path.relpath(entry["file"], tree.root)
            if path.startswith("build/") and "/headers/" not in path:
                continue  # files that stand for several of ours, or for headers of others
            self.commands.setdefault(path, _for_clang(shlex.split(entry["command"])))

    @cache
    def headers(self, path):
        seen = set()
        waiting = [path]
        while waiting:
            at = waiting.pop()
            for _, _, target in cpp_text.includes(self.tree.text(at)):
                beside = os.path.normpath(os.path.join(os.path.dirname(at), target))
                found = target if (self.tree.root / target).is_file() else beside
                if found not in seen and (self.tree.root / found).is_file():
                    seen.add(found)
                    waiting.append(found)
        return frozenset(seen)

    def command(self, path):
        """A file of another preset (a fuzz target), or that is compiled together with others,
        borrows the command of one that is not."""
        if path in self.commands or not self.commands:
            return self.commands.get(path)
        neighbour, command = next(iter(self.commands.items()))
        return [os.path.join(self.tree.root, path) if word.endswith("/" + neighbour) else word
                for word in command]

    def units(self, paths):
        """What to lint so that each path is seen once: sources; then, for headers that none of
        them includes, what compiles the header alone, or else any source that includes it."""
        units = [path for path in paths if path.endswith(".cc")]
        covered = set().union(*(self.headers(path) for path in units))
        for header in paths:
            if header.endswith(".h") and header not in covered:
                stub = f"build/release/headers/{header.replace('/', '_')}.cc"
                users = (path for path in self.tree.cpp if header in self.headers(path))
                unit = stub if stub in self.commands else next(users, None)
                if unit and unit not in units:
                    units.append(unit)
        return units

    def is_linted(self, unit):
        """Clang 16 does not compile torch's headers (1.13) as C++20; gcc, which we build with,
        does."""
        return not any("#include <torch/" in self.tree.text(path)
                       for path in [unit, *self.headers(unit)])

    def key(self, unit):
        digest = hashlib.sha256()
        for part in (_version(), Path(__file__).read_text(), self.tree.text(".clang-tidy"),
                     json.dumps(self.command(unit))):
            digest.update(part.encode() + b"\0")
        for path in [unit, *sorted(self.headers(unit))]:
            digest.update(f"{path}\0{self.tree.text(path)}\0".encode())
        return digest.hexdigest()


def _for_clang(words):
    # A launcher such as ccache may stand before the compiler.
    compiler = next(i for i, w in enumerate(words) if re.search(r"(\+\+|cc|clang)(-\d+)?$", w))
    kept = []
    words = iter(words[compiler + 1:])
    for word in words:
        if word in ("-o", "-include"):  # what gcc has precompiled, clang reads as it is
            next(words)
        elif not word.startswith(GCC_ONLY):
            kept.append(word)
    return ["clang++", *kept, *CLANG_ONLY]


@cache
def _version():
    return subprocess.run([PROGRAM, "--version"], capture_output=True, text=True,
                          check=True).stdout


def _lint(project, unit):
    """(path, line, message) of each complaint about our own files."""
    root = project.tree.root
    source = str(root / unit)
    command = [PROGRAM, "--quiet", f"--config-file={root}/.clang-tidy", source, "--",
               *(word for word in project.command(unit)[1:] if word not in ("-c", source))]
    try:
        done = subprocess.run(command, cwd=root / "build/release", capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return [(unit, 0, f"{PROGRAM} did not end within {SECONDS_MAX} s: make the file smaller")]
    found = [(os.path.relpath(path, root), int(line), message.replace(",-warnings-as-errors", ""))
             for path, line, message in COMPLAINT.findall(done.stdout)]
    if done.returncode != 0 and not found:
        found.append((unit, 0, f"{PROGRAM} failed: {(done.stderr or done.stdout).strip()[-500:]}"))
    return found


def _lint_and_keep(project, unit, kept):
    found = _lint(project, unit)
    if all(line for _, line, _ in found):  # a failure to run says nothing about the file
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(found))
        draft.rename(kept)
    return found


def check(tree, base=None, everything=False):
    paths = tree.cpp if everything else [p for p in changed_since(tree, base) if p in tree.cpp]
    if not paths:
        return []
    if not (tree.root / DATABASE).is_file():
        return [Finding(DATABASE, 0, "is missing, so nothing can be linted: run `make build`")]
    project = Project(tree)
    units = {unit: tree.root / FOLDER / project.key(unit) for unit in project.units(paths)
             if project.is_linted(unit)}
    found = [json.loads(kept.read_text()) for kept in units.values() if kept.is_file()]
    new = [unit for unit, kept in units.items() if not kept.is_file()]
    if new:
        print(f"tidy: lint: {len(new)} files to look at, {len(found)} remembered", flush=True)
    pool = ThreadPoolExecutor(PROCESSES_MAX)
    try:
        found += pool.map(lambda unit: _lint_and_keep(project, unit, units[unit]), new)
    finally:  # interrupted, we begin no more of them
        pool.shutdown(cancel_futures=True)
    return sorted({Finding(*row) for rows in found for row in rows})
