"""Many watchers that go away and come back while others write: none may miss or repeat an event."""
import json
import random
import select
import time

from conformance.catalog import scenario
from conformance.http_stream import Closed
from conformance.play import b64, body_bytes, create, op_delete, op_put
from conformance.http_stream import request_bytes

WATCHERS = 64
WRITES = 150
KEYS = [f"c/{letter}" for letter in "abcdefgh"]
RANGES = [("c/", "c0"), ("c/a", None), ("c/c", "c/f"), ("c/e", "\0")]


class Watcher:
    """Knows the revision it has to begin with when it comes back."""

    def __init__(self, target, ends, revision):
        self.target = target
        self.ends = ends
        self.next_revision = revision
        self.events = []
        self.stream = None
        self.open()

    def open(self):
        body = body_bytes(create(*self.ends, start_revision=self.next_revision))
        self.stream = self.target.stream(request_bytes("POST", "/v3/watch", body))

    def close(self):
        self.stream.close()

    def read(self):
        try:
            if not self.stream.receive(0.5):
                return
        except Closed:
            self.close()
            self.open()
            return
        while b"\n" in self.stream.body:
            self.take(json.loads(self.stream.line(0))["result"])

    def take(self, result):
        for event in result.get("events", []):
            revision = int(event["kv"]["mod_revision"])
            self.events.append((revision, event.get("type", "PUT"), event["kv"]["key"]))
            self.next_revision = revision + 1


def write(target, chance, present):
    """One write, as the events that it must cause."""
    keys = chance.sample(KEYS, chance.choice((1, 1, 2, 3)))
    ops, kinds = [], []
    for key in keys:
        drop = key in present and chance.random() < 0.4
        ops.append(op_delete(key) if drop else op_put(key, str(chance.random())))
        kinds.append("DELETE" if drop else "PUT")
        (present.discard if drop else present.add)(key)
    revision = target.call("/v3/kv/txn", {"success": ops}).revision
    return [(revision, kind, b64(key), key) for key, kind in zip(keys, kinds)]


def read_all(watchers, seconds):
    ready, _, _ = select.select([one.stream for one in watchers], [], [], seconds)
    ready = set(ready)
    for one in watchers:
        if one.stream in ready:
            one.read()


def wanted(log, ends):
    first, end = ends
    return [event[:3] for event in log
            if (event[3] == first if end is None else
                first <= event[3] and (end == "\0" or event[3] < end))]


@scenario
def a_crowd_of_watchers_sees_the_history(play):
    """64 watchers disconnect and reconnect at random; each sees exactly the writes, in order."""
    chance = random.Random(play.target.name)
    watchers = [Watcher(play.target, RANGES[i % len(RANGES)], play.base + 1)
                for i in range(WATCHERS)]
    try:
        log, present, reconnects = [], set(), 0
        writes = random.Random(7)
        for _ in range(WRITES):
            log += write(play.target, writes, present)
            for one in chance.sample(watchers, chance.choice((0, 1, 5))):
                one.close()
                one.open()
                reconnects += 1
            if chance.random() < 0.5:
                read_all(watchers, 0)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if all(len(one.events) >= len(wanted(log, one.ends)) for one in watchers):
                break
            read_all(watchers, 0.5)
        read_all(watchers, 0.3)
        for number, one in enumerate(watchers):
            right = one.events == wanted(log, one.ends)
            play.write_down(f"watcher {number} of {one.ends}",
                            f"{len(one.events)} events, {'as written' if right else one.events}")
    finally:
        for one in watchers:
            one.close()
    assert reconnects > WRITES // 2
    play.range("c/", "c0")
