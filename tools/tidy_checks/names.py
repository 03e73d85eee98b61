"""Names that say nothing: of files, folders, types and functions, in C++ and Python."""

import re

from tidy_checks import Finding, cpp_text

ILL_NAMED = "Manager, Util, Helper, Handler, Info or Impl"
WORDS = r"(?:Manager|Util|Helper|Handler|Info|Impl)s?"
FILE_WORD = re.compile(rf"(?:^|[_.-]){WORDS}(?=[_.-]|$)", re.IGNORECASE)
FOLDERS = {"utils", "util", "common", "misc", "core", "helpers"}
# Utilisation and Implicit are words of their own.
CPP_TYPE = re.compile(rf"\b(?:class|struct|union|enum|using)\s+(?:\[\[\w+\]\]\s*)?"
                      rf"(?P<name>\w*{WORDS}(?![a-z])\w*)")
PYTHON_TYPE = re.compile(rf"^\s*class\s+(?P<name>\w*{WORDS}(?![a-z])\w*)", re.MULTILINE)
# A declaration: a type stands before the name. Calls of library functions are not ours to name.
CPP_FUNCTION = re.compile(r"(?P<before>[\w>*&])\s+(?P<name>get_\w+)\s*\(")
PYTHON_FUNCTION = re.compile(r"^\s*(?:async\s+)?def\s+(?P<name>get_\w+)", re.MULTILINE)
BEFORE_A_CALL = re.compile(r"(?:\b(?:return|else|do|case|and|or|not)|&&)$")


def _in_cpp(code):
    for match in CPP_TYPE.finditer(code):
        yield match.start("name"), _type_message(match["name"])
    for match in CPP_FUNCTION.finditer(code):
        if not BEFORE_A_CALL.search(code[:match.end("before")][-16:]):
            yield match.start("name"), _function_message(match["name"])


def _in_python(code):
    for match in PYTHON_TYPE.finditer(code):
        yield match.start("name"), _type_message(match["name"])
    for match in PYTHON_FUNCTION.finditer(code):
        yield match.start("name"), _function_message(match["name"])


def _type_message(name):
    return f"{name}: name it after what it is: no {ILL_NAMED}"


def _function_message(name):
    return f"{name}: call it {name.removeprefix('get_')}"


def _of_path(path):
    *folders, name = path.split("/")
    for folder in folders:
        if folder in FOLDERS:
            return f'no folder is called "{folder}": name it after what is in it'
    if FILE_WORD.search(name):
        return f"name the file after what it holds: no {ILL_NAMED}".lower()
    return None


def check(tree):
    findings = []
    for path in tree.files:
        kind = tree.kind(path)
        if kind is None:
            continue
        problem = _of_path(path)
        if problem:
            findings.append(Finding(path, 1, problem))
        if kind == "cpp":
            code = cpp_text.code_only(tree.text(path))
            found = _in_cpp(code)
        else:
            code = tree.text(path)
            found = _in_python(code) if kind == "python" else ()
        findings += [Finding(path, cpp_text.line_of(code, at), message) for at, message in found]
    return findings
