"""clang-format: sources are in our format, or are put into it."""

import re
import subprocess

from tidy_checks import Finding

PROGRAM = "clang-format-16"
COMPLAINT = re.compile(r"^(.+?):(\d+):\d+: (?:error|warning): ", re.MULTILINE)


def _run(tree, *options):
    return subprocess.run([PROGRAM, *options, *tree.cpp], cwd=tree.root, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, check=False)


def check(tree):
    if not tree.cpp:
        return []
    done = _run(tree, "--dry-run", "-Werror")
    lines = {}
    for path, line in COMPLAINT.findall(done.stderr):
        lines.setdefault(path, []).append(int(line))
    findings = [Finding(path, where[0], f"not in our format (lines: {len(set(where))}): "
                        "run `make format`") for path, where in lines.items()]
    if done.returncode != 0 and not findings:
        findings.append(Finding(PROGRAM, 0, f"failed: {done.stderr.strip()[:500]}"))
    return findings


def rewrite(tree):
    """Formats in place; returns the files that changed."""
    before = {path: (tree.root / path).read_bytes() for path in tree.cpp}
    if before:
        done = _run(tree, "-i")
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
    return [path for path in before if (tree.root / path).read_bytes() != before[path]]
