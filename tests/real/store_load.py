"""Clients and watchers that keep a store busy and write down all that they do and see.

Keys: /t/r/N are registers that all clients share, /t/l/CLIENT/N are under leases.
"""
import math
import random
import threading
import time

from store_leases import NO_LEASE
from store_model import (Compare, Delete, Grant, KeepAlive, Operation, Put, Range, Revoke, Txn,
                         TxnAnswer, Watch)
from store_process import (Client, Refused, Troubled, Unanswered, Unreachable, event_of,
                           watch_lines)

REGISTERS = 12
THINK_SECONDS = 0.006
ALL = ("/t/", "/t0")
THE_END = "the end"  # the value that tells watchers to go home


class Worker(threading.Thread):
    """One client with its own connection and its own journal."""

    def __init__(self, name, port, seed):
        super().__init__(name=name, daemon=True)
        self.client = Client(port)
        self.chance = random.Random(f"{seed} {name}")
        self.journal = []
        self.leaving = threading.Event()
        self.count = 0
        self.revision = 1  # the last one seen
        self.failure = None
        self.troubles = []  # answers that say neither yes nor no

    def run(self):
        try:
            while not self.leaving.is_set():
                self.turn()
        except Exception as error:  # told by the main thread
            self.failure = error
        self.client.close()

    def turn(self):
        raise NotImplementedError

    def value(self):
        self.count += 1
        return f"{self.name}.{self.count}"

    def do(self, request):
        """The answer, or None. The end of an unknown one is the time of its failure for now."""
        operation = Operation(self.name, request, time.monotonic())
        try:
            operation.answer = self.client.perform(request)
        except Refused as refusal:
            operation.refused = str(refusal)
            if NO_LEASE not in operation.refused:
                raise AssertionError(f"{request}: {refusal}") from refusal
        except Troubled as trouble:
            self.troubles.append(f"{trouble} to {request}")
        except Unanswered:
            pass
        except Unreachable:
            self.leaving.wait(0.005)
            return None
        operation.end = time.monotonic()
        self.journal.append(operation)
        if isinstance(operation.answer, TxnAnswer):
            self.revision = max(self.revision, operation.answer.revision)
        return operation.answer


class RegisterWorker(Worker):
    """Puts, compares and sets, deletes and reads registers."""

    def __init__(self, name, port, seed):
        super().__init__(name, port, seed)
        self.seen = {}  # key -> KeyValue of the last read

    def turn(self):
        makers = (self.put, self.put, self.compare_and_set, self.compare_and_set, self.several,
                  self.delete, self.read, self.read)
        request = self.chance.choice(makers)()
        answer = self.do(request)
        if answer:
            acts = request.branch(answer.succeeded)
            for act, response in zip(acts, answer.responses):
                if isinstance(act, Range) and not act.revision:
                    self.seen.pop(act.key, None)
                    self.seen.update({kv.key: kv for kv in response[0]})
        self.leaving.wait(self.chance.uniform(0, THINK_SECONDS))

    def key(self):
        return f"/t/r/{self.chance.randrange(REGISTERS)}"

    def put(self):
        return Txn((), (Put(self.key(), self.value(), prev=self.chance.random() < 0.3),))

    def compare(self, key):
        kv = self.seen.get(key)
        if kv is None:
            return Compare(key, self.chance.choice(("VERSION", "CREATE", "MOD")), "EQUAL", 0)
        return self.chance.choice((
            Compare(key, "MOD", "EQUAL", kv.mod), Compare(key, "VALUE", "EQUAL", kv.value),
            Compare(key, "VERSION", "LESS", kv.version + 1),
            Compare(key, "CREATE", "NOT_EQUAL", kv.create + 1),
            Compare(key, "VALUE", "GREATER", ""), Compare(key, "MOD", "GREATER", kv.mod - 1)))

    def compare_and_set(self):
        key = self.key()
        return Txn((self.compare(key),), (Put(key, self.value()), Range(key)), (Range(key),))

    def several(self):
        keys = [f"/t/r/{number}" for number in self.chance.sample(range(REGISTERS), 3)]
        value = self.value()
        acts = (Put(keys[0], value, prev=True), Range("/t/r/", "/t/r0", 3), Put(keys[1], value),
                Delete(keys[2], prev=True), Range("/t/r/", "/t/r0"))
        compares = (self.compare(keys[0]),) if self.chance.random() < 0.5 else ()
        return Txn(compares, acts, (Delete(keys[1]), Range(keys[1])))

    def delete(self):
        if self.chance.random() < 0.2:
            return Txn((), (Delete("/t/r/1", "/t/r/2", prev=True),))
        return Txn((), (Delete(self.key(), prev=self.chance.random() < 0.5),))

    def read(self):
        old = self.chance.randrange(max(2, self.revision - 500), self.revision + 1) \
            if self.revision > 2 else 0
        return Txn((), (self.chance.choice((
            Range(self.key()), Range(*ALL), Range("/t/r/", "/t/r0", limit=4),
            Range("/t/l/", "/t/l0"), Range(*ALL, revision=old))),))


class LeaseWorker(Worker):
    """Takes leases, keeps them alive for a while, ends them in all ways and pokes at dead ones."""

    def __init__(self, name, port, seed):
        super().__init__(name, port, seed)
        self.left = []  # (lease, when it can be dead)

    def turn(self):
        number = self.chance.randrange(1, 1 << 62) if self.chance.random() < 0.3 else 0
        grant = self.do(Grant(self.chance.choice((1, 1, 2)), number))
        if not grant:
            return
        keys = [f"/t/l/{self.name}/{number}" for number in self.chance.sample(range(5), 3)]
        self.do(self.puts(keys[:self.chance.randrange(1, 4)], grant.lease))
        for _ in range(self.chance.randrange(4)):
            self.leaving.wait(grant.ttl / 4)
            self.do(KeepAlive(grant.lease))
            if self.chance.random() < 0.3:
                self.do(self.puts(keys[:1], grant.lease))
        self.finish(keys, grant)
        self.poke()

    def puts(self, keys, lease):
        return Txn((), tuple(Put(key, self.value(), lease) for key in keys))

    def finish(self, keys, grant):
        how = self.chance.choice(("leave", "leave", "leave", "revoke", "delete", "detach"))
        if how == "revoke":
            self.do(Revoke(grant.lease))
            self.do(KeepAlive(grant.lease))
        elif how == "delete":
            self.do(Txn((), (Delete(keys[0], prev=True), Range(keys[1]))))
        elif how == "detach":
            self.do(self.puts(keys[:1], 0))
        self.left.append((grant.lease, time.monotonic() + 1.5 * grant.ttl))

    def poke(self):
        """Only leases that can be dead, and only once, so that they do die."""
        dead = [(lease, when) for lease, when in self.left if when < time.monotonic()]
        if dead:
            lease, _ = chosen = self.chance.choice(dead)
            self.left.remove(chosen)
            self.do(KeepAlive(lease))
            self.do(self.puts([f"/t/l/{self.name}/late"], lease))


class Watcher(threading.Thread):
    """Follows [key, end) to the end of the run, across restarts of the server."""

    def __init__(self, watch, port):
        super().__init__(name=watch.name, daemon=True)
        self.watches = [watch]
        self.client = Client(port)
        self.done = False
        self.failure = None

    def run(self):
        try:
            while not self.done:
                self.follow(self.watches[-1])
        except Exception as error:
            self.failure = error
        self.client.close()

    def follow(self, watch):
        first = watch.seen[-1][1].revision + 1 if watch.seen else watch.first
        try:
            for message in watch_lines(self.client, watch.key, watch.end, first, watch.prev):
                if message.get("canceled"):
                    raise AssertionError(f"a watch from {first} was ended: {message}")
                watch.connects += bool(message.get("created"))
                when = time.monotonic()
                for body in message.get("events", ()):
                    event, before = event_of(body)
                    watch.seen.append((when, event, before))
                    self.done |= bool(event.kv) and event.kv.value == THE_END
                if self.done:
                    return
        except (Unanswered, Unreachable):
            time.sleep(0.005)


class LateWatcher(Watcher):
    """After each restart it begins a new watch in the near past."""

    def __init__(self, name, port, progress, seed):
        super().__init__(Watch(name, *ALL, 2, complete=False), port)
        self.progress = progress  # a function: the last revision that anybody saw
        self.chance = random.Random(f"{seed} {name}")

    def follow(self, watch):
        super().follow(watch)
        if watch.connects and not self.done:
            first = max(2, self.progress() - self.chance.randrange(300))
            self.watches.append(Watch(self.name, *ALL, first, complete=False))


def settle(operations, incarnations):
    """An operation that broke off can have its effect only until the next server answers: its
    connection died with the server that had it."""
    for operation in operations:
        if operation.is_unknown():
            operation.end = min((server.ready for server in incarnations
                                 if server.spawned >= operation.end), default=math.inf)
