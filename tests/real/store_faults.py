"""What can be wrong with a machine, made on purpose: disks that are full or read-only, files that
are damaged; and how a program should say so."""
import hashlib
import os
import re
import shutil
import subprocess
import sys

PRIVATE = "STORE_TEST_HAS_PRIVATE_MOUNTS"
CRASH = re.compile(r"terminate called|what\(\)|Traceback|Assertion|core dumped|AddressSanitizer|"
                   r"Segmentation|Aborted|EDL_CHECK")
WAY_OUT = re.compile(r"\b(ask|choose|chmod|free|give|make|mount|move|name|pass|pick|put|remove|"
                     r"restore|run|set|start|stop|try|use|wait|write)\b", re.IGNORECASE)


def enter_private_mounts():
    """Starts this program again in a mount namespace of its own, where it can mount what it likes
    and everything is gone with it. Comes back without one where that is not permitted."""
    if os.environ.get(PRIVATE):
        return
    for command in (["unshare", "-m"], ["unshare", "-U", "-r", "-m"]):
        probe = [*command, "mount", "-t", "tmpfs", "none", "/mnt"]
        try:
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                os.environ[PRIVATE] = "1"
                os.execvp(command[0], [*command, sys.executable, *sys.argv])
        except FileNotFoundError:
            pass
    print("NOT TESTED: read-only and full disks: this machine permits no mounts (unshare -m)",
          file=sys.stderr)


def has_private_mounts():
    return bool(os.environ.get(PRIVATE))


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def unmount(folder):
    subprocess.run(["umount", "-l", folder], check=False, capture_output=True)


def fill(folder, name="ballast"):
    """Takes all the space that is left, to the last byte; the path of the file that has it."""
    path = os.path.join(folder, name)
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                pass
    return path


def files(folder):
    """All regular files below it, the largest first."""
    paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    regular = [path for path in paths if os.path.isfile(path)]
    return sorted(regular, key=lambda path: (-os.path.getsize(path), path))


def fingerprint(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def flip(path, place, count):
    """Inverts `count` bytes."""
    with open(path, "r+b") as file:
        file.seek(place)
        content = file.read(count)
        file.seek(place)
        file.write(bytes(byte ^ 0xff for byte in content))


def flip_middle(path):
    """Two pages of 4 KiB in the middle, whole ones."""
    flip(path, os.path.getsize(path) // 2 // 4096 * 4096, 2 * 4096)


def truncate_half(path):
    os.truncate(path, os.path.getsize(path) // 2)


def replace_by_garbage(path):
    size = os.path.getsize(path)
    with open(path, "wb") as file:
        file.write((hashlib.sha256(b"garbage").digest() * (size // 32 + 1))[:size])


def flip_bit_of(path, content):
    """One bit in the middle of these bytes, wherever the file has them. False if it has not."""
    with open(path, "r+b") as file:
        text = file.read()
        places = [found.start() for found in re.finditer(re.escape(content), text)]
        for start in places:
            place = start + len(content) // 2
            file.seek(place)
            file.write(bytes([text[place] ^ 1]))
    return bool(places)


def copy(folder, target):
    shutil.copytree(folder, target)
    return target


def sentence_problem(text):
    """Why this is not one sentence for a person on stderr; None if it is."""
    lines = text.splitlines()
    if len(lines) != 1:
        return f"{len(lines)} lines instead of one: {text!r}"
    if CRASH.search(text):
        return f"a crash, not a sentence: {text!r}"
    if len(lines[0].split()) < 4:
        return f"too short to say what is wrong: {text!r}"
    if not lines[0].endswith(".") and not WAY_OUT.search(lines[0]):
        return f"no full stop and no way out: {text!r}"
    return None
