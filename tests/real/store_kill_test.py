"""The store server killed with kill -9 again and again under load, on one data directory and one
port. Nothing acknowledged is lost, and what clients and watchers saw fits one history.

    store_kill_test.py PROGRAM [--kills=N] [--seconds=S] [--seed=N] [--server=edl:PATH|etcd]
                       [--control]

With --control the disk forgets: the last server starts from an old copy of the data directory. The
test then passes if the checker rejects the run.
"""
import argparse
import collections
import random
import shutil
import sys
import tempfile
import time

import store_history
from store_leases import Lease
from store_load import (ALL, THE_END, LateWatcher, LeaseWorker, RegisterWorker, Watcher, settle)
from store_model import (Delete, GrantAnswer, Incarnation, KeepAliveAnswer, Operation, Put,
                         Range, RevokeAnswer, Run, Txn, TxnAnswer, Watch)
from store_process import PATIENCE, Client, Server, event_of, present, watch_lines

REGISTER_WORKERS = 5
LEASE_WORKERS = 6
SHOWN_MAX = 10
SHOWN_CHARACTERS_MAX = 2000


class Scene:
    """A server with its past, and everybody who talks to it."""

    def __init__(self, server, folder, seed):
        self.server = Server(server, folder)
        self.chance = random.Random(seed)
        self.incarnations = []
        self.kills = []  # when
        self.early_kills = 0  # before the first answer
        self.kills_in_flight = 0  # while a write was
        port = self.server.port
        self.workers = [RegisterWorker(f"r{i}", port, seed) for i in range(REGISTER_WORKERS)]
        self.workers += [LeaseWorker(f"l{i}", port, seed) for i in range(LEASE_WORKERS)]
        self.watchers = [Watcher(Watch("all", *ALL, 1, prev=True), port),
                         Watcher(Watch("registers", "/t/r/", "/t/r0", 1), port),
                         Watcher(Watch("leased", "/t/l/", "/t/l0", 1, prev=True), port),
                         Watcher(Watch("one key", "/t/r/3", "", 1), port),
                         LateWatcher("late", port, self.progress, seed)]

    def progress(self):
        return max(worker.revision for worker in self.workers)

    def start(self):
        self.incarnations.append(Incarnation(time.monotonic()))
        self.server.start()

    def await_ready(self):
        self.incarnations[-1].ready = self.server.wait_ready()

    def kill(self):
        self.kills.append(time.monotonic())
        self.server.kill()
        self.incarnations[-1].dead = time.monotonic()

    def check_alive(self):
        for thread in self.workers + self.watchers:
            if thread.failure:
                raise thread.failure

    def live(self, number):
        """How long the server lives before its next end. Some lives let leases run out."""
        if number % 7 == 4:
            return self.chance.uniform(2.5, 3.5)
        return self.chance.uniform(0.0, 0.6)

    def copy_data(self):
        """A copy of the data directory as a crash leaves it."""
        self.kill()
        copy = self.server.data + ".old"
        shutil.copytree(self.server.data, copy)
        self.start()
        self.await_ready()
        return copy

    def torment(self, kills, seconds):
        begin = time.monotonic()
        for number in range(kills):
            due = begin + number * seconds / kills - time.monotonic()
            time.sleep(max(self.live(number), due))
            self.check_alive()
            self.kill()
            self.start()
            if number % 6 == 3:
                usual = min(server.ready - server.spawned for server in self.incarnations)
                time.sleep(self.chance.uniform(0, usual))
                self.early_kills += 1
                self.kill()
                self.start()
            self.await_ready()

    def finish(self, old_data):
        """Lets the leases run out, sends everybody home, and reads all from the disk again, or
        from an old copy of it."""
        for worker in self.workers:
            worker.leaving.set()
        for worker in self.workers:
            worker.join(2 * PATIENCE)
            if worker.is_alive():
                raise AssertionError(f"{worker.name} still waits for an answer")
        client = Client(self.server.port)
        journal = []
        end = time.monotonic() + PATIENCE
        while any(kv.lease for kv in perform(client, journal, Range(*ALL)).responses[0][0]):
            if time.monotonic() > end:
                raise AssertionError(f"leases did not run out within {PATIENCE} s: {journal[-1]}")
            time.sleep(0.1)
        perform(client, journal, Put("/t/r/3", THE_END), Put("/t/l/end", THE_END))
        for watcher in self.watchers:
            watcher.join(PATIENCE)
            if watcher.is_alive():
                raise AssertionError(f"watcher {watcher.name} has not seen the end: "
                                     f"{watcher.watches[-1].seen[-3:]}")
        self.check_alive()
        client.close()
        self.kill()
        if old_data:
            shutil.rmtree(self.server.data)
            shutil.move(old_data, self.server.data)
        self.start()
        self.await_ready()
        perform(client, journal, Range("\0", "\0"))
        last = journal[-1].answer.revision
        return journal, whole_history(client, last)

    def record(self, journal, events):
        operations = journal + [operation for worker in self.workers
                                for operation in worker.journal]
        broken = [(operation.start, operation.end) for operation in operations
                  if operation.is_unknown() and is_write(operation)]
        self.kills_in_flight = sum(any(start < kill < end for start, end in broken)
                                   for kill in self.kills)
        settle(operations, self.incarnations)
        watches = [watch for watcher in self.watchers for watch in watcher.watches]
        return Run(operations, events, watches, self.incarnations)


def perform(client, journal, *acts):
    operation = Operation("end", Txn((), acts), time.monotonic())
    operation.answer = client.perform(operation.request)
    operation.end = time.monotonic()
    journal.append(operation)
    return operation.answer


def whole_history(client, last):
    events = []
    for message in watch_lines(client, "\0", "\0", 1):
        events += [event_of(body)[0] for body in message.get("events", ())]
        if events and events[-1].revision >= last:
            client.close()
            return events
    return events


def counts(scene, run, history):
    """What was exercised. None of the first table may be 0."""
    needed = collections.Counter({name: 0 for name in (
        "puts", "transactions that compared well", "transactions that did not", "deletes",
        "deletes of nothing", "reads", "reads of the past", "leases", "keep-alives",
        "keep-alives of the dead", "revocations", "refused puts", "leases that ran out")})
    for operation in run.operations:
        needed.update(_kinds(operation))
    makers = list(history.claims.values())
    needed["leases that ran out"] = sum(isinstance(maker, Lease) for maker in makers)
    unknown = [operation for operation in run.operations
               if operation.is_unknown() and is_write(operation)]
    needed["writes of unknown outcome"] = len(unknown)
    happened = sum(isinstance(maker, Operation) and maker.is_unknown() for maker in makers)
    needed["kills while a write was in flight"] = scene.kills_in_flight
    needed["kills before the first answer"] = scene.early_kills
    needed["watch reconnects"] = sum(watch.connects for watch in run.watches) - len(scene.watchers)
    told = {"operations": len(run.operations), "kills": len(scene.kills),
            "events": len(run.events), "revisions": len(history.groups),
            "unknown outcomes": sum(operation.is_unknown() for operation in run.operations),
            "unknown writes that happened": happened,
            "events watched": sum(len(watch.seen) for watch in run.watches)}
    return needed, told


def is_write(operation):
    return isinstance(operation.request, Txn) and operation.request.may_write()


def _kinds(operation):
    """Names for the table of counts."""
    request, answer = operation.request, operation.answer
    if operation.refused:
        yield "refused puts"
    if isinstance(answer, GrantAnswer):
        yield "leases"
    if isinstance(answer, KeepAliveAnswer):
        yield "keep-alives" if answer.ttl else "keep-alives of the dead"
    if isinstance(answer, RevokeAnswer):
        yield "revocations"
    if not isinstance(answer, TxnAnswer):
        return
    if request.compares:
        yield "transactions that compared well" if answer.succeeded else \
            "transactions that did not"
    for act, response in zip(request.branch(answer.succeeded), answer.responses):
        if isinstance(act, Put):
            yield "puts"
        elif isinstance(act, Delete):
            yield "deletes" if response[0] else "deletes of nothing"
        else:
            yield "reads of the past" if act.revision else "reads"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", nargs="?", help="our own program, edl")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="at least so long")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--control", action="store_true", help="lose writes on purpose")
    parser.add_argument("--server", help="edl:PATH or etcd")
    options = parser.parse_args()
    if not options.server and not options.program:
        parser.error("name the program or a server")
    options.server = options.server or "edl:" + options.program
    return options


def check(scene, run):
    """0, or 1 with the problems printed."""
    found = store_history.problems(run)
    for line in sorted(found, key=lambda line: line[0])[:SHOWN_MAX]:
        print(line[:SHOWN_CHARACTERS_MAX])
    if found:
        print(f"{len(found)} problems")
        return 1
    history = store_history.History(run)
    list(store_history.answer_problems(history))
    list(history.claim_rest())
    needed, told = counts(scene, run, history)
    slowest = max(server.ready - server.spawned for server in run.incarnations
                  if server.ready < server.dead)
    for name, count in {**told, **needed}.items():
        print(f"{count:8} {name}")
    print(f"{slowest * 1000:8.0f} ms, the slowest restart to the first answer")
    troubles = [trouble for worker in scene.workers for trouble in worker.troubles]
    for trouble in troubles[:SHOWN_MAX]:
        print(f"neither yes nor no: {trouble[:SHOWN_CHARACTERS_MAX]}")
    never = [name for name, count in needed.items() if not count]
    if never:
        print(f"never exercised: {', '.join(never)}")
    # etcd may say so while it has no leader. Ours has no such time.
    return 1 if never or troubles and scene.server.program else 0


def main():
    options = arguments()
    if not present(options.server):
        print(f"NOT TESTED: {options.server} is not on this machine", file=sys.stderr)
        return 77 if options.server == "etcd" else 1
    print(f"server {options.server}, {options.kills} kills, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(options.server, folder, options.seed)
        try:
            scene.start()
            scene.await_ready()
            for thread in scene.workers + scene.watchers:
                thread.start()
            old_data = scene.copy_data() if options.control else ""
            scene.torment(options.kills - 1, options.seconds)
            journal, events = scene.finish(old_data)
        finally:
            scene.server.stop()
        begin = time.monotonic()
        result = check(scene, scene.record(journal, events))
        print(f"checked in {time.monotonic() - begin:.1f} s: {'wrong' if result else 'right'}")
        return 1 - result if options.control else result


if __name__ == "__main__":
    sys.exit(main())
