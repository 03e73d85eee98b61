"""A program that lives in a notebook, as a file that workers can load: the sources of the functions
that `edl.train` was given, and of all that they use; constants and arrays by their values."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import textwrap
import types
from pathlib import Path
from typing import Any, Iterator

from edl import errors


def is_in_no_file() -> bool:
    return getattr(sys.modules["__main__"], "__file__", None) is None


class _Writer:
    """Collects what a program needs, in an order in which it can be defined."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._globals = vars(sys.modules["__main__"])
        self._known: set[str] = set()
        self.imports = ["import edl"]
        self.definitions: list[str] = []

    def argument(self, name: str, value: Any) -> str:
        """How the call of edl.train names it."""
        if isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
            if value.__name__ == "<lambda>":
                raise errors.InvalidError(f"{name} is a lambda, whose source is not known: give it "
                                          "a name with def")
            self._name(value.__name__, value, name)
            return value.__name__
        if isinstance(value, tuple) and any(map(_is_array, value)):
            words = [self.argument(f"{name}_{i}", one) for i, one in enumerate(value)]
            return f"({', '.join(words)},)"
        if _is_array(value):
            return self._array(f"given_{name}", value)
        return self._name(f"given_{name}", value, name)

    def _name(self, name: str, value: Any, user: str) -> str:
        """Makes `name` mean `value` in the program."""
        if name in self._known:
            return name
        self._known.add(name)
        if isinstance(value, types.ModuleType):
            self.imports.append(f"import {value.__name__} as {name}")
        elif isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
            self._source(value, user)
        elif _is_importable(value):
            self.imports.append(f"from {value.__module__} import {value.__qualname__} as {name}")
        elif _is_array(value):
            self._array(name, value)
        elif _is_plain(value):
            self.definitions.append(f"{name} = {value!r}")
        else:
            raise errors.InvalidError(
                f"{user} uses {name}, a {type(value).__name__} that lives in this notebook only: "
                "make it in a function that the program calls, or write the program into a file")
        return name

    def _source(self, value: Any, user: str) -> None:
        try:
            text = _class_source(value) if isinstance(value, type) else \
                textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError) as wrong:
            raise errors.InvalidError(
                f"the source of {value.__name__} is not known in this interpreter: write the "
                "program into a file, or use a notebook") from wrong
        ours = ("edl", "__name__", value.__name__)
        for name in _names(compile(text, value.__name__, "exec")):
            if name in self._globals and name not in ours:
                self._name(name, self._globals[name], value.__name__)
        if getattr(value, "__closure__", None):
            raise errors.InvalidError(f"{value.__name__} uses variables of the function around it: "
                                      "give them as arguments with defaults")
        self.definitions.append(text.rstrip())

    def _array(self, name: str, value: Any) -> str:
        import numpy

        path = self._folder / f"{name}.npy"
        is_tensor = type(value).__module__ == "torch"
        numpy.save(path, value.detach().numpy() if is_tensor else value, allow_pickle=False)
        read = f"numpy.load({str(path)!r}{'' if is_tensor else ', mmap_mode=' + repr('r')})"
        self.imports += ["import numpy", "import torch"]
        self.definitions.append(f"{name} = torch.from_numpy({read})" if is_tensor
                                else f"{name} = {read}")
        return name


def _class_source(value: type) -> str:
    """From the cell that has its functions; inspect looks for classes in files only."""
    files = [each.__code__.co_filename for each in vars(value).values()
             if isinstance(each, types.FunctionType)]
    for file in files or reversed(list(linecache.cache)):
        text = "".join(linecache.getlines(file))
        if f"class {value.__name__}" not in text:
            continue
        for node in reversed(ast.parse(text).body):
            if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return "\n".join(text.splitlines()[first - 1:node.end_lineno])
    raise OSError(f"no cell has the class {value.__name__}")


def _names(code: types.CodeType) -> Iterator[str]:
    """Those that a source takes from outside."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and hasattr(value, "shape") and not isinstance(value, type)


def _is_importable(value: Any) -> bool:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", "")
    return module is not None and name.isidentifier() and getattr(module, name, None) is value


def _is_plain(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError):
        return False


def write_program(folder: Path, arguments: dict[str, Any]) -> Path:
    """A file in `folder` that calls edl.train with these."""
    folder.mkdir(parents=True)
    folder = folder.absolute()
    writer = _Writer(folder)
    words = [f"{name}={writer.argument(name, value)}" for name, value in arguments.items()]
    text = ["# Written by edl.train from a notebook; edl resume loads it again.",
            *dict.fromkeys(writer.imports), "", *(f"\n{one}" for one in writer.definitions), "",
            f"\nedl.train({', '.join(words)})", ""]
    path = folder / "program.py"
    path.write_text("\n".join(text), encoding="utf-8")
    return path
