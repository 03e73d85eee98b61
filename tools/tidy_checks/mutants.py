"""Every planted bug still fits the code that it changes."""

import os
import subprocess

from tidy_checks import Finding

FOLDER = "tests/mutants/"


def check(tree):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    findings = []
    for path in tree.files:
        if not path.startswith(FOLDER) or not path.endswith(".patch"):
            continue
        done = subprocess.run(["git", "apply", "--check", path], cwd=tree.root, env=environment,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              check=False)
        if done.returncode != 0:
            why = done.stderr.strip().splitlines()[0]
            findings.append(Finding(path, 1, f"it no longer applies ({why}): make it anew"))
    return findings
