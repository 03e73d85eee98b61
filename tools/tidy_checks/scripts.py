"""Our shell and Python scripts can be read by their interpreters and started by their names."""

import ast
import os
import re
import subprocess
import warnings

from tidy_checks import Finding

COMPLAINT = re.compile(r"^.*?: line (\d+): (.*)$", re.MULTILINE)


def _check_shell(tree, path):
    done = subprocess.run(["bash", "-n", path], cwd=tree.root, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        return
    found = COMPLAINT.search(done.stderr)
    line, message = (int(found[1]), found[2]) if found else (1, done.stderr.strip())
    yield line, f"bash cannot read this: {message}"


def _check_python(tree, path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(tree.text(path), filename=path)
    except SyntaxError as error:
        yield error.lineno or 1, f"python3 cannot read this: {error.msg}"
    except ValueError as error:
        yield 1, f"python3 cannot read this: {error}"


def check(tree):
    findings = []
    for path in tree.files:
        check_text = {"shell": _check_shell, "python": _check_python}.get(tree.kind(path))
        if check_text is None:
            continue
        found = list(check_text(tree, path))
        if tree.text(path).startswith("#!") and not os.access(tree.root / path, os.X_OK):
            found.append((1, "it has a #! line but cannot be started: chmod +x it"))
        findings += [Finding(path, line, message) for line, message in found]
    return findings
