"""Every header compiles alone: the target `headers` of the release build, or of it those that
changed, or that include what changed."""

import json
import os
import re
import subprocess

from tidy_checks import Finding, lint

PRESET = "release"
OUTPUT = re.compile(r" -o (\S+) ")
COMPLAINT = re.compile(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)


def targets(tree, base, everything):
    """What to build: all, when nobody knows what changed, or how files are compiled."""
    changed = set(tree.cpp if everything else lint.changed_since(tree, base))
    if everything or changed >= set(tree.cpp) or not (tree.root / lint.DATABASE).is_file():
        return ["headers"]
    build(tree, ["build.ninja"])  # finds headers that are new
    project = lint.Project(tree)
    wanted = {f"build/{PRESET}/headers/{header.replace('/', '_')}.cc" for header in tree.cpp
              if header.endswith(".h") and changed & {header, *project.headers(header)}}
    entries = json.loads((tree.root / lint.DATABASE).read_text())
    return [OUTPUT.search(entry["command"]).group(1) for entry in entries
            if os.path.relpath(entry["file"], tree.root) in wanted]


def build(tree, what):
    return subprocess.run([tree.root / "tools/build", PRESET, *what], cwd=tree.root,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def check(tree, base=None, everything=False):
    wanted = targets(tree, base, everything)
    if not wanted:
        return []
    done = build(tree, wanted)
    if done.returncode == 0:
        return []
    folder = tree.root / "build" / PRESET
    log = folder / "build.log"
    output = log.read_text(errors="replace") if log.is_file() else ""
    findings = []
    for path, line, message in COMPLAINT.findall(output):
        path = os.path.relpath(folder / path, tree.root)
        findings.append(Finding(path, int(line), f"a header does not compile alone: {message}"))
    if not findings:
        tail = " | ".join(done.stderr.strip().splitlines()[-3:])
        findings.append(Finding("tools/build", 0, f"the headers could not be built: {tail}"))
    return sorted(set(findings))
