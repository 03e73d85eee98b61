"""Right histories for the tests of the checker, made without a server."""
import math

from store_model import (Event, Grant, GrantAnswer, Incarnation, KeepAlive, KeepAliveAnswer,
                         KeyValue, Operation, Run, Txn, TxnAnswer, Versions, Watch, execute,
                         in_range)


class Story:
    """A store that does everything right, one operation a second. Tests then tell lies."""

    def __init__(self):
        self.run = Run([], [], [], [Incarnation(0, 0.1)])
        self.now = 1.0

    def revision(self):
        return self.run.events[-1].revision if self.run.events else 1

    def note(self, request, answer=None, refused="", end=None):
        end = self.now + 0.5 if end is None else end
        operation = Operation("c", request, self.now, end, answer, refused)
        self.run.operations.append(operation)
        self.now += 1
        return operation

    def txn(self, *acts, compares=(), failure=(), known=True):
        request = Txn(compares, acts, failure)
        revision = self.revision()
        succeeded, responses, events = execute(
            request, Versions(self.run.events), revision, revision + 1)
        self.run.events += events
        answer = TxnAnswer(self.revision(), succeeded, responses)
        return self.note(request, answer) if known else self.note(request, end=math.inf)

    def lost(self, *acts):
        """Of unknown outcome, and not done."""
        return self.note(Txn((), acts), end=math.inf)

    def grant(self, lease, ttl):
        return self.note(Grant(ttl), GrantAnswer(lease, ttl))

    def keep_alive(self, lease, ttl):
        return self.note(KeepAlive(lease), KeepAliveAnswer(ttl))

    def end_lease(self, lease):
        revision = self.revision()
        keys = Versions(self.run.events).under_lease(lease, revision)
        self.run.events += [Event(revision + 1, key, None) for key in keys]

    def restart(self):
        self.run.incarnations[-1].dead = self.now
        self.run.incarnations.append(Incarnation(self.now + 1, self.now + 1.5))
        self.now += 2

    def watch(self, key="/", end="0", first=1, complete=True):
        versions = Versions(self.run.events)
        seen = [(self.now, event, versions.at(event.key, event.revision - 1))
                for event in self.run.events
                if event.revision >= first and in_range(event.key, key, end)]
        self.run.watches.append(Watch("w", key, end, first, complete, True, seen))
        self.now += 1
        return self.run.watches[-1]


def moved(event, revision):
    kv = event.kv and event.kv._replace(mod=revision)
    return event._replace(revision=revision, kv=kv)


def put(event_revision, key, value, lease=0):
    return Event(event_revision, key,
                 KeyValue(key, value, event_revision, event_revision, 1, lease))
