"""Subjects of the commits that are not on origin/main yet. Warnings only: history is not rewritten
for a word."""

import re

from tidy_checks import Finding

COMMITS_MAX = 20
SUBJECT_MAX = 60
SUBJECT = re.compile(r"^[a-z0-9][\w./-]*(?:, [a-z0-9][\w./-]*)*: \S")


def problem(subject):
    if not SUBJECT.match(subject):
        return "begin the subject with the room: `room: what it does now`"
    if len(subject) > SUBJECT_MAX:
        return f"the subject has {len(subject)} characters, {SUBJECT_MAX} are enough"
    return None


def check(tree):
    new = ["HEAD"]
    if tree.git("rev-parse", "--verify", "--quiet", "origin/main"):
        new.append("^origin/main")
    log = tree.git("log", "--no-merges", f"--max-count={COMMITS_MAX}", "--format=%h %s", *new)
    findings = []
    for line in (log or "").splitlines():
        commit, _, subject = line.partition(" ")
        wrong = problem(subject)
        if wrong:
            findings.append(Finding(f"commit {commit}", 0, f'{wrong} ("{subject}")', True))
    return findings
