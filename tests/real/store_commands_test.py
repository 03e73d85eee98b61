"""`edl store put|get|delete|watch|lease|txn|status`, on EDL's store and on etcd.

    store_commands_test.py PROGRAM
"""
import base64
import json
import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import store_commands
from store_commands import Between, Case, Commands, needs_etcd, sentence_problem
from store_commands_story import tell_story, without_own

# From tests/clusters, which store_commands has put on the path.
import etcd
from embedded import Embedded
from servers import free_ports

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/reference/cli.md"
KV_FIELDS = ["key", "value", "create_revision", "mod_revision", "version", "lease"]


class OnAnyStore:
    """Mixed into a Case that makes the store; it is fresh for every test."""

    def setUp(self):
        super().setUp()
        self.store = self.started(self.make())
        self.port = self.store.servers[0].port
        self.edl = Commands(f"http://127.0.0.1:{self.port}")

    def test_json_has_exactly_the_promised_fields(self):
        self.done(self.edl, "put", "/a", "grün")
        row = self.done(self.edl, "get", "/a", "--json").rows()[0]
        self.assertEqual(list(row), KV_FIELDS)
        self.assertEqual(row, {"key": "/a", "value": "grün", "create_revision": 2,
                               "mod_revision": 2, "version": 1, "lease": 0})
        for value in (b"\xff", b"a\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"):
            self.done(self.edl, "put", "/b", stdin=value)
            row = self.done(self.edl, "get", "/b", "--json").rows()[0]
            self.assertEqual(base64.b64decode(row["value_base64"]), value)
            self.assertNotIn("value", row)
        for value in ("", "\0\n\"", "\u00e9\u20ac\U0001f600"):
            self.done(self.edl, "put", "/b", stdin=value.encode())
            self.assertEqual(self.done(self.edl, "get", "/b", "--json").rows()[0]["value"], value)

    def test_a_binary_value_comes_back_as_it_was(self):
        value = bytes(range(256)) * 2000 + b"\n\n"
        self.done(self.edl, "put", "/model", stdin=value)
        self.assertEqual(self.done(self.edl, "get", "/model", "--print-value-only").bytes, value)
        talk = self.edl.run("put", "/model", stdin=b"x" * (2 << 20))
        self.assertEqual(talk.code, 1)
        self.assertIn("standard input is longer than 1572864 bytes", talk.talk)

    def fill(self, count):
        keys = [f"/page/{number:05}" for number in range(count)]
        for start in range(0, count, 100):
            form = {"success": [{"put": {"key": key, "value": key[-1]}}
                                for key in keys[start:start + 100]]}
            self.done(self.edl, "txn", stdin=json.dumps(form).encode())
        return keys

    def test_pages_of_many_keys(self):
        keys = self.fill(1234)

        def read(*options):
            return self.done(self.edl, "get", *options, "--keys-only").out.splitlines()
        self.assertEqual(read("/page/", "--prefix"), keys)
        self.assertEqual(read("/page/", "--prefix", "--order=descend"), keys[::-1])
        self.assertEqual(read("/page/", "--prefix", "--limit=777"), keys[:777])
        self.assertEqual(read("/page/", "--prefix", "--limit=500"), keys[:500])
        self.assertEqual(read("/page/", "--from-key", "--order=descend", "--limit=501"),
                         keys[:-502:-1])
        self.assertEqual(read("/page/00100", "--range-end=/page/01200"), keys[100:1200])
        self.assertEqual(sorted(read("/page/", "--prefix", "--sort-by=value")), keys)
        self.assertEqual(self.done(self.edl, "get", "/page/", "--prefix", "--count-only").out,
                         "1234\n")

    def test_all_pages_are_of_one_revision(self):
        keys = self.fill(1234)
        between = Between(self.port, lambda: self.done(self.edl, "delete", "", "--prefix"))
        self.addCleanup(between.close)
        rows = self.done(Commands(between.url), "get", "/page/", "--prefix",
                         "--json").rows()
        self.assertEqual([row["key"] for row in rows], keys)
        self.assertEqual([int(body.get("limit")) for body in between.seen], [500, 500, 500])
        self.assertEqual([int(body.get("revision", 0)) for body in between.seen], [0, 14, 14])
        self.assertEqual(self.done(self.edl, "get", "/page/", "--prefix").out, "")

    def test_a_watch_ends_with_control_c(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            watch = self.running(self.edl, "watch", "/w", "--revision=1")
            self.done(self.edl, "put", "/w", "1")
            watch.wait_for(lambda it: len(it.lines) >= 3, "the put")
            self.assertEqual(watch.end(number), 0)
            self.assertEqual((watch.lines[:3], watch.talk), (["PUT\n", "/w\n", "1\n"], []))

    def test_a_watch_begins_now_and_ends_after_a_count(self):
        self.done(self.edl, "put", "/w/0", "before")
        watch = self.running(self.edl, "watch", "/w/", "--prefix", "--count=2", "--json")
        number = 0
        while watch.process.poll() is None and number < 1000:
            self.done(self.edl, "put", f"/w/{number}", str(number))
            number += 1
        self.assertEqual(watch.end(None), 0)
        first, second = (json.loads(line) for line in watch.lines)
        self.assertEqual(int(second["value"]), int(first["value"]) + 1)
        self.assertEqual(first["type"], "put")

    def test_a_watch_of_history_that_is_gone(self):
        for number in range(5):
            self.done(self.edl, "put", "/w", str(number))
        urllib.request.urlopen(f"{self.edl.endpoint}/v3/kv/compaction", b'{"revision":5}').close()
        self.refused(self.edl, "watch", "/w", "--revision=2", names=["before revision 5 is gone"])
        self.refused(self.edl, "get", "/w", "--revision=2", names=["compacted", "later revision"])

    def test_a_watch_survives_the_store_being_killed(self):
        watch = self.running(self.edl, "watch", "/w/", "--prefix", "--revision=1", "--json")
        written = []

        def put(count):
            for _ in range(count):
                written.append(f"/w/{len(written)}")
                self.done(self.edl, "put", written[-1], "v")
        for times in range(1, 3):
            put(10)
            watch.wait_for(lambda it: len(it.lines) >= len(written), "what was put")
            put(3)  # these may come before the end, or after it
            self.store.servers[0].kill()
            watch.wait_for(lambda it, talk=2 * times - 1: len(it.talk) == talk, "a word about it")
            self.store.restart(0)
            put(10)
            watch.wait_for(lambda it: len(it.lines) >= len(written), "what was put since")
        self.done(self.edl, "delete", "/w/0")
        watch.wait_for(lambda it: len(it.lines) > len(written), "the delete")
        self.assertEqual(watch.end(), 0)
        rows = [json.loads(line) for line in watch.lines]
        self.assertEqual([row["key"] for row in rows], [*written, "/w/0"])
        self.assertEqual(rows[-1]["type"], "delete")
        self.assertEqual(len(watch.talk), 4, watch.talk)
        for away, back in (watch.talk[:2], watch.talk[2:]):
            self.assertIn("is away", away)
            self.assertIn("is back", back)

    def test_a_lease_is_kept_until_control_c(self):
        lease = self.done(self.edl, "lease", "grant", "--ttl=2s").out.strip()
        self.done(self.edl, "put", "/l", "1", f"--lease={lease}")
        keeping = self.running(self.edl, "lease", "keep-alive", lease, "--json")
        keeping.wait_for(lambda it: len(it.lines) >= 6, "six times")  # longer than it lasts
        self.done(self.edl, "get", "/l")
        self.assertEqual(keeping.end(), 0)
        self.assertEqual(json.loads(keeping.lines[0]), {"id": int(lease), "ttl": 2})
        keeping = self.running(self.edl, "lease", "keep-alive", lease)
        keeping.wait_for(lambda it: it.lines, "a line")
        self.done(self.edl, "lease", "revoke", lease)
        self.assertEqual(keeping.end(None), 1)
        self.assertIsNone(sentence_problem("".join(keeping.talk)))
        self.refused(self.edl, "get", "/l", names=["/l"])

    def test_a_lease_is_kept_across_a_restart(self):
        lease = self.done(self.edl, "lease", "grant", "--ttl=20s").out.strip()
        keeping = self.running(Commands(self.edl.endpoint, "--timeout=200ms"), "lease",
                               "keep-alive", lease)
        keeping.wait_for(lambda it: it.lines, "a line")
        self.store.servers[0].kill()
        keeping.wait_for(lambda it: it.talk, "a word about it")
        self.store.restart(0)
        keeping.wait_for(lambda it: len(it.lines) >= 2 and len(it.talk) >= 2, "another line")
        self.assertEqual(keeping.end(), 0)
        self.assertEqual(len(keeping.talk), 2, keeping.talk)

    def test_dead_endpoints_are_passed_by(self):
        dead = f"http://127.0.0.1:{free_ports(1)[0]}"
        both = Commands(f"{dead},{self.edl.endpoint}")
        self.done(both, "put", "/a", "1")
        self.assertEqual(self.done(both, "get", "/a").out, "/a\n1\n")
        self.done(both, "watch", "/a", "--revision=1", "--count=1")
        status = both.run("status", "--json")
        self.assertEqual((status.code, [row["reachable"] for row in status.rows()]),
                         (1, [False, True]), status)
        self.assertIsNone(sentence_problem(status.talk), status)
        self.assertIn("refused", status.rows()[0]["reason"])


    def test_the_examples_of_the_document_are_true(self):
        text = DOCUMENT.read_text(encoding="utf-8")
        blocks = [block for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)
                  if "edl store" in block]
        self.assertGreater(len(blocks), 1)
        for block in blocks:
            script = "".join(re.findall(r"^\$ (.*\n)", block, re.MULTILINE))
            wanted = re.sub(r"^\$ .*\n", "", block, flags=re.MULTILINE)
            program = f"'{store_commands.PROGRAM}' \"$@\" --endpoint={self.edl.endpoint}"
            done = subprocess.run(["bash", "-c", f"edl() {{ {program}; }}\n{script}"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(without_own(done.stdout), without_own(wanted), script)


class OnEmbedded(OnAnyStore, Case):
    def make(self):
        store = Embedded(store_commands.PROGRAM, self.folder)
        store.servers[0].port = free_ports(1)[0]  # one that nobody takes while it is down
        return store


@needs_etcd
class OnEtcd(OnAnyStore, Case):
    def make(self):
        return etcd.Etcd(self.folder)

    def test_both_stores_tell_one_story(self):
        other = os.path.join(self.folder, "embedded")
        os.mkdir(other)
        mine = self.started(Embedded(store_commands.PROGRAM, other)).servers[0]
        theirs = tell_story(self.edl)
        ours = tell_story(Commands(f"http://127.0.0.1:{mine.port}"))
        for one, two in zip(ours, theirs):
            self.assertEqual(one, two)


if __name__ == "__main__":
    store_commands.main()
