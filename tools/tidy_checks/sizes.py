"""Nothing so long that it cannot be read at once."""

import ast
import os
import re

from tidy_checks import Finding, cpp_text

FILE_MAX = 400
TEST_FILE_MAX = 800  # in tests/ and bench/
HEADER_MAX = 240
FUNCTION_MAX = 50
COLUMNS_MAX = 100

CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern|concept)\b")


def _file_max(path):
    if path.startswith(("tests/", "bench/")):
        return TEST_FILE_MAX
    return HEADER_MAX if path.endswith(".h") else FILE_MAX


def cpp_functions(text):
    """(first line, last line) of each function body. Counts braces; needs no parser."""
    code = cpp_text.without_directives(cpp_text.code_only(text))
    functions = []
    open_blocks = []  # (kind, line); a function's inner blocks are "inner"
    intro = 0  # where the text before the next brace begins
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            outside = all(kind == "container" for kind, _ in open_blocks)
            open_blocks.append((_block_kind(code[intro:at]) if outside else "inner",
                                cpp_text.line_of(code, at)))
        elif match[0] == "}" and open_blocks:
            kind, line = open_blocks.pop()
            if kind == "function":
                functions.append((line, cpp_text.line_of(code, at)))
        intro = at + 1
    return functions


def _block_kind(intro):
    if ")" in intro and not intro.rstrip().endswith("="):
        return "function"
    return "container" if CONTAINER.search(intro) else "inner"


def python_functions(text):
    try:
        nodes = ast.walk(ast.parse(text))
    except SyntaxError:  # another check tells
        return []
    return [(node.lineno, node.end_lineno) for node in nodes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _check_file(tree, path, kind):
    lines = tree.lines(path)
    limit = _file_max(path)
    if len(lines) > limit:
        yield Finding(path, limit, f"{len(lines)} lines, {limit} are enough: split "
                      f"{os.path.basename(path)} by what its parts do")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield Finding(path, number, f"{len(line)} columns, {COLUMNS_MAX} are enough: "
                          "break the line")
    functions = {"cpp": cpp_functions, "python": python_functions}.get(kind, lambda _: [])
    for first, last in functions(tree.text(path)):
        if last - first + 1 > FUNCTION_MAX:
            yield Finding(path, first, f"a function of {last - first + 1} lines, {FUNCTION_MAX} "
                          "are enough: give its parts names")


def check(tree):
    findings = []
    for path in tree.files:
        kind = tree.kind(path)
        if kind:
            findings += _check_file(tree, path, kind)
    return findings
