"""Links of our documents lead somewhere, and no file names a package registry's host."""

import os
import re
from functools import cache
from urllib.parse import unquote

from tidy_checks import Finding

FENCE = re.compile(r"^(?P<mark> {0,3}(`{3,}|~{3,})).*?(^(?P=mark)|\Z)", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=[\"']([^\"']+)")
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:|^//")

# In pieces, so that this file does not hold them.
HOSTS = [".".join(parts) for parts in (
    ("pypi", "org"), ("files", "pythonhosted", "org"), ("crates", "io"),
    ("proxy", "golang", "org"), ("registry", "npmjs", "org"), ("repo1", "maven", "org"),
    ("repo", "maven", "apache", "org"), ("deb", "debian", "org"), ("security", "debian", "org"))]
HOST = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, HOSTS)) + r")(?![\w-])", re.IGNORECASE)


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def anchors(text):
    """The names under which a page's headings can be linked to."""
    text = FENCE.sub(_blank, text)
    found = set(ANCHOR.findall(text))
    counts = {}
    for heading in HEADING.findall(text):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        seen = counts.get(name, 0)
        counts[name] = seen + 1
        found.add(f"{name}-{seen}" if seen else name)
    return found


class Links:
    def __init__(self, tree):
        self.tree = tree
        self.files = set(tree.files)
        self.folders = {""}
        for path in tree.files:
            while path := os.path.dirname(path):
                self.folders.add(path)

    @cache
    def anchors(self, path):
        return anchors(self.tree.text(path))

    def problem(self, page, link):
        path, _, anchor = unquote(link).partition("#")
        target = page
        if path:
            folder = "" if path.startswith("/") else os.path.dirname(page)
            target = os.path.normpath(os.path.join(folder, path.lstrip("/")))
            target = "" if target == "." else target
        if target not in self.files and target not in self.folders:
            return f"the link {link} leads nowhere: there is no {target} in the repository"
        if anchor and target.endswith(".md") and anchor.lower() not in self.anchors(target):
            return f"the link {link} leads nowhere: {target} has no heading #{anchor}"
        return None


def check_links(tree):
    links = Links(tree)
    findings = []
    for page in (path for path in tree.files if path.endswith(".md")):
        text = INLINE_CODE.sub(_blank, FENCE.sub(_blank, tree.text(page)))
        for match in [*LINK.finditer(text), *REFERENCE.finditer(text)]:
            problem = None if SCHEME.match(match[1]) else links.problem(page, match[1])
            if problem:
                findings.append(Finding(page, text.count("\n", 0, match.start(1)) + 1, problem))
    return sorted(findings)


def check_hosts(tree):
    findings = []
    for path in tree.files:
        for number, line in enumerate(tree.lines(path), 1):
            for match in HOST.finditer(line):
                findings.append(Finding(path, number, f"{match[0]} is a package registry: name the "
                                        "package, and let the machine's settings say where from"))
    return findings
