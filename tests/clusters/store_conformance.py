"""Plays the same requests on EDL's store, on one etcd and on three with faults, and compares
every answer: status, content type and the text of the body.

    store_conformance.py PATH-OF-edl [--server=all|embedded|etcd] [--only=NAME,NAME...]
                         [--list] [--record=FILE]

--server=embedded leaves the three members out; --server=etcd leaves EDL's store out.
"""
import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from conformance import (crowd, decoding, leases, paths, ranges, restarts,  # noqa: E402,F401
                         sizes, transactions, watches, writes)
from conformance.answers import difference  # noqa: E402
from conformance.catalog import SCENARIOS  # noqa: E402
from conformance.play import Play  # noqa: E402
from conformance.targets import FaultyCluster, Target  # noqa: E402
from embedded import Embedded  # noqa: E402
from etcd import Etcd, skip_without_etcd  # noqa: E402

DIFFERENCES_MAX = 5
ASKED_MAX = 300


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edl", nargs="?", help="the program edl; not needed for --server=etcd")
    parser.add_argument("--server", choices=("all", "embedded", "etcd"), default="all")
    parser.add_argument("--only", help="names of scenarios, separated by commas")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--record", help="write the comparable answers of one etcd to this file")
    options = parser.parse_args(arguments)
    known = [one.name for one in SCENARIOS]
    options.only = options.only.split(",") if options.only else known
    for name in options.only:
        if name not in known:
            parser.error(f"there is no scenario {name}: --list names them")
    if not options.list and options.server != "etcd" and not options.edl:
        parser.error("name the program edl, or say --server=etcd")
    return options


def make_targets(options, folder):
    """The first one is what the others are compared with."""
    def inside(name):
        os.mkdir(f"{folder}/{name}")
        return f"{folder}/{name}"
    targets = [Target("one etcd", Etcd(inside("one")))]
    if options.server != "etcd":
        targets.append(Target("edl store", Embedded(options.edl, inside("embedded"))))
    if options.server != "embedded":
        targets.append(FaultyCluster("three etcd", Etcd(inside("three"), members=3)))
    return targets


def play_on(target, scenario, base):
    play = Play(target, base)
    try:
        target.begin(scenario)
        scenario.play(play)
    except Exception:  # the others go on; the difference shows where this one stopped
        play.write_down("the scenario", f"stopped: {traceback.format_exc(limit=-4)}")
    finally:
        play.close()
        target.end()
    return play


def compare_plays(expected, found, names):
    """Lines that tell the differences."""
    lines = []
    for number, (want, have) in enumerate(zip(expected.log, found.log), 1):
        if want == have:
            continue
        lines.append(f"  answer {number}: {want[0][:ASKED_MAX]}")
        if want[0] != have[0]:
            lines.append(f"    {names[1]} was asked: {have[0][:ASKED_MAX]}")
        for name, text in zip(names, difference(want[1], have[1])):
            lines.append(f"    {name}: {text}")
        if len(lines) > DIFFERENCES_MAX * 3:
            lines.append("  and more")
            break
    if len(expected.log) != len(found.log):
        lines.append(f"  {names[0]} gave {len(expected.log)} answers, {names[1]} "
                     f"{len(found.log)}")
    return lines


class Run:
    def __init__(self, targets, pool):
        self.targets = targets
        self.pool = pool
        self.passed = 0
        self.failed = 0
        self.answers = 0
        self.record = []

    def on_all(self, work):
        return list(self.pool.map(work, self.targets))

    def level(self, scenario):
        """All servers empty and at the same revision; returns it."""
        if scenario.fresh:
            return 1
        goal = max(self.on_all(Target.clear)) + 2
        self.on_all(lambda target: target.climb(goal))
        return goal

    def play(self, scenario):
        start = time.monotonic()
        try:
            base = self.level(scenario)
            targets = [one for one in self.targets
                       if not (scenario.alone and isinstance(one, FaultyCluster))]
            plays = list(self.pool.map(lambda one: play_on(one, scenario, base), targets))
        except Exception as error:
            self.failed += 1
            print(f"FAILED {scenario.name}: the servers could not be prepared: {error}", flush=True)
            return
        expected = plays[0]
        lines = [f"  {targets[0].name}: {answered}" for asked, answered in expected.log
                 if asked == "the scenario"]
        for target, found in zip(targets[1:], plays[1:]):
            lines += compare_plays(expected, found, (targets[0].name, target.name))
        self.passed += not lines
        self.failed += bool(lines)
        self.answers += expected.answers
        self.record += [f"== {scenario.name}", *(f"> {a}\n< {b}" for a, b in expected.log)]
        print(f"{'FAILED' if lines else 'ok    '} {scenario.name}: {expected.answers} answers, "
              f"{time.monotonic() - start:.1f} s", *lines, sep="\n", flush=True)


def run(options, folder):
    targets = make_targets(options, folder)
    with ThreadPoolExecutor(len(targets)) as pool:
        it = Run(targets, pool)
        try:
            it.on_all(lambda target: target.start())
            for scenario in sorted(SCENARIOS, key=lambda one: not one.fresh):
                if scenario.name in options.only:
                    it.play(scenario)
        finally:
            it.on_all(lambda target: target.stop())
    return it


def report(it, options, seconds):
    for target in it.targets:
        if isinstance(target, FaultyCluster):
            print(f"{target.name}: killed and restarted {target.killed['leader']} leaders and "
                  f"{target.killed['follower']} followers, {target.retries} requests asked again")
    print(f"{it.answers} answers compared between {len(it.targets)} servers, {seconds:.0f} s")
    if options.record:
        with open(options.record, "w", errors="surrogateescape") as file:
            file.write("\n".join(it.record) + "\n")
    print(f"{it.passed} passed, {it.failed} failed", flush=True)


def main(arguments):
    options = parse(arguments)
    if options.list:
        for one in SCENARIOS:
            print(f"{one.name:<34} {one.what}")
        return 0
    skip_without_etcd()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("store_conformance: told to end"))
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="store-") as folder:
        try:
            it = run(options, folder)
        except RuntimeError as error:
            print(f"store_conformance: {error}", file=sys.stderr)
            return 1
        report(it, options, time.monotonic() - start)
    return 1 if it.failed or not it.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
