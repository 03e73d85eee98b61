"""Every header compiles alone: the target `headers` of the release build."""

import os
import re
import subprocess

from tidy_checks import Finding

PRESET = "release"
COMPLAINT = re.compile(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)


def check(tree):
    done = subprocess.run([tree.root / "tools/build", PRESET, "headers"], cwd=tree.root,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
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
