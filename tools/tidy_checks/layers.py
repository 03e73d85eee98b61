"""Includes go down: the rooms of edl see themselves and the rooms on the lines of LAYERS above."""

import os
import re

from tidy_checks import Finding, cpp_text, is_main

BESIDE = ("tests", "examples", "bench")
# Behind the door to the world. Others see edl/os/*.h and are given an implementation by main.
BEHIND_THE_DOOR = re.compile(r"^edl/os/(posix|virtual)/")


def rooms(text):
    """Room -> number of its line, bottom first."""
    order = {}
    for number, line in enumerate(text.splitlines()):
        for room in line.split("#")[0].split():
            order[room] = number
    return order


def _room(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "edl" and len(parts) > 2 else None


def _may_open_the_door(path, target):
    top = path.split("/")[0]
    if top in BESIDE or path.startswith(("edl/os/", "edl/cli/")) or is_main(path):
        return True
    # Unit tests run in virtual time.
    return path.endswith("_test.cc") and target.startswith("edl/os/virtual/")


def _problem(path, target, order):
    room, wanted = _room(path), _room(target)
    if target.split("/")[0] in BESIDE and path.startswith("edl/"):
        return f"edl includes nothing of {target.split('/')[0]}/: move what you need into a room"
    if wanted is None:
        return None
    if wanted not in order:
        return f'room "{wanted}" is not in LAYERS: add it on the line where it belongs'
    if BEHIND_THE_DOOR.match(target) and not _may_open_the_door(path, target):
        return (f"{os.path.dirname(target)} is behind the door: include edl/os/*.h and let main "
                "hand in the implementation")
    if room is not None and room != wanted and order.get(room, -1) <= order[wanted]:
        return (f'room "{room}" may not include "{wanted}": it is not on a line above in LAYERS. '
                "Move the code down, or hand the value in from above")
    return None


def check(tree):
    order = rooms(tree.text("LAYERS")) if "LAYERS" in tree.files else {}
    findings = []
    unknown = set()
    for path in tree.cpp:
        room = _room(path)
        if room is not None and room not in order and room not in unknown:
            unknown.add(room)
            findings.append(Finding(path, 1, f'room "{room}" is not in LAYERS: add it on the line '
                                    "where it belongs"))
        for line, quote, target in cpp_text.includes(tree.text(path)):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if quote == '"' and beside != target and beside in tree.files:
                findings.append(Finding(path, line, f'write the include from the root: "{beside}"'))
                target = beside
            problem = None if room in unknown else _problem(path, target, order)
            if problem:
                findings.append(Finding(path, line, problem))
    return findings
