"""Checks what the clients of a store saw against the history that the store itself claims.

The revisions are the witness of the order: the history is replayed and every answer, every watched
event and every clock reading must fit it. Pure functions; problems(run) gives sentences, each
begins with the letter of its rule:

a  an acknowledged write is in the history at its revision, with its content
b  revisions have no holes, only grow, and stand for one content
c  what ended before something else began has a smaller (a read: not larger) revision
d  every answer is that of the replayed state at its revision
e  an operation of unknown outcome happened at most once, all of it, and a refused one never
f  every event belongs to an operation or to the end of a lease
g  a watcher saw the history from its start, in order, nothing missing, nothing twice
h  a lease lives its TTL after the last keep-alive and after each restart of the server, dies
   after that, and stays dead
"""
import itertools
import math
from collections import defaultdict

from store_leases import collect, key_problems, lease_problems
from store_model import (Delete, Event, Put, Revoke, RevokeAnswer, Txn, TxnAnswer, Versions,
                         execute, in_range, next_kv)


def problems(run):
    """All problems of the first stage that has any: later stages build on earlier ones."""
    found = list(revision_problems(run.events))
    if found:
        return found
    history = History(run)
    found = list(answer_problems(history)) + list(watch_problems(history))
    found = found or list(order_problems(history))  # of what was answered
    if found:
        return found
    found = list(history.claim_rest())
    if found:
        return found
    return list(order_problems(history)) + list(lease_problems(history)) \
        + list(key_problems(history))


def revision_problems(events):
    """Rule b, by replay: each event is the successor of the state before it."""
    state = {}
    last = 1
    for revision, group in itertools.groupby(events, lambda event: event.revision):
        if revision != last + 1:
            yield f"b: revision {revision} follows {last}"
        last = revision
        touched = set()
        for event in group:
            before = state.get(event.key)
            if event.key in touched:
                yield f"b: revision {revision} changes {event.key} twice"
            elif event.kv is None and before is None:
                yield f"b: {event} deletes what is not there"
            elif event.kv and event.kv != next_kv(
                    Put(event.key, event.kv.value, event.kv.lease), before, revision):
                yield f"b: {event} cannot follow {before}"
            touched.add(event.key)
            state[event.key] = event.kv


def writes(operation):
    """An acknowledged operation that made a revision, by its own answer."""
    if not isinstance(operation.answer, TxnAnswer):
        return False
    acts = operation.request.branch(operation.answer.succeeded)
    return any(isinstance(act, Put) or isinstance(act, Delete) and response[0]
               for act, response in zip(acts, operation.answer.responses))


class History:
    """A run with its index. claims says for each revision who made it: an Operation or a lease."""

    def __init__(self, run):
        self.run = run
        self.versions = Versions(run.events)
        self.groups = defaultdict(list)
        for event in run.events:
            self.groups[event.revision].append(event)
        self.claims = {}
        self.leases = collect(run.operations)
        self.after, self.before = self._times()

    def _times(self):
        """For each revision: it was made after, and was there before, these times."""
        last = self.versions.last
        after = [-math.inf] * (last + 2)
        before = [math.inf] * (last + 2)
        for operation in self.run.operations:
            if isinstance(operation.answer, TxnAnswer) and operation.answer.revision <= last:
                made = operation.answer.revision
                after[made + 1] = max(after[made + 1], operation.start)
                before[made] = min(before[made], operation.end)
        for watch in self.run.watches:
            for when, event, _ in watch.seen:
                if event.revision <= last:
                    before[event.revision] = min(before[event.revision], when)
        for revision in range(1, last + 2):
            after[revision] = max(after[revision], after[revision - 1])
        for revision in range(last, -1, -1):
            before[revision] = min(before[revision], before[revision + 1])
        return after, before

    def effect(self, request, revision):
        """The events of a request if it makes this revision."""
        if isinstance(request, Txn):
            return execute(request, self.versions, revision - 1, revision)[2]
        keys = self.versions.under_lease(request.lease, revision - 1)
        return [Event(revision, key, None) for key in keys]

    def claim(self, revision, by):
        """False if it has another maker."""
        return self.claims.setdefault(revision, by) is by

    def claim_rest(self):
        """Rules e and f: each revision that no answer claims gets one operation of unknown outcome
        or one lease that ran out, and each of those is used at most once."""
        unknown = [operation for operation in self.run.operations if operation.is_unknown()
                   and isinstance(operation.request, (Txn, Revoke))]
        makers = defaultdict(list)  # key -> operations that may change it
        for operation in unknown:
            for key in self._keys(operation.request):
                makers[key].append(operation)
        candidates = {}
        for revision, group in self.groups.items():
            if revision not in self.claims:
                candidates[revision] = [
                    operation for operation in makers[group[0].key]
                    if operation.start < self.before[revision]
                    and operation.end > self.after[revision]
                    and self.effect(operation.request, revision) == group]
                lease = self.ended_lease(group)
                if lease and lease.may_end(self, revision):
                    candidates[revision].append(lease)
        matched = match(candidates)
        self.claims.update(matched)
        for revision, maker in matched.items():
            if not isinstance(getattr(maker, "request", None), Txn):  # a Lease, or its Revoke
                self.leases[getattr(maker, "request", maker).lease].ended = revision
        for revision, options in candidates.items():
            if revision not in matched:
                yield self._explain(revision, options)

    def _keys(self, request):
        if isinstance(request, Revoke):
            return self.versions.leased.get(request.lease, ())
        acts = [act for act in request.success + request.failure if isinstance(act, (Put, Delete))]
        return {key for act in acts for key in self.versions.keys
                if in_range(key, act.key, getattr(act, "end", ""))}

    def ended_lease(self, group):
        """The lease all of whose keys, and nothing else, go in this group."""
        revision = group[0].revision
        before = self.versions.at(group[0].key, revision - 1)
        if any(event.kv for event in group) or not before or not before.lease:
            return None
        keys = self.versions.under_lease(before.lease, revision - 1)
        same = sorted(event.key for event in group) == keys
        return self.leases.get(before.lease) if same else None

    def _explain(self, revision, options):
        group = self.groups[revision]
        if options:
            return f"e: revision {revision} {group} needs {options[0]} twice"
        lease = self.ended_lease(group)
        if lease:
            return f"h: revision {revision} {group} ends {lease} before its time; seen " \
                   f"{self.before[revision]}, servers {self.run.incarnations}"
        values = {event.kv.value for event in group if event.kv}
        for operation in self.run.operations:
            if isinstance(operation.request, Txn) and values & {
                    act.value for act in operation.request.success + operation.request.failure
                    if isinstance(act, Put)}:
                return f"e: revision {revision} {group} is not what {operation} can have done then"
        return f"f: nobody made revision {revision} {group}"


def match(candidates):
    """Revision -> one of its candidates, each used once; as many as possible (augmenting paths).
    Every path is short: unique values leave nearly all revisions a single candidate."""
    taken = {}  # id of a candidate -> (revision, candidate)

    def place(revision, tried):
        for option in candidates[revision]:
            if id(option) in tried:
                continue
            tried.add(id(option))
            holder = taken.get(id(option))
            if holder is None or place(holder[0], tried):
                taken[id(option)] = (revision, option)
                return True
        return False

    for revision in sorted(candidates, key=lambda revision: len(candidates[revision])):
        place(revision, set())
    return dict(taken.values())


def answer_problems(history):
    """Rules a and d, and of b that a revision has one maker."""
    for operation in history.run.operations:
        answer = operation.answer
        if isinstance(answer, RevokeAnswer):
            yield from _revoke_problems(history, operation)
        if not isinstance(answer, TxnAnswer):
            continue
        made = writes(operation)
        if answer.revision > history.versions.last:
            rule = "a" if made else "d"
            yield f"{rule}: the history ends at {history.versions.last} before {operation}"
            continue
        base = answer.revision - 1 if made else answer.revision
        succeeded, responses, events = execute(operation.request, history.versions, base, base + 1)
        group = history.groups.get(answer.revision, [])
        if made and events != group:
            yield f"a: at {answer.revision} stands {group}, not {operation}"
        elif (succeeded, responses) != (answer.succeeded, answer.responses):
            yield f"d: the state says {succeeded} {responses} to {operation}"
        elif made and not history.claim(answer.revision, operation):
            yield f"b: {operation} and {history.claims[answer.revision]} made one revision"


def _revoke_problems(history, operation):
    """The keys of the lease go at the revision of the answer, unless there were none."""
    lease = operation.request.lease
    revision = operation.answer.revision
    if history.versions.under_lease(lease, revision):
        yield f"a: keys are left after {operation}"
    expected = history.effect(operation.request, revision)
    if not expected:
        return
    if sorted(history.groups.get(revision, [])) != expected:
        yield f"a: at {revision} stands {history.groups.get(revision)}, not {operation}"
    elif not history.claim(revision, operation):
        yield f"b: {operation} and {history.claims[revision]} made one revision"
    elif lease in history.leases:
        history.leases[lease].ended = revision


def watch_problems(history):
    """Rule g."""
    for watch in history.run.watches:
        expected = [event for event in history.run.events if event.revision >= watch.first
                    and in_range(event.key, watch.key, watch.end)]
        pairs = itertools.zip_longest(watch.seen, expected)
        for place, (seen, event) in enumerate(pairs):
            if seen is None:
                if watch.complete:
                    yield f"g: watcher {watch.name} ends before {event}, {place} seen"
                break
            if seen[1] != event:
                yield f"g: watcher {watch.name} saw {seen[1]} where {event} is due"
                break
            before = history.versions.at(event.key, event.revision - 1)
            if watch.prev and seen[2] != before:
                yield f"g: watcher {watch.name} saw {seen[2]} before {event}, it was {before}"
                break


def order_problems(history):
    """Rule c. What a watcher has seen is a floor for all that begins later."""
    ends = [(when, event.revision) for watch in history.run.watches
            for when, event, _ in watch.seen]
    begins = []
    made = {id(claimant): revision for revision, claimant in history.claims.items()}
    for operation in history.run.operations:
        revision = made.get(id(operation))
        least = 1
        if revision is None and isinstance(operation.answer, TxnAnswer):
            revision, least = operation.answer.revision, 0
        if revision is not None:
            begins.append((operation.start, revision, least, operation))
            ends.append((operation.end, revision))
    ends.sort()
    begins.sort(key=lambda begin: begin[0])
    floor = place = 0
    for start, revision, least, operation in begins:
        while place < len(ends) and ends[place][0] < start:
            floor = max(floor, ends[place][1])
            place += 1
        if revision < floor + least:
            yield f"c: revision {floor} was seen before this began: {revision} {operation}"
