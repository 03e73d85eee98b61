"""What `edl store serve` does when something is wrong: it says so in one sentence, ends with 1, and
loses nothing.

    store_errors_test.py PROGRAM
"""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import store_faults as faults
from store_process import decode, encode

PROGRAM = ""
PATIENCE = 60.0
SPACE = "etcdserver: mvcc: database space exceeded"
LISTENING = re.compile(r"^listening on (?:http://(?P<host>[^/ ]+):(?P<port>\d+)|(?P<unix>.*))$")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Serving:
    """A server that runs. connect() gives a connection, post() (HTTP status, JSON)."""

    def __init__(self, data, *options, listen="127.0.0.1:0"):
        self.unix = listen.removeprefix("unix:") if listen.startswith("unix:") else ""
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command(data, *options, listen=listen), text=True,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        line = self.process.stdout.readline()
        self.listening = LISTENING.match(line.strip())
        if not self.listening:
            self.stop()
            raise AssertionError(f"it said {line!r} and {self.said()!r}")
        self.port = int(self.listening["port"] or 0)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def connect(self):
        if self.unix:
            return UnixConnection(self.unix)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def post(self, path, body, headers=None):
        with contextlib.closing(self.connect()) as connection:
            connection.request("POST", "/v3/" + path, json.dumps(body),
                               {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text.strip().startswith(b"{") else text

    def put(self, key, value, headers=None):
        return self.post("kv/put", {"key": encode(key), "value": encode(value)}, headers)

    def content(self, headers=None):
        """All keys with their values."""
        status, answer = self.post("kv/range", {"key": encode("\0"), "range_end": encode("\0")},
                                   headers)
        if status != 200:
            raise AssertionError(f"a range got {status} {answer}")
        return {decode(kv["key"]): decode(kv.get("value", "")) for kv in answer.get("kvs", [])}

    def end(self, number=signal.SIGTERM):
        """The exit code after a polite signal, and the seconds it took."""
        begin = time.monotonic()
        self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.stop()
            raise AssertionError(f"it did not end within {PATIENCE} s: {self.said()!r}") from None
        self.stop()
        return code, time.monotonic() - begin

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def command(data, *options, listen="127.0.0.1:0"):
    return [PROGRAM, "store", "serve", f"--listen={listen}", f"--data={data}", *options]


class ErrorsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.data = os.path.join(self.folder, "data")

    def serve(self, data=None, *options, listen="127.0.0.1:0"):
        server = Serving(data or self.data, *options, listen=listen)
        self.addCleanup(server.stop)
        self.addCleanup(server.errors.close)
        return server

    def refused(self, *names, data=None, options=(), listen="127.0.0.1:0"):
        """It does not start, says why in a sentence that has these names, and ends with 1."""
        try:
            done = subprocess.run(command(data or self.data, *options, listen=listen),
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired as late:
            self.fail(f"it runs where it should refuse: {late.stdout!r} {late.stderr!r}")
        self.assertEqual(done.returncode, 1, done)
        self.assertNotIn("listening", done.stdout)
        self.assertIsNone(faults.sentence_problem(done.stderr))
        for name in names:
            self.assertIn(name, done.stderr)
        return done.stderr

    def filled(self, puts=200, size=1000):
        """A data directory that a server has left, and what is in it."""
        server = self.serve()
        content = {f"/k/{number:04}": f"value {number:04} ".ljust(size, "v")
                   for number in range(puts)}
        for key, value in content.items():
            self.assertEqual(server.put(key, value)[0], 200)
        self.assertEqual(server.end()[0], 0, server.said())
        return content

    def mounted(self, *arguments):
        if not faults.has_private_mounts():
            self.skipTest("no private mounts on this machine")
        faults.mount(*arguments)
        self.addCleanup(faults.unmount, arguments[-1])

    # Disks

    def test_a_read_only_directory_is_refused(self):
        content = self.filled(20)
        before = {path: faults.fingerprint(path) for path in faults.files(self.data)}
        self.mounted("--bind", self.data, self.data)
        faults.mount("-o", "remount,ro,bind", self.data)
        self.refused(self.data)
        faults.unmount(self.data)
        self.assertEqual({path: faults.fingerprint(path) for path in faults.files(self.data)},
                         before)
        self.assertEqual(self.serve().content(), content)

    def test_an_empty_read_only_directory_is_refused(self):
        os.mkdir(self.data)
        self.mounted("-t", "tmpfs", "-o", "ro", "none", self.data)
        self.refused(self.data)

    def until_full(self, server, acknowledged, refusals):
        """Puts until the first refusal; then some more: small ones may still find a place."""
        for number in range(2000):
            if len(refusals) > 5:
                return
            size = 20000 if not refusals else 3000
            key, value = f"/full/{len(acknowledged)}/{number}", f"{number} ".ljust(size, "f")
            status, answer = server.put(key, value)
            if status == 200:
                acknowledged[key] = value
            else:
                self.assertEqual(status, 429, answer)
                self.assertEqual((answer.get("code"), answer.get("error"), answer.get("message")),
                                 (8, SPACE, SPACE))
                refusals.append(key)
        self.fail(f"the disk never got full: {len(acknowledged)} puts, refused: {refusals}")

    def small_disk(self):
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        self.mounted("-t", "tmpfs", "-o", "size=12m", "none", disk)
        return disk, os.path.join(disk, "data")

    def test_a_full_disk_refuses_writes_loses_nothing_and_recovers(self):
        disk, data = self.small_disk()
        server = self.serve(data)
        acknowledged, refusals = {}, []
        for number in range(20):
            self.assertEqual(server.put(f"/k/{number}", "early")[0], 200)
            acknowledged[f"/k/{number}"] = "early"
        with open(os.path.join(disk, "reserve"), "wb") as reserve:
            reserve.write(b"r" * (5 << 20))
        self.until_full(server, acknowledged, refusals)
        self.assertIsNone(server.process.poll(), server.said())
        self.assertEqual(server.content(), acknowledged)  # reads go on; refused means not done
        ballast = faults.fill(disk)
        self.until_full(server, acknowledged, refusals := [])
        self.assertEqual(server.content(), acknowledged)
        os.unlink(ballast)
        os.unlink(reserve.name)
        self.assertEqual(server.put("/k/after", "late")[0], 200, "space was made")
        acknowledged["/k/after"] = "late"
        self.assertIsNone(server.process.poll(), server.said())
        server.stop()
        self.assertEqual(self.serve(data).content(), acknowledged)

    def test_a_crash_on_a_full_disk_loses_nothing(self):
        disk, data = self.small_disk()
        server = self.serve(data)
        acknowledged, refusals = {}, []
        ballast = os.path.join(disk, "reserve")
        with open(ballast, "wb") as reserve:
            reserve.write(b"r" * (5 << 20))
        self.until_full(server, acknowledged, refusals)
        fill = faults.fill(disk)
        server.stop()  # kill -9
        try:
            again = self.serve(data)
            self.assertEqual(again.content(), acknowledged)
            again.stop()
        except AssertionError as error:
            if "it said ''" not in str(error):
                raise
            self.refused(data=data)  # allowed: it needs space to start, and says so
        os.unlink(fill)
        os.unlink(ballast)
        self.assertEqual(self.serve(data).content(), acknowledged)

    # Damage

    def damaged(self, damage):
        """Refused, with the name of the file, which nobody touches."""
        content = self.filled()
        original = faults.copy(self.data, os.path.join(self.folder, "original"))
        victim = faults.files(self.data)[0]
        damage(victim, content)
        before = faults.fingerprint(victim)
        self.assertNotEqual(before, faults.fingerprint(
            os.path.join(original, os.path.relpath(victim, self.data))), "no damage was done")
        self.refused(os.path.basename(victim))
        self.assertEqual(faults.fingerprint(victim), before, "it changed the damaged file")
        self.assertEqual(self.serve(original).content(), content)

    def test_flipped_pages_are_refused(self):
        self.damaged(lambda path, _: faults.flip_middle(path))

    def test_a_truncated_file_is_refused(self):
        self.damaged(lambda path, _: faults.truncate_half(path))

    def test_garbage_is_refused(self):
        self.damaged(lambda path, _: faults.replace_by_garbage(path))

    def test_one_flipped_bit_in_a_value_is_refused(self):
        def damage(path, content):
            value = content["/k/0100"][:40].encode()
            self.assertTrue(faults.flip_bit_of(path, value), f"{path} does not have the value")
        self.damaged(damage)

    # Neighbours

    def test_a_second_server_on_one_directory_is_refused(self):
        first = self.serve()
        first.put("/a", "1")
        self.assertNotRegex(self.refused(self.data), "damage|corrupt|malformed")
        self.assertIsNone(first.process.poll())
        self.assertEqual(first.put("/b", "2")[0], 200)
        self.assertEqual(first.content(), {"/a": "1", "/b": "2"})
        first.stop()
        self.assertEqual(self.serve().content(), {"/a": "1", "/b": "2"})

    def test_a_port_in_use_is_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            self.refused(str(port), listen=f"127.0.0.1:{port}")

    def test_a_directory_that_is_a_file_is_refused(self):
        with open(self.data, "w") as file:
            file.write("mine")
        self.refused(self.data)
        with open(self.data) as file:
            self.assertEqual(file.read(), "mine")

    # Tokens

    def token_file(self, content, mode=0o600):
        path = os.path.join(self.folder, "token")
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def test_an_open_address_needs_a_token(self):
        self.assertIn("token", self.refused(listen="0.0.0.0:0"))

    def test_a_useless_token_file_is_refused(self):
        missing = os.path.join(self.folder, "none")
        self.refused(missing, options=[f"--token-file={missing}"])
        for content in ("", "\n"):
            path = self.token_file(content)
            self.refused(path, options=[f"--token-file={path}"])

    def test_a_token_file_that_others_can_read_is_refused(self):
        for mode in (0o640, 0o604, 0o644):
            path = self.token_file("a long secret of this test", mode)
            self.refused(path, options=[f"--token-file={path}"])

    def test_only_the_right_token_opens(self):
        token = "Secret0fThisTest-0123456789"
        server = self.serve(None, f"--token-file={self.token_file(token + chr(10))}")
        wrong = (None, "", token[:-1], token + "x", token.lower(), "Bearer", "Bearer ",
                 f"Bearer {token[1:]}", f"Basic {token}")
        for header in wrong:
            headers = {} if header is None else {"Authorization": header}
            for path, body in (("kv/put", {"key": encode("/bad"), "value": encode("1")}),
                               ("kv/range", {"key": encode("/bad")}),
                               ("watch", {"create_request": {"key": encode("/bad")}}),
                               ("lease/grant", {"TTL": "5"})):
                status, answer = server.post(path, body, headers)
                self.assertEqual(status, 401, f"{header!r} {path}: {answer}")
                self.assertNotIn(token, str(answer))
        for header in (token, f"Bearer {token}"):
            headers = {"Authorization": header}
            self.assertEqual(server.put("/good", header[:3], headers)[0], 200)
        self.assertEqual(server.content({"Authorization": token}), {"/good": "Bea"})
        self.assertEqual(server.end()[0], 0)
        self.assertNotIn(token, server.said())

    # Ends

    def test_wrong_usage_ends_with_2(self):
        listen, data = "--listen=127.0.0.1:0", f"--data={self.data}"
        for options in ([listen, data, "--no-such-option"], [listen], [data], ["--data"]):
            done = subprocess.run([PROGRAM, "store", "serve", *options], capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 2, f"{options}: {done}")
            self.assertTrue(done.stderr.strip(), f"{options}: it says nothing")

    def test_a_polite_end_is_quick_and_loses_nothing(self):
        server = self.serve()
        kept = server.connect()
        kept.connect()  # an idle connection and an open watch do not delay it
        watch = server.connect()
        watch.request("POST", "/v3/watch", json.dumps({"create_request": {"key": encode("/a")}}))
        self.assertIn(b"created", watch.getresponse().readline())
        self.assertEqual(server.put("/a", "1")[0], 200)
        code, seconds = server.end()
        self.assertEqual(code, 0, server.said())
        self.assertLess(seconds, 10)
        for connection in (kept, watch):
            connection.close()
        self.assertEqual(self.serve().content(), {"/a": "1"})

    def test_others_may_not_read_the_data(self):
        self.assertEqual(self.serve().put("/k", "v")[0], 200)
        self.assertIn("store.db", os.listdir(self.data))
        for name in os.listdir(self.data):
            mode = os.stat(f"{self.data}/{name}").st_mode & 0o077
            self.assertEqual(mode, 0, f"{name}: {mode:o}")

    def test_a_unix_socket_works_and_survives_a_crash(self):
        path = os.path.join(self.folder, "socket")
        server = self.serve(listen=f"unix:{path}")
        self.assertIn(path, server.listening[0])
        self.assertEqual(server.put("/a", "1")[0], 200)
        self.refused(path, data=self.data + "2", listen=f"unix:{path}")
        self.assertEqual(server.content(), {"/a": "1"})
        server.stop()
        again = self.serve(listen=f"unix:{path}")
        self.assertEqual(again.content(), {"/a": "1"})
        self.assertEqual(again.end()[0], 0)


if __name__ == "__main__":
    faults.enter_private_mounts()
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
