"""The store as a naive model: requests, answers and events as plain values, the state at every
revision, and what a transaction does to it. Nothing here talks to a server.

Every request for keys is a Txn: a put is one without compares and one action, a range too.
"""
import bisect
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class KeyValue(NamedTuple):
    key: str
    value: str
    create: int
    mod: int
    version: int
    lease: int = 0


class Event(NamedTuple):
    """kv is None when the key was deleted."""
    revision: int
    key: str
    kv: KeyValue | None


class Put(NamedTuple):
    """Answered by the KeyValue that was there, if prev asks for it and there was one."""
    key: str
    value: str
    lease: int = 0
    prev: bool = False


class Delete(NamedTuple):
    """Answered by (how many, the KeyValues if prev asks for them)."""
    key: str
    end: str = ""
    prev: bool = False


class Range(NamedTuple):
    """Answered by (KeyValues, count, more)."""
    key: str
    end: str = ""
    limit: int = 0
    revision: int = 0


class Compare(NamedTuple):
    """target: VERSION CREATE MOD VALUE LEASE; result: EQUAL NOT_EQUAL GREATER LESS."""
    key: str
    target: str
    result: str
    value: Any


class Txn(NamedTuple):
    compares: tuple = ()
    success: tuple = ()
    failure: tuple = ()

    def branch(self, succeeded):
        return self.success if succeeded else self.failure

    def may_write(self):
        return any(not isinstance(act, Range) for act in self.success + self.failure)


class Grant(NamedTuple):
    ttl: int
    lease: int = 0  # 0: the server chooses


class KeepAlive(NamedTuple):
    lease: int


class Revoke(NamedTuple):
    lease: int


class TxnAnswer(NamedTuple):
    revision: int
    succeeded: bool
    responses: tuple


class GrantAnswer(NamedTuple):
    lease: int
    ttl: int


class KeepAliveAnswer(NamedTuple):
    ttl: int  # 0: there is no such lease


class RevokeAnswer(NamedTuple):
    revision: int


@dataclass
class Operation:
    """Without an answer it was either refused, with that message, or nobody knows what it did.
    An unknown one has its effect, if any, between start and end."""
    client: str
    request: Any
    start: float
    end: float = math.inf
    answer: Any = None
    refused: str = ""

    def is_unknown(self):
        return self.answer is None and not self.refused


@dataclass
class Watch:
    """What one watcher of [key, end) saw from revision `first` on: (when, Event, KeyValue before).
    A complete one was open, or opened again, until the end of the run."""
    name: str
    key: str
    end: str
    first: int
    complete: bool = True
    prev: bool = False
    seen: list = field(default_factory=list)
    connects: int = 0


@dataclass
class Incarnation:
    """One process of the server: when it was started, first answered, and was gone."""
    spawned: float
    ready: float = math.inf
    dead: float = math.inf


@dataclass
class Run:
    """All that is known of a run. events is the complete history as the server tells it."""
    operations: list
    events: list
    watches: list
    incarnations: list


def in_range(name, key, end):
    if not end:
        return name == key
    return name >= key and (end == "\0" or name < end)


class Versions:
    """The state after every revision."""

    def __init__(self, events):
        self.log = {}  # key -> ([revision], [KeyValue or None])
        self.last = 1
        self.leased = {}  # lease -> keys that were ever under it
        for event in events:
            revisions, values = self.log.setdefault(event.key, ([], []))
            revisions.append(event.revision)
            values.append(event.kv)
            self.last = event.revision
            if event.kv and event.kv.lease:
                self.leased.setdefault(event.kv.lease, set()).add(event.key)
        self.keys = sorted(self.log)

    def at(self, key, revision):
        revisions, values = self.log.get(key, ((), ()))
        place = bisect.bisect_right(revisions, revision)
        return values[place - 1] if place else None

    def within(self, key, end, revision):
        names = [key] if not end else self.keys[bisect.bisect_left(self.keys, key):]
        found = (self.at(name, revision) for name in names if in_range(name, key, end))
        return [kv for kv in found if kv]

    def under_lease(self, lease, revision):
        found = (self.at(key, revision) for key in sorted(self.leased.get(lease, ())))
        return [kv.key for kv in found if kv and kv.lease == lease]


def next_kv(put, before, revision):
    """The KeyValue that a put makes of the one before it."""
    if before is None:
        return KeyValue(put.key, put.value, revision, revision, 1, put.lease)
    return KeyValue(put.key, put.value, before.create, revision, before.version + 1, put.lease)


def compare_holds(compare, kv):
    if compare.target == "VALUE" and kv is None:
        return False  # as etcd has it: nothing compares with the value of a missing key
    place = {"VERSION": "version", "CREATE": "create", "MOD": "mod", "VALUE": "value",
             "LEASE": "lease"}[compare.target]
    left = getattr(kv, place) if kv else 0
    return {"EQUAL": left == compare.value, "NOT_EQUAL": left != compare.value,
            "GREATER": left > compare.value, "LESS": left < compare.value}[compare.result]


class _State:
    """The state at a revision, with the changes of one transaction on top."""

    def __init__(self, versions, base):
        self.versions = versions
        self.base = base
        self.changed = {}
        self.events = []

    def at(self, key):
        return self.changed[key] if key in self.changed else self.versions.at(key, self.base)

    def within(self, key, end):
        names = {kv.key for kv in self.versions.within(key, end, self.base)}
        names |= {name for name in self.changed if in_range(name, key, end)}
        return [kv for kv in map(self.at, sorted(names)) if kv]

    def change(self, revision, key, kv):
        self.changed[key] = kv
        self.events.append(Event(revision, key, kv))


def execute(txn, versions, base, revision):
    """What txn does to the state at `base` if it becomes `revision`: (succeeded, responses,
    events)."""
    state = _State(versions, base)
    succeeded = all(compare_holds(compare, state.at(compare.key)) for compare in txn.compares)
    responses = tuple(_act(act, state, revision) for act in txn.branch(succeeded))
    return succeeded, responses, state.events


def _act(act, state, revision):
    if isinstance(act, Put):
        before = state.at(act.key)
        state.change(revision, act.key, next_kv(act, before, revision))
        return before if act.prev else None
    if isinstance(act, Delete):
        found = state.within(act.key, act.end)
        for kv in found:
            state.change(revision, kv.key, None)
        return len(found), tuple(found) if act.prev else ()
    if act.revision:
        found = state.versions.within(act.key, act.end, act.revision)
    else:
        found = state.within(act.key, act.end)
    more = bool(act.limit) and len(found) > act.limit
    return tuple(found[:act.limit] if more else found), len(found), more
