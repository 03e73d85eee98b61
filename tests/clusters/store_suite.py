"""Runs store_suite, what every Store promises, on each store there is, and kills servers when it
asks for that.

    store_suite.py PATH-OF-store_suite PATH-OF-edl [--only=NAME,NAME...] [--filter=GTEST-FILTER]

Skipped (77) only when not one of them could be run.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import etcd  # noqa: E402
import zookeeper  # noqa: E402
from embedded import Embedded  # noqa: E402
from servers import SKIP  # noqa: E402

ASK = "ask: "
STOPPED_SECONDS = 7.0  # longer than the suite's leases and sessions last


def urls(group):
    return ",".join(f"http://127.0.0.1:{server.port}" for server in group.servers)


def zookeeper_url(group):
    return "zk://" + ",".join(f"127.0.0.1:{server.port}" for server in group.servers)


class Backend:
    """A group of servers, and how to call it on the command line of the suite."""

    def __init__(self, name, missing, make, store=urls):
        self.name = name
        self.missing = missing  # what is not on this machine; None when everything is
        self.make = make  # folder -> group
        self.store = store  # group -> --store


def backends(program, edl):
    no_etcd = None if os.access(etcd.PROGRAM, os.X_OK) else \
        f"there is no {etcd.PROGRAM}; install the package etcd-server"
    no_zookeeper = zookeeper.missing() or without_zookeeper(program)
    return [
        Backend("embedded", None, lambda folder: Embedded(edl, folder)),
        Backend("one etcd", no_etcd, etcd.Etcd),
        Backend("three etcd", no_etcd, lambda folder: etcd.Etcd(folder, members=3)),
        Backend("one zookeeper", no_zookeeper, zookeeper.ZooKeeper, zookeeper_url),
        Backend("three zookeeper", no_zookeeper,
                lambda folder: zookeeper.ZooKeeper(folder, members=3), zookeeper_url),
    ]


def without_zookeeper(program):
    """Why the suite cannot speak to ZooKeeper; None when it can."""
    built = subprocess.run([program, "--stores"], stdout=subprocess.PIPE, text=True, check=True)
    if "zk" in built.stdout.split():
        return None
    return "store_suite was built without libzookeeper; install the package libzookeeper-mt-dev"


class Faults:
    """Does what the suite asks for."""

    def __init__(self, group, process):
        self.group = group
        self.process = process  # the suite's
        self.killed = 0

    def fulfil(self, wish):
        if wish == "kill one":
            self.kill([self.group.servers[self.group.leader()]])
        elif wish == "kill all":
            self.kill(self.group.servers)
        elif wish == "restart":
            self.restart()
        elif wish == "stop us":
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED_SECONDS)
            self.process.send_signal(signal.SIGCONT)
        else:
            raise RuntimeError(f"the suite asked for {wish!r}, which nobody knows")

    def kill(self, servers):
        for server in servers:
            server.kill()
            self.killed += 1

    def restart(self):
        """All at once: a member alone is not healthy."""
        for server in self.group.servers:
            if not server.running():
                server.start()
        self.group.wait_until_healthy()


class Outcome:
    def __init__(self, backend):
        self.backend = backend
        self.passed = self.skipped = self.killed = 0
        self.failed = []
        self.seconds = 0.0
        self.problem = None  # why it did not come to its end

    def line(self):
        text = (f"{self.backend.name:<16} {self.passed:3} passed, {len(self.failed)} failed, "
                f"{self.skipped} skipped, {self.killed} servers killed, {self.seconds:.1f} s")
        if self.failed:
            text += "\n    " + "\n    ".join(self.failed)
        return text + (f"\n    {self.problem}" if self.problem else "")

    def ok(self):
        return self.passed > 0 and not self.failed and not self.problem


def converse(process, faults, outcome):
    """Until the suite ends: passes on what it says and answers what it asks for."""
    for line in process.stdout:
        if line.startswith(ASK):
            faults.fulfil(line[len(ASK):].strip())
            process.stdin.write("done\n")
            process.stdin.flush()
            continue
        print(f"{outcome.backend.name}: {line}", end="", flush=True)
        result = re.match(r"\[ +(OK|FAILED|SKIPPED) +\] (\w+\.\w+) \(\d+ ms\)", line)
        if result and result[1] == "OK":
            outcome.passed += 1
        elif result and result[1] == "SKIPPED":
            outcome.skipped += 1
        elif result:
            outcome.failed.append(result[2])


def run(program, test_filter, outcome):
    backend = outcome.backend
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        group = backend.make(folder)
        process = None
        try:
            group.start()
            command = [program, f"--store={backend.store(group)}", "--runner",
                       f"--members={len(group.servers)}", f"--gtest_filter={test_filter}"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
            faults = Faults(group, process)
            converse(process, faults, outcome)
            outcome.killed = faults.killed
            code = process.wait()
            if code != 0 and not outcome.failed:
                outcome.problem = f"the suite ended with {code}"
        except RuntimeError as error:
            outcome.problem = str(error)
        finally:
            if process and process.poll() is None:
                process.kill()
                process.wait()
            group.stop()
    outcome.seconds = time.monotonic() - start


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program store_suite")
    parser.add_argument("edl", help="the program edl")
    parser.add_argument("--only", help="names of stores, separated by commas")
    parser.add_argument("--filter", default="*", help="GoogleTest's filter")
    options = parser.parse_args(arguments)
    known = [one.name for one in backends(options.program, options.edl)]
    options.only = options.only.split(",") if options.only else known
    for name in options.only:
        if name not in known:
            parser.error(f"there is no store {name!r}: they are {', '.join(known)}")
    return options


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("store_suite: told to end"))
    outcomes, skipped = [], []
    for backend in backends(options.program, options.edl):
        if backend.name not in options.only:
            continue
        if backend.missing:
            skipped.append(f"SKIPPED {backend.name}: {backend.missing}.")
            print(skipped[-1], flush=True)
            continue
        outcomes.append(Outcome(backend))
    # Most of the time it waits for leases to end: two stores at once take little more than one.
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda one: run(options.program, options.filter, one), outcomes))
    print("", *(one.line() for one in outcomes), *skipped, sep="\n", flush=True)
    if not outcomes:
        return SKIP
    return 0 if all(one.ok() for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
