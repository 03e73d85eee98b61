"""The lock with real processes: kill -9, SIGSTOP, restarts of the server. Every use of the lock is
a line with the machine's monotonic clock, so the lines of all processes together show who held it
when.

    lock_test.py PATH-OF-lock [SECONDS]
"""
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

LOCK = ""
SECONDS = 12.0
LEASE_MS = 500
HOLDERS = 3


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.secret = os.path.join(folder, "secret")
        with open(self.secret, "wb") as file:
            file.write(b"a secret of the test " * 2)
        self.port = 0
        self.generation = 0
        self.server = None
        self.holders = {}

    def start_server(self):
        listen = f"127.0.0.1:{self.port}"
        self.server = subprocess.Popen(
            [LOCK, "serve", f"--listen={listen}", f"--data={self.folder}/data",
             f"--secret-file={self.secret}", f"--lease-ms={LEASE_MS}"],
            stdout=subprocess.PIPE, text=True)
        line = self.server.stdout.readline()
        assert line.startswith("listening on "), line
        self.port = int(line.rsplit(":", 1)[1])

    def start_holder(self, name):
        self.generation += 1
        with open(f"{self.folder}/{name}.{self.generation}.out", "w") as out:
            self.holders[name] = subprocess.Popen(
                [LOCK, "hold", f"--connect=127.0.0.1:{self.port}", f"--id={name}-{self.generation}",
                 f"--secret-file={self.secret}", f"--lease-ms={LEASE_MS}", "--keep-ms=60"],
                stdout=out)

    def uses(self):
        """All uses as (time, epoch, count, file), in the order of time."""
        rows = []
        for name in os.listdir(self.folder):
            if not name.endswith(".out"):
                continue
            with open(os.path.join(self.folder, name)) as file:
                for line in file:
                    if not line.endswith("\n"):
                        continue  # the writer was killed inside the line
                    when, token = line.split()
                    epoch, count = token.split(".")
                    rows.append((int(when), int(epoch), int(count), name))
        return sorted(rows)

    def stop(self):
        for process in [self.server, *self.holders.values()]:
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            if process:
                process.wait()
                if process.stdout:
                    process.stdout.close()


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class LockTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.cluster = Cluster(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        self.addCleanup(self.cluster.stop)

    def check(self):
        rows = self.cluster.uses()
        for before, after in zip(rows, rows[1:]):
            self.assertLessEqual(before[1:3], after[1:3], f"it went back: {before} then {after}")
            if before[1:3] == after[1:3]:
                self.assertEqual(before[3], after[3], "one token, two holders")
        return rows

    def test_killed_and_stopped_processes_never_share_the_lock(self):
        chance = random.Random(4)
        cluster = self.cluster
        cluster.start_server()
        for i in range(HOLDERS):
            cluster.start_holder(f"h{i}")
        wait_for(cluster.uses, 20, "the first use")
        done = {"kill holder": 0, "stop holder": 0, "kill server": 0, "stop server": 0}
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            what = chance.choice(list(done))
            done[what] += 1
            name = chance.choice(list(cluster.holders))
            victim = cluster.server if what.endswith("server") else cluster.holders[name]
            if what.startswith("stop"):
                victim.send_signal(signal.SIGSTOP)
                time.sleep(chance.uniform(0.1, 1.5) * LEASE_MS / 1000)
                victim.send_signal(signal.SIGCONT)
            else:
                victim.kill()
                victim.wait()
                if what == "kill server":
                    victim.stdout.close()
                    cluster.start_server()
                else:
                    cluster.start_holder(name)
            time.sleep(chance.uniform(0.0, 0.6))
        seen = len(cluster.uses())
        wait_for(lambda: len(cluster.uses()) > seen, 20, "a use after the faults")
        rows = self.check()
        print(f"{len(rows)} uses, {len({row[1:3] for row in rows})} tokens, faults: {done}")

    def test_a_second_server_on_the_same_folder_is_refused(self):
        self.cluster.start_server()
        second = subprocess.run(
            [LOCK, "serve", "--listen=127.0.0.1:0", f"--data={self.cluster.folder}/data",
             f"--secret-file={self.cluster.secret}"], capture_output=True, text=True, timeout=20)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another process holds it", second.stderr)

    def test_a_stranger_gets_nothing(self):
        self.cluster.start_server()
        with socket.create_connection(("127.0.0.1", self.cluster.port)) as stranger:
            stranger.sendall(b"x" * 64)
            stranger.settimeout(10)
            try:
                self.assertEqual(stranger.recv(100), b"")
            except ConnectionResetError:
                pass
        self.assertIsNone(self.cluster.server.poll())

    def test_wrong_usage_and_failures_have_their_exit_codes(self):
        def run(*arguments):
            return subprocess.run([LOCK, *arguments], capture_output=True, text=True, timeout=20)
        self.assertEqual(run("serve").returncode, 2)
        self.assertEqual(run("--help").returncode, 0)
        missing = run("serve", "--listen=127.0.0.1:0", f"--data={self.cluster.folder}/d",
                      "--secret-file=/none")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("cannot open /none: No such file", missing.stderr)


if __name__ == "__main__":
    LOCK = sys.argv.pop(1)
    if len(sys.argv) > 1:
        SECONDS = float(sys.argv.pop(1))
    unittest.main(verbosity=2)
