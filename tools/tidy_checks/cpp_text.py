"""C++ text without what the compiler does not read as code. Lines keep their numbers."""

import re

TOKEN = re.compile(
    r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
  | (?P<string>
        (?:u8|[uUL])?R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"
      | (?:\b(?:u8|[uUL]))?"(?:\\.|[^"\\\n])*"
      | (?:\b(?:u8|[uUL])|(?<!\w))'(?:\\.|[^'\\\n])+'   # not the ' of 1'000
    )
    """,
    re.VERBOSE | re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], text)


def code_only(text):
    """Comments, and what stands between quotes, become spaces."""
    def blank(match):
        token = match[0]
        return _blank(token) if match["comment"] else token[0] + _blank(token[1:-1]) + token[-1]
    return TOKEN.sub(blank, text)


def without_directives(code):
    return DIRECTIVE.sub(lambda m: _blank(m[0]), code)


def includes(text):
    """(line, '"' or '<', target) of each #include."""
    text = without_comments(text)
    return [(line_of(text, m.start(1)), m[1], m[2]) for m in INCLUDE.finditer(text)]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
