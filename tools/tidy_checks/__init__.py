"""The checks of tools/tidy. Each is a function from a Tree to a list of Findings."""

import os
from typing import NamedTuple


class Finding(NamedTuple):
    path: str
    line: int  # 0: the file as a whole
    message: str  # what to do
    warning: bool = False  # printed, not counted

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {'warning: ' if self.warning else ''}{self.message}"


def is_main(path):
    """A file that holds a `main`: there the program is put together, and there it ends."""
    name = os.path.basename(path)
    return name == "main.cc" or name.endswith("_main.cc")
