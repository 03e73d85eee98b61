"""torch's RendezvousBackend and its shared store over EDL's store and over etcd: get and set,
tokens, stale ones, corrupt values, a store that is away, writers that race, answers that are lost.
Run as: rendezvous_conformance.py PATH_OF_EDL [unittest options]
Where etcd is not installed its half is skipped, loudly."""
import base64
import contextlib
import http.client
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(ROOT / "python"))
import etcd  # noqa: E402
from embedded import Embedded, EmbeddedServer  # noqa: E402
from servers import free_ports  # noqa: E402

from torch.distributed import PrefixStore  # noqa: E402
from torch.distributed.elastic.rendezvous import (RendezvousConnectionError,  # noqa: E402
                                                  RendezvousParameters, RendezvousStateError)
import edl  # noqa: E402
from edl import rendezvous  # noqa: E402

EDL = "edl"  # argv[1]
TTL = 60


def parameters(endpoint, run="run", **conf):
    return RendezvousParameters("edl", endpoint, run, 1, 4, **{"read_timeout": 10, "ttl": TTL,
                                                               **conf})


def opened(endpoint, run="run", **conf):
    return rendezvous.create_backend(parameters(endpoint, run, **conf))


class Conformance:
    """On each kind of server; a run of its own for each test."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="rendezvous-")
        cls.group = cls.make(cls.folder.name)
        cls.group.start()

    @classmethod
    def tearDownClass(cls):
        cls.group.stop()
        cls.folder.cleanup()

    def setUp(self):
        self.endpoint = f"127.0.0.1:{self.group.servers[0].port}"
        self.run_id = self.id()
        self.backend, self.store = self.opened()

    def opened(self, **conf):
        return opened(self.endpoint, self.run_id, **conf)

    def call(self, path, body):
        client = self.backend._client
        return client._call(path, body)

    def state_key(self):
        return base64.b64encode(self.backend._key.encode()).decode()

    # The state.

    def test_there_is_no_state_at_first(self):
        self.assertIsNone(self.backend.get_state())
        self.assertEqual(self.backend.name, "edl")

    def test_what_is_set_is_read_with_its_token(self):
        state, token, wrote = self.backend.set_state(b"one")
        self.assertEqual((state, wrote), (b"one", True))
        self.assertEqual(self.backend.get_state(), (b"one", token))
        self.assertEqual(self.opened()[0].get_state(), (b"one", token))

    def test_any_bytes(self):
        for content in (b"", bytes(range(256)), b"\n" * 70000):
            now = self.backend.get_state()
            state, token, wrote = self.backend.set_state(content, now and now[1])
            self.assertTrue(wrote)
            self.assertEqual(self.backend.get_state(), (content, token))

    def test_with_the_right_token_it_is_replaced(self):
        _, first, _ = self.backend.set_state(b"one")
        state, second, wrote = self.backend.set_state(b"two", first)
        self.assertEqual((state, wrote), (b"two", True))
        self.assertNotEqual(first, second)
        self.assertEqual(self.backend.get_state(), (b"two", second))

    def test_without_a_token_nothing_is_replaced(self):
        _, token, _ = self.backend.set_state(b"one")
        self.assertEqual(self.backend.set_state(b"two"), (b"one", token, False))
        self.assertEqual(self.backend.get_state(), (b"one", token))

    def test_a_stale_token_changes_nothing(self):
        _, stale, _ = self.backend.set_state(b"one")
        _, token, _ = self.backend.set_state(b"two", stale)
        self.assertEqual(self.backend.set_state(b"three", stale), (b"two", token, False))
        # Not even when the bytes are the old ones again: a token is a moment, not a value.
        _, last, _ = self.backend.set_state(b"one", token)
        self.assertEqual(self.backend.set_state(b"four", stale), (b"one", last, False))

    def test_a_token_that_nobody_gave(self):
        for token in ("invalid", b"x", 3.5, True, (), 10**12):
            self.assertIsNone(self.backend.set_state(b"two", token))
        kept = self.backend.set_state(b"one")
        for token in ("invalid", b"x", 3.5, True, (), 10**12):
            self.assertEqual(self.backend.set_state(b"two", token), (*kept[:2], False))

    def test_a_token_of_a_state_that_was_deleted(self):
        _, token, _ = self.backend.set_state(b"one")
        self.call("kv/deleterange", {"key": self.state_key()})
        self.assertIsNone(self.backend.set_state(b"two", token))
        self.assertIsNone(self.backend.get_state())
        self.assertTrue(self.backend.set_state(b"three")[2])

    def test_runs_do_not_see_each_other(self):
        self.backend.set_state(b"mine")
        for other in (self.run_id + "/state", self.run_id + "2", "", "x/../" + self.run_id):
            if not other:
                with self.assertRaisesRegex(edl.InvalidError, "--rdzv_id"):
                    opened(self.endpoint, other)
                continue
            backend, store = opened(self.endpoint, other)
            self.assertIsNone(backend.get_state())
            backend.set_state(b"other")
            store.set("k", "other")
        self.assertEqual(self.backend.get_state()[0], b"mine")
        self.assertFalse(self.store.check(["k"]))

    def test_a_corrupt_value(self):
        _, token, _ = self.backend.set_state(b"one")
        good = self.call("kv/range", {"key": self.state_key()})["kvs"][0]["value"]
        flipped = json.loads(base64.b64decode(good))
        flipped["state"] = base64.b64encode(b"two").decode()
        for value in (b"", b"no json", b"[]", b"{}", b'{"state":"!","sha256":""}', b"\xff\xfe",
                      b'{"state":5,"sha256":"x"}', json.dumps(flipped).encode()):
            with self.subTest(value=value):
                self.call("kv/put", {"key": self.state_key(),
                                     "value": base64.b64encode(value).decode()})
                with self.assertRaisesRegex(RendezvousStateError, "corrupt.*delete that key"):
                    self.backend.get_state()
                with self.assertRaises(RendezvousStateError):
                    self.backend.set_state(b"two", token)

    def test_a_state_that_is_too_large(self):
        with self.assertRaisesRegex(RendezvousStateError, "524288"):
            self.backend.set_state(bytes(600 << 10))

    def test_many_writers_race_and_each_change_is_one_step(self):
        writers, rounds = 6, 12
        done = []

        def count():
            backend, _ = self.opened()
            for _ in range(rounds):
                now = backend.get_state()
                while True:
                    number = 0 if now is None else int(now[0])
                    now = backend.set_state(str(number + 1).encode(), now and now[1])
                    if now is not None and now[2]:
                        done.append(int(now[0]))
                        break
        self.in_threads([count] * writers)
        self.assertEqual(sorted(done), list(range(1, writers * rounds + 1)))
        self.assertEqual(int(self.backend.get_state()[0]), writers * rounds)

    def in_threads(self, bodies):
        wrong = []

        def guarded(body):
            try:
                body()
            except BaseException as error:
                wrong.append(error)
        threads = [threading.Thread(target=guarded, args=[body]) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive(), "a thread hangs")
        if wrong:
            raise wrong[0]

    def test_what_was_written_ends_some_time_after_its_writers(self):
        self.backend.set_state(b"one")
        self.store.set("k", b"v")
        leases = set()
        for key in (self.backend._key, self.store._prefix + "k", self.backend._client._receipt):
            kv = self.call("kv/range", {"key": base64.b64encode(key.encode()).decode()})["kvs"][0]
            leases.add(int(kv["lease"]))
        self.assertEqual(len(leases), 1)
        left = self.call("lease/timetolive", {"ID": str(leases.pop())})
        self.assertEqual(int(left["grantedTTL"]), TTL)

    def test_a_lease_that_is_over_is_replaced(self):
        for write in (lambda: self.backend.set_state(b"two"), lambda: self.store.set("k", b"v")):
            self.backend.set_state(b"one", self.token())
            self.call("lease/revoke", {"ID": str(self.backend._client._lease)})
            self.assertIsNone(self.backend.get_state())
            write()
        self.assertEqual(self.store.get("k"), b"v")

    def token(self):
        now = self.backend.get_state()
        return now and now[1]

    # The shared store.

    def test_keys_are_set_got_and_awaited(self):
        self.store.set("a", "text")
        self.store.set("b", bytes(range(256)))
        self.assertEqual(self.store.get("a"), b"text")
        self.assertEqual(self.store.multi_get(["b", "a"]), [bytes(range(256)), b"text"])
        self.assertTrue(self.store.check(["a", "b"]))
        self.assertFalse(self.store.check(["a", "c"]))
        self.store.wait(["a", "b"], timedelta(seconds=1))
        self.assertTrue(self.store.delete_key("a"))
        self.assertFalse(self.store.delete_key("a"))
        with self.assertRaisesRegex(edl.TimeoutError, "nobody has set c within 0.2 s"):
            self.store.wait(["b", "c"], timedelta(seconds=0.2))

    def test_through_torchs_own_prefix(self):
        mine = PrefixStore("round0", self.store)
        kept = self.opened()[1]  # torch's prefix does not hold what Python has made of it
        other = PrefixStore("round0", kept)
        mine.set_timeout(timedelta(seconds=20))
        self.in_threads([lambda: mine.set("k", "v"),
                         lambda: self.assertEqual(other.get("k"), b"v")])
        self.assertEqual(mine.add("n", 2), 2)
        self.assertEqual(other.add("n", 3), 5)
        other.wait(["k", "n"])

    def test_who_waits_is_woken_by_the_last_key(self):
        keys = [f"k{i}" for i in range(250)]  # more than one transaction takes
        came = []

        def wait():
            self.opened()[1].wait(keys, timedelta(seconds=30))
            came.append(time.monotonic())

        def set_all():
            for key in keys:
                self.store.set(key, key)
            came.append(time.monotonic())
        self.in_threads([wait, set_all])
        self.assertLess(abs(came[1] - came[0]), 5)

    def test_adds_and_compares_race(self):
        totals = []

        def add():
            store = self.opened()[1]
            totals.extend(store.add("n", 1) for _ in range(15))
        self.in_threads([add] * 5)
        self.assertEqual(sorted(totals), list(range(1, 76)))
        winners = []

        def claim(name):
            winners.append(self.opened()[1].compare_set("owner", "", name))
        self.in_threads([lambda name=name: claim(name) for name in ("x", "y", "z")])
        self.assertEqual(len(set(winners)), 1)
        self.assertEqual(self.store.get("owner"), winners[0])
        self.assertEqual(self.store.compare_set("owner", "other", "w"), winners[0])
        self.assertEqual(self.store.compare_set("owner", winners[0], "w"), b"w")

    # Trouble.

    def test_a_store_that_comes_back(self):
        _, token, _ = self.backend.set_state(b"one")
        server = self.group.servers[0]
        server.kill()
        later = threading.Timer(0.7, lambda: self.group.restart(0))
        later.start()
        try:
            self.assertEqual(self.backend.get_state(), (b"one", token))
            self.assertTrue(self.backend.set_state(b"two", token)[2])
        finally:
            later.join()

    def test_a_store_that_is_away(self):
        backend, store = self.opened(read_timeout=1)
        self.group.servers[0].kill()
        try:
            begin = time.monotonic()
            for ask in (backend.get_state, lambda: backend.set_state(b"one")):
                with self.assertRaisesRegex(RendezvousConnectionError,
                                            f"{self.endpoint} has not answered for 1 s.*start it"):
                    ask()
            with self.assertRaises(edl.UnavailableError):
                store.set("k", "v")
            self.assertLess(time.monotonic() - begin, 10)
        finally:
            self.group.restart(0)

    def test_endpoints_that_are_away_are_passed_by(self):
        backend, _ = opened(f"http://127.0.0.1:{free_ports(1)[0]},http://{self.endpoint}/",
                            self.run_id)
        self.assertTrue(backend.set_state(b"one")[2])
        self.assertEqual(self.backend.get_state()[0], b"one")

    def test_a_write_whose_answer_was_lost_has_happened_once(self):
        with Lossy(self.group.servers[0].port) as lossy:
            backend, store = opened(f"127.0.0.1:{lossy.port}", self.run_id)
            lossy.lose("kv/txn", 1)
            state, token, wrote = backend.set_state(b"one")
            self.assertEqual((state, wrote), (b"one", True))
            self.assertEqual(backend.get_state(), (b"one", token))
            # Somebody writes between the lost answer and the second try.
            lossy.lose("kv/txn", 1, lambda: self.backend.set_state(b"three", self.token()))
            self.assertEqual(backend.set_state(b"two", token)[2], True)
            self.assertEqual(self.backend.get_state()[0], b"three")
            self.assertFalse(backend.set_state(b"four", token)[2])
            store.set("n", "0")
            for i in range(1, 6):
                lossy.lose("kv/txn", 2)
                self.assertEqual(store.add("n", 1), i)
            self.assertEqual(lossy.lost, 12)


class Lossy:
    """A way to a server on which chosen answers are lost."""

    def __init__(self, port):
        outer = self
        self.left, self.path, self.between, self.lost = 0, "", None, 0

        class Relay(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("POST", self.path, body)
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                if outer.left and outer.path in self.path and b"request_put" in body:
                    outer.left -= 1
                    outer.lost += 1
                    if outer.between:
                        outer.between()
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def lose(self, path, count, between=None):
        self.path, self.left, self.between = path, count, between

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class OnEdl(Conformance, unittest.TestCase):
    @staticmethod
    def make(folder):
        return Embedded(EDL, folder)


@unittest.skipUnless(os.access(etcd.PROGRAM, os.X_OK), f"SKIPPED: there is no {etcd.PROGRAM} here; "
                     "the package is etcd-server")
class OnEtcd(Conformance, unittest.TestCase):
    @staticmethod
    def make(folder):
        return etcd.Etcd(folder)


class Doors(unittest.TestCase):
    """How a client gets in."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rendezvous-")
        self.path = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    @contextlib.contextmanager
    def server(self, *options):
        server = EmbeddedServer(EDL, self.folder.name, *options)
        server.start()
        try:
            yield server
        finally:
            server.kill()

    def token(self, text, mode=0o600, name="token"):
        path = self.path / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def test_a_token(self):
        right = self.token("secret\n")
        with self.server(f"--token-file={right}") as server:
            endpoint = f"127.0.0.1:{server.port}"
            self.assertTrue(opened(endpoint, token_file=right)[0].set_state(b"one")[2])
            for conf in ({}, {"token_file": self.token("wrong", name="wrong")}):
                with self.assertRaisesRegex(RendezvousConnectionError, "Give the store's token"):
                    opened(endpoint, **conf)[0].get_state()
        for path, sentence in ((self.token("x", 0o644, "open"), "chmod 600"),
                               (self.token(" \n", name="empty"), "is empty"),
                               (str(self.path / "none"), "cannot be read")):
            with self.assertRaisesRegex(edl.Error, sentence):
                opened(endpoint, token_file=path)

    def test_a_unix_socket(self):
        path = self.path / "socket"
        process = subprocess.Popen([EDL, "store", "serve", f"--listen=unix:{path}",
                                    f"--data={self.path}/data"], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(process.stdout.readline(), f"listening on unix:{path}\n")
            backend, store = opened(f"unix:{path}")
            self.assertTrue(backend.set_state(b"one")[2])
            store.set("k", "v")
            self.assertEqual(store.get("k"), b"v")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_tls(self):
        certificate, key = str(self.path / "cert.pem"), str(self.path / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=store", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        with self.server(f"--tls-cert={certificate}", f"--tls-key={key}") as server:
            endpoint = f"https://127.0.0.1:{server.port}"
            self.assertTrue(opened(endpoint, tls_ca=certificate)[0].set_state(b"one")[2])
            with self.assertRaisesRegex(RendezvousConnectionError, "CERTIFICATE_VERIFY_FAILED"):
                opened(endpoint, read_timeout=1)[0].get_state()
        with self.assertRaisesRegex(edl.InvalidError, "files for TLS"):
            opened(endpoint, tls_ca="/nowhere")

    def test_wrong_addresses_and_numbers(self):
        for endpoint in ("nonsense", "ftp://a:1", "http://a", "a:b", ":1", "http://a:1/b"):
            with self.assertRaisesRegex(edl.InvalidError, "is not the address of a store"):
                opened(endpoint)
        for conf in ({"ttl": 0}, {"read_timeout": -1}):
            with self.assertRaisesRegex(edl.InvalidError, "number of seconds above 0"):
                opened("127.0.0.1:1", **conf)

    def test_something_else_that_speaks_http(self):
        for content in (b"<html>", b"[]", b"{}", b'{"header":{}}', b'{"responses":[{}]}'):
            with self.subTest(content=content), Chatter(content) as chatter:
                with self.assertRaises(RendezvousStateError):
                    opened(f"127.0.0.1:{chatter.port}")[0].get_state()


class Chatter(Lossy):
    """Answers the same to everything."""

    def __init__(self, content):
        class Same(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Same)
        self.port = self.server.server_address[1]


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(warnings="ignore")  # clients close when they are forgotten
