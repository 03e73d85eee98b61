"""What the commands of `edl store` say when they cannot do what they were asked for.

    store_refusals_test.py PROGRAM
"""
import os
import subprocess
import sys
import time

import store_commands
from store_commands import Case, Commands, needs_etcd

# From tests/clusters, which store_commands has put on the path.
import etcd
from servers import Server, free_ports


class Refusals(Case):
    def test_nothing_listens(self):
        urls = [f"http://127.0.0.1:{port}" for port in free_ports(2)]
        nobody = Commands(",".join(urls), "--timeout=300ms")
        for command in (["get", "/a"], ["put", "/a", "1"], ["watch", "/a"], ["lease", "list"],
                        ["lease", "keep-alive", "7"], ["delete", "/a"]):
            self.refused(nobody, *command, names=urls)
        self.assertEqual(nobody.run("status").code, 1)

    def test_one_that_never_answers(self):
        with subprocess.Popen([sys.executable, "-c", "import socket, time\n"
                               "s = socket.create_server(('127.0.0.1', 0))\n"
                               "print(s.getsockname()[1], flush=True)\ntime.sleep(600)"],
                              stdout=subprocess.PIPE, text=True) as silent:
            self.addCleanup(silent.kill)
            url = f"http://127.0.0.1:{int(silent.stdout.readline())}"
            edl = Commands(url, "--timeout=300ms")
            self.refused(edl, "get", "/a", names=[url])
            self.refused(edl, "put", "/a", "1", names=[url, "may have happened"])
            silent.kill()

    def test_wrong_usage_ends_with_2(self):
        edl = Commands("http://127.0.0.1:1")
        for command in (["get"], ["put"], ["get", "/a", "/b"], ["get", "/a", "--order=up"],
                        ["get", "/a", "--limit=-1"], ["get", "/a", "--limit=x"],
                        ["get", "/a", "--prefix", "--from-key"], ["lease"], ["lease", "grant"],
                        ["lease", "revoke", "x"], ["lease", "show", "9223372036854775808"],
                        ["lease", "grant", "--ttl=10"], ["get", "/a", "--timeout=5"],
                        ["watch", "/a", "--count=x"], ["put", "/a", "--lease=abc"]):
            self.refused(edl, *command, names=["see edl store", "--help"], code=2)
        for url in ("", "127.0.0.1:2379", "ftp://127.0.0.1:1", "http://a:1,,http://b:2",
                    "http://127.0.0.1"):
            self.refused(Commands(url), "get", "/a", names=["--endpoint"], code=2)

    def test_what_is_no_store(self):
        server = self.serve()
        talk = self.refused(Commands(f"https://127.0.0.1:{server.port}"), "get", "/a")
        self.assertIn("TLS", talk)

    def test_forms_of_transactions_are_strict(self):
        server = self.serve()
        edl = Commands(f"http://127.0.0.1:{server.port}")
        for form, words in (
                ('{', "not valid JSON"), ('[]', "expected an object"),
                ('{"compar":[]}', '"compar" (did you mean "compare"?)'),
                ('{"success":{}}', "success must be a list"),
                ('{"success":[{}]}', "success[0]: write exactly one"),
                ('{"success":[{"put":{"key":"/a"}}]}', '"value" is missing'),
                ('{"failure":[{"get":{"keys":"/a"}}]}', 'failure[0].get: there is no field "keys"'),
                ('{"success":[{"txn":{"success":[{"put":{"key":"a","value":1}}]}}]}',
                 'success[0].txn.success[0].put: field "value" must be text'),
                ('{"compare":[{"key":"/a","value":1}]}', '"target" is missing'),
                ('{"compare":[{"key":"/a","target":"mod"}]}', '"value" is missing'),
                ('{"compare":[{"key":"/a","target":"value","value_base64":"?"}]}', "base64"),
                ('{"success":[{"delete":{"key":"/a","prefix":true,"from_key":true}}]}', "one of")):
            path = self.file("txn.json", form)
            self.refused(edl, "txn", path, names=[words])
        self.refused(edl, "txn", "/no/such/file", names=["/no/such/file"])

    def test_help_has_examples_and_completion_knows_all(self):
        edl = Commands("http://127.0.0.1:1")
        completion = subprocess.run([store_commands.PROGRAM, "completion", "bash"], check=True,
                                    text=True, capture_output=True).stdout
        for command in (["put"], ["get"], ["delete"], ["watch"], ["txn"], ["status"],
                        *(["lease", word] for word in ("grant", "keep-alive", "revoke", "show",
                                                       "list"))):
            shown = edl.run(*command, "--help")
            self.assertEqual((shown.code, shown.talk), (0, ""), shown)
            self.assertIn(f"edl store {' '.join(command)}", shown.out.split("Example")[1])
            self.assertIn(f"'edl store {' '.join(command)}')", completion)

    def test_tokens(self):
        right = self.file("right", "a secret of this test\n")
        server = self.serve(f"--token-file={right}")
        url = f"http://127.0.0.1:{server.port}"
        good = Commands(url, f"--token-file={right}")
        self.done(good, "put", "/a", "1")
        self.done(good, "watch", "/a", "--revision=1", "--count=1")
        wrong = self.file("wrong", "another secret")
        for options in ([], [f"--token-file={wrong}"]):
            edl = Commands(url, *options)
            for command in (["get", "/a"], ["put", "/a", "2"], ["watch", "/a"], ["lease", "list"]):
                talk = self.refused(edl, *command, names=["--token-file"])
                self.assertNotIn("secret", talk)
        for path in (self.file("open", "a secret of this test", 0o644), self.file("empty", ""),
                     os.path.join(self.folder, "absent")):
            self.refused(Commands(url, f"--token-file={path}"), "get", "/a", names=[path])

    def test_a_watch_ends_when_its_token_does(self):
        token = self.file("token", "the first secret")
        mine = self.file("mine", "the first secret")
        server = self.serve(f"--token-file={token}")
        edl = Commands(f"http://127.0.0.1:{server.port}", f"--token-file={mine}")
        self.done(edl, "put", "/a", "1")
        watch = self.running(edl, "watch", "/a", "--revision=1", "--json")
        watch.wait_for(lambda it: it.lines, "the put")
        self.file("token", "the second secret")
        server.kill()
        server.start()
        self.assertEqual(watch.end(None), 1)
        self.assertIn("--token-file", watch.talk[-1])


class Tls(Case):
    def setUp(self):
        super().setUp()
        self.certificate, self.key = self.self_signed("server")

    def self_signed(self, name):
        paths = [os.path.join(self.folder, f"{name}.{kind}") for kind in ("crt", "key")]
        subprocess.run(["/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]],
                       check=True, capture_output=True)
        return paths

    def test_a_self_signed_certificate_needs_its_authority(self):
        server = self.serve(f"--tls-cert={self.certificate}", f"--tls-key={self.key}")
        url = f"https://127.0.0.1:{server.port}"
        edl = Commands(url, f"--tls-ca={self.certificate}")
        self.done(edl, "put", "/a", "1")
        self.assertEqual(self.done(edl, "get", "/a").out, "/a\n1\n")
        self.done(edl, "watch", "/a", "--revision=1", "--count=1")
        self.assertTrue(self.done(edl, "status", "--json").rows()[0]["reachable"])
        for command in (["get", "/a"], ["put", "/a", "1"], ["watch", "/a"]):
            began = time.monotonic()
            self.refused(Commands(url), *command, names=["certificate", "--tls-ca"])
            self.assertLess(time.monotonic() - began, 4, "it tried again, which is of no use")
        dead = f"https://127.0.0.1:{free_ports(1)[0]}"
        self.done(Commands(f"{dead},{url}", f"--tls-ca={self.certificate}"), "get", "/a")
        plain = Commands(f"http://127.0.0.1:{server.port}")
        self.refused(plain, "get", "/a", names=["not a store"])
        self.refused(Commands(plain.endpoint, f"--tls-ca={self.certificate}"), "get",
                     "/a", names=["https://"])
        self.refused(Commands(url, "--tls-ca=/no/such"), "get", "/a", names=["/no/such"])
        other = self.self_signed("other")[0]
        self.refused(Commands(url, f"--tls-ca={other}"), "get", "/a", names=["--tls-ca"])

    @needs_etcd
    def test_a_client_certificate_is_shown_to_etcd(self):
        ports = free_ports(2)
        url, peer = f"https://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
        server = Server("etcd", [etcd.PROGRAM, "--data-dir", f"{self.folder}/etcd",
                                 "--listen-client-urls", url, "--advertise-client-urls", url,
                                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                                 "--initial-cluster", f"default={peer}", "--client-cert-auth",
                                 "--trusted-ca-file", self.certificate,
                                 "--cert-file", self.certificate, "--key-file", self.key],
                        ports[0], f"{self.folder}/etcd.log")
        self.addCleanup(server.kill)
        server.start()
        trust = f"--tls-ca={self.certificate}"
        edl = Commands(url, trust, f"--tls-cert={self.certificate}",
                       f"--tls-key={self.key}", "--timeout=30s")
        self.done(edl, "put", "/a", "1")
        self.assertEqual(self.done(edl, "get", "/a").out, "/a\n1\n")
        self.refused(Commands(url, trust, "--timeout=500ms"), "get", "/a")
        self.refused(Commands(url, trust, f"--tls-cert={self.certificate}"), "get", "/a",
                     names=["key"])


if __name__ == "__main__":
    store_commands.main()
