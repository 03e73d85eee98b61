"""The store server under strace: between the request of a put and its answer, its bytes go to a
file of the data directory and that file is synced.

    store_sync_test.py PROGRAM [--server=edl:PATH|etcd]
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import store_trace
from store_process import PATIENCE, Client, Server, encode, present

SERVER = ""
PUTS = 50
SKIPPED = 77

SMALL_TRACE = """\
7 10:00:00.1 recvmsg(9<socket:[1]>, {msg_iov=[{iov_base="{\\"key\\": \\"S0VZ\\"}"}]}, 0) = 77
7 10:00:00.2 pwrite64(5</data/log>, "\\0\\7VALUE", 100, 0) = 100
8 10:00:00.3 fdatasync(5</data/log> <unfinished ...>
7 10:00:00.4 write(2</dev/null>, "talk", 4) = 4
8 10:00:00.5 <... fdatasync resumed>) = 0
7 10:00:00.6 sendto(9<socket:[1]>, "HTTP/1.1 200 OK\\r\\n", 17, 0, NULL, 0) = 17
""".splitlines()


class TraceTest(unittest.TestCase):
    def problem(self, lines):
        return store_trace.put_problem(store_trace.parse(lines), "/data", "S0VZ", ["VALUE"])

    def order(self, *places):
        return self.problem([SMALL_TRACE[place] for place in places])

    def test_a_synced_put_is_accepted(self):
        self.assertIsNone(self.problem(SMALL_TRACE))

    def test_a_put_that_is_not_safe_is_rejected(self):
        for places, sentence in (((0, 1, 5), "no sync before its answer"),
                                 ((0, 1, 2, 5, 4), "no sync before its answer"),
                                 ((0, 2, 4, 1, 5), "no sync before its answer"),
                                 ((0, 2, 1, 4, 5), "no sync before its answer"),
                                 ((1, 2, 4, 0, 5), "no file got the value"),
                                 ((0, 2, 4, 5), "no file got the value"),
                                 ((1, 2, 4, 5), "never read"), ((0, 1, 2, 4), "never answered")):
            self.assertIn(sentence, self.order(*places) or "accepted", places)

    def test_a_sync_that_failed_or_was_elsewhere_does_not_count(self):
        failed = SMALL_TRACE[4].replace("= 0", "= -1 EIO (Input/output error)")
        self.assertIn("no sync", self.problem([*SMALL_TRACE[:4], failed, SMALL_TRACE[5]]))
        other = SMALL_TRACE[2].replace("log", "other")
        self.assertIn("no sync", self.problem([*SMALL_TRACE[:2], other, *SMALL_TRACE[3:]]))
        outside = [line.replace("/data/log", "/other/log") for line in SMALL_TRACE]
        self.assertIn("no file", self.problem(outside))


class SyncTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.realpath(temporary.name)
        self.server = Server(SERVER, self.folder)
        self.addCleanup(self.server.stop)

    def traced_puts(self):
        """Does the puts, one after the other, and gives (calls, their keys and values)."""
        trace = os.path.join(self.folder, "trace")
        # -D: the server is our child and strace its guest, not the other way round.
        self.server.start(["strace", "-D", "-f", "-tt", "-y", "-s", "300000", "-o", trace,
                           "-e", "trace=" + store_trace.TRACED, "-e", "signal=SIGKILL"])
        self.server.wait_ready()
        puts = [(f"/sync/key/{number:05}", f"valueOfPut{number:05}") for number in range(PUTS)]
        client = Client(self.server.port)
        for key, value in puts:
            client.call("kv/put", {"key": encode(key), "value": encode(value)})
        client.close()
        self.server.kill()
        mark = f"{self.server.process.pid} "
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(trace, errors="replace") as file:
                lines = file.read().splitlines()
            if any(line.startswith(mark) and "+++ killed by" in line for line in lines):
                return store_trace.parse(lines), puts
            time.sleep(0.05)
        raise AssertionError(f"strace has not told the server's end: {lines[-5:]}")

    def problems(self, calls, puts):
        found = (store_trace.put_problem(calls, self.server.data, encode(key),
                                         [value, encode(value)]) for key, value in puts)
        return [problem for problem in found if problem]

    def test_every_put_is_synced_before_its_answer(self):
        calls, puts = self.traced_puts()
        syncs = [call for call in calls if call.name in store_trace.SYNCS]
        print(f"{len(calls)} calls, {len(syncs)} syncs, {len(puts)} puts")
        problems = self.problems(calls, puts)
        self.assertEqual(problems, [], "\n".join(problems))
        control = self.problems(store_trace.without_syncs(calls), puts)
        self.assertEqual(len(control), PUTS, "the check passes without the syncs: it is worth "
                         "nothing")


def can_trace():
    """A sentence if this machine cannot trace a process, else nothing."""
    if not shutil.which("strace"):
        return "strace is not installed (apt-get install strace)"
    done = subprocess.run(["strace", "-D", "-f", "-o", "/dev/null", "true"], capture_output=True,
                          text=True, check=False)
    return done.stderr.strip() if done.returncode or done.stderr else ""


def main():
    global SERVER
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program", nargs="?", help="our own program, edl")
    parser.add_argument("--server", help="edl:PATH or etcd")
    options = parser.parse_args()
    if not options.server and not options.program:
        parser.error("name the program or a server")
    SERVER = options.server or "edl:" + options.program
    obstacle = can_trace()
    if not obstacle and SERVER == "etcd" and not present(SERVER):
        obstacle = "etcd is not on this machine"
    if obstacle:
        print(f"NOT TESTED: that puts are synced before their answers: {obstacle}",
              file=sys.stderr)
        return SKIPPED
    unittest.main(argv=sys.argv[:1], verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
