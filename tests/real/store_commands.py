"""Runs `edl store` commands and keeps what they said."""
import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from store_faults import sentence_problem

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../clusters"))
import etcd
from embedded import EmbeddedServer

PROGRAM = ""
PATIENCE = 60.0


class Done:
    """How a command ended."""

    def __init__(self, arguments, process):
        self.arguments = arguments
        self.code = process.returncode
        self.bytes = process.stdout
        self.out = process.stdout.decode(errors="backslashreplace")
        self.talk = process.stderr.decode()

    def __repr__(self):
        return f"edl store {' '.join(self.arguments)}\n{self.out}{self.talk}[{self.code}]"

    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]


class Commands:
    """The commands on one endpoint; `options` go to each of them."""

    def __init__(self, endpoint, *options):
        self.endpoint = endpoint
        self.options = options

    def line(self, *arguments):
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return [PROGRAM, "store", *arguments[:end], f"--endpoint={self.endpoint}",
                *self.options, *arguments[end:]]

    def run(self, *arguments, stdin=b""):
        return Done(arguments, subprocess.run(self.line(*arguments), input=stdin, check=False,
                                              capture_output=True, timeout=PATIENCE))

    def start(self, *arguments):
        return Running(self.line(*arguments))


class Running:
    """A command that goes on until it is ended."""

    def __init__(self, line):
        self.lines, self.talk = [], []
        self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines),
                                     (self.process.stderr, self.talk))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, into):
        for line in stream:
            into.append(line)

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition(self):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"it never had {what}: {self.lines} {self.talk}")
            time.sleep(0.01)

    def end(self, number=signal.SIGINT):
        """Its exit code after a signal; None: it ends by itself."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        for reader in self.readers:
            reader.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        return code

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.end(None)


class Between:
    """Hands requests on to a store, keeps them, and calls `after` once the first was answered."""

    def __init__(self, port, after):
        self.seen = []
        between = self

        class Passing(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
                connection.request("POST", self.path, body)
                answer = connection.getresponse().read()
                connection.close()
                between.seen.append(json.loads(body))
                if len(between.seen) == 1:
                    after()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Passing)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="edl-commands-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def started(self, store):
        self.addCleanup(store.stop)
        store.start()
        return store

    def serve(self, *options):
        """The embedded store with these options."""
        server = EmbeddedServer(PROGRAM, self.folder, *options)
        self.addCleanup(server.kill)
        server.start()
        return server

    def file(self, name, content, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def done(self, commands, *arguments, stdin=b""):
        done = commands.run(*arguments, stdin=stdin)
        self.assertEqual((done.code, done.talk), (0, ""), done)
        return done

    def refused(self, commands, *arguments, names=(), code=1):
        done = commands.run(*arguments)
        self.assertEqual((done.code, done.out), (code, ""), done)
        if code == 1:
            self.assertIsNone(sentence_problem(done.talk), done)
        for name in names:
            self.assertIn(name, done.talk)
        return done.talk

    def running(self, commands, *arguments):
        running = commands.start(*arguments)
        self.addCleanup(running.stop)
        return running


def needs_etcd(test):
    return unittest.skipUnless(os.access(etcd.PROGRAM, os.X_OK), f"no {etcd.PROGRAM}")(test)


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if not os.access(etcd.PROGRAM, os.X_OK):
        print(f"NOT COMPARED: there is no {etcd.PROGRAM} on this machine.", flush=True)
    unittest.main(module="__main__", verbosity=2)
