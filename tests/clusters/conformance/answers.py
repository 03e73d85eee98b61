"""Answers as they are compared: the very text, without what may differ between two servers."""
import hashlib
import json
import re

LONG = 6000

# Who answered and how old the cluster is.
_WHO = re.compile(r'"(cluster_id|member_id|raft_term)":"\d+"')
_STATUS = re.compile(r'"(version|dbSize|leader|raftIndex|raftTerm|raftAppliedIndex|dbSizeInUse)":'
                     r'"[\w.+-]+"')
_VERSIONS = re.compile(r'"(etcdserver|etcdcluster)":"[\w.+-]+"')
# Whole seconds left, rounded down: nothing is written in the last second.
_LEFT = re.compile(r'("ID":"-?\d+",|"ID":"lease \d+",)?(?:"TTL":"(\d+)",)?"grantedTTL":"(\d+)"')
_LIST = re.compile(r'"(keys|leases)":\[([^\]]*)\]')


class Answer:
    def __init__(self, status, content_type, text):
        self.status = status
        self.content_type = content_type
        self.text = text

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def revision(self):
        return int(self.json["header"]["revision"])


def _left(match):
    left, granted = int(match[2] or 0), int(match[3])
    # A leader that has just come extends what it finds, so there is no lower limit.
    told = "left" if left <= granted else f"{left}, more than granted"
    return f'{match[1] or ""}"TTL":"{told}","grantedTTL":"{granted}"'


def _sorted_list(match):
    parts = re.findall(r'\{[^}]*\}|"[^"]*"', match[2])
    return f'"{match[1]}":[{",".join(sorted(parts))}]'


class Normal:
    """Turns texts of one server into comparable ones. Lease ids that the server chose become
    `lease 1`, `lease 2`... in the order of their appearance."""

    def __init__(self):
        self.leases = {}

    def learn_lease(self, number):
        self.leases.setdefault(str(number), f"lease {len(self.leases) + 1}")

    def text(self, path, text, in_order=False):
        for number, name in self.leases.items():
            text = text.replace(f'"{number}"', f'"{name}"')
        text = _WHO.sub(r'"\1":"*"', text)
        if path.endswith("/maintenance/status"):
            text = _STATUS.sub(r'"\1":"*"', text)
        elif path.endswith("/version"):
            text = _VERSIONS.sub(r'"\1":"*"', text)
        elif path.endswith("/timetolive"):
            text = _LEFT.sub(_left, text)
        if path.startswith("/v3/lease/") and not in_order:
            text = _LIST.sub(_sorted_list, text)
        return text


def shortened(text):
    """Long texts as their length and digest."""
    if len(text) <= LONG:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{text[:400]} ... {len(text)} characters, digest {digest}"


def difference(expected, found, width=700):
    """Two texts, from shortly before the place where they begin to differ."""
    at = 0
    while at < min(len(expected), len(found)) and expected[at] == found[at]:
        at += 1
    start = max(0, at - 200)
    mark = "..." if start else ""
    return [mark + text[start:start + width] for text in (expected, found)]
