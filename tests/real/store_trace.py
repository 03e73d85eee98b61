"""Reads what `strace -f -y` wrote, and finds for a put whether its bytes were safe on the disk
before the answer went out. Pure functions."""
import re
from typing import NamedTuple

READS = ("read", "readv", "recvfrom", "recvmsg", "pread64")
WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2")
SENDS = ("write", "writev", "sendto", "sendmsg")
SYNCS = ("fsync", "fdatasync")
TRACED = ",".join(sorted({*READS, *WRITES, *SENDS, *SYNCS}))

LINE = re.compile(r"^(?P<pid>\d+) +(?P<time>[\d:.]+) (?P<rest>.*)$")
BEGIN = re.compile(r"^(?P<name>\w+)\((?P<fd>\d+)(?:<(?P<path>[^>]*)>)?(?P<text>.*)$")
RESUMED = re.compile(r"^<\.\.\. (?P<name>\w+) resumed>(?P<text>.*)$")
RESULT = re.compile(r" = (?P<value>-?\d+)[^=\"]*$")
UNFINISHED = " <unfinished ...>"


class Call(NamedTuple):
    """begin and end are line numbers: their order is the order of things."""
    name: str
    descriptor: int
    path: str
    text: str
    begin: int
    end: int
    result: int
    time: str


def parse(lines):
    """All completed calls, in the order of their ends."""
    calls = []
    open_calls = {}  # pid -> (match of BEGIN, line number, time)
    for number, line in enumerate(lines):
        outer = LINE.match(line)
        if not outer:
            continue
        rest = outer["rest"]
        resumed = RESUMED.match(rest)
        if resumed:
            if outer["pid"] not in open_calls:
                continue
            begin, first, when = open_calls.pop(outer["pid"])
            text = begin["text"].removesuffix(UNFINISHED) + resumed["text"]
        else:
            begin, first, when = BEGIN.match(rest), number, outer["time"]
            if not begin:
                continue
            if rest.endswith(UNFINISHED):
                open_calls[outer["pid"]] = begin, first, when
                continue
            text = begin["text"]
        result = RESULT.search(text)
        calls.append(Call(begin["name"], int(begin["fd"]), begin["path"] or "", text, first,
                          number, int(result["value"]) if result else -1, when))
    return calls


def without_syncs(calls):
    return [call for call in calls if call.name not in SYNCS]


def put_problem(calls, folder, key, marks):
    """Why the put with this base64 key is not proven durable before its answer; None if it is.
    marks are the forms in which its value may stand in a file."""
    request = next((call for call in calls if call.name in READS and call.result > 0
                    and key in call.text and not _inside(call, folder)), None)
    if request is None:
        return f"the request with {key} was never read"
    answer = next((call for call in calls if call.name in SENDS and call.begin > request.end
                   and call.descriptor == request.descriptor and "HTTP/1.1 200" in call.text), None)
    if answer is None:
        return f"the request with {key} was never answered"
    between = [call for call in calls if _inside(call, folder) and call.result >= 0
               and request.end < call.begin and call.end < answer.begin]
    carriers = {call.path for call in between if call.name in WRITES
                and any(mark in call.text for mark in marks)}
    if not carriers:
        return f"no file got the value of {key} between {request.time} and {answer.time}"
    for path in sorted(carriers):
        last = max(call.end for call in between if call.name in WRITES and call.path == path)
        if any(call.name in SYNCS and call.path == path and call.begin > last for call in between):
            return None
    return f"{sorted(carriers)} got the value of {key} at {answer.time}, but no sync before its " \
           "answer"


def _inside(call, folder):
    return call.path.startswith(folder.rstrip("/") + "/")
