"""The files of the repository as the tools see them: what git tracks or would track."""

import os
import subprocess
from functools import cache, cached_property
from pathlib import Path

# Without git (an unpacked archive) these are what .gitignore leaves out.
NOT_OURS = {".git", ".cache", "__pycache__", "build", "edl-jobs"}


class Tree:
    def __init__(self, root):
        self.root = Path(root).resolve()

    def git(self, *arguments):
        """What a git command prints, or None when it fails or the tree is no repository."""
        # A hook's GIT_DIR would point elsewhere; an outer repository is not this one; and root in
        # somebody else's clone must say that it trusts it.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        environment["GIT_CEILING_DIRECTORIES"] = str(self.root.parent)
        command = ["git", "-c", "safe.directory=*", *arguments]
        try:
            done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, check=False)
        except FileNotFoundError:
            return None
        return done.stdout if done.returncode == 0 else None

    @cached_property
    def files(self):
        """Paths from the root, sorted: tracked, and new but not ignored."""
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = listed.split("\0") if listed is not None else self._walk()
        return sorted({name for name in names if name and (self.root / name).is_file()})

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in NOT_OURS]
            for name in names:
                if not name.endswith(".pyc"):
                    yield (Path(folder) / name).relative_to(self.root).as_posix()

    @cache
    def text(self, path):
        """The file's text; empty for what is not text, or went away while we look."""
        try:
            content = (self.root / path).read_bytes()
        except FileNotFoundError:
            return ""
        return "" if b"\0" in content[:8192] else content.decode("utf-8", errors="replace")

    def lines(self, path):
        return self.text(path).splitlines()

    def kind(self, path):
        """`cpp`, `python`, `shell` or None, by the name or the first line."""
        if path.endswith((".h", ".cc")):
            return "cpp"
        first = self.text(path).split("\n", 1)[0]
        program = first[2:] if first.startswith("#!") else ""
        if path.endswith(".py") or "python" in program:
            return "python"
        if path.endswith(".sh") or program.strip().endswith(("/sh", "bash", " sh", "dash")):
            return "shell"
        return None

    @cached_property
    def cpp(self):
        return [path for path in self.files if self.kind(path) == "cpp"]
