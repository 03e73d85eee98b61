"""A store server as a real process, and a client of its JSON gateway.

--server=edl:PATH is our own, --server=etcd the real one, which has the same API.
"""
import base64
import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import time

from store_model import (Delete, Event, Grant, GrantAnswer, KeepAlive, KeepAliveAnswer,
                         KeyValue, Put, Range, Revoke, RevokeAnswer, Txn, TxnAnswer)

PATIENCE = 60.0  # seconds for what takes milliseconds on a machine at rest
ETCD = "/usr/bin/etcd"
CERTAIN = {3, 5, 9, 11}  # gRPC codes of a refusal; after any other the outcome is unknown


class Unanswered(Exception):
    """The request was sent, perhaps in part, and nobody knows what became of it."""


class Troubled(Unanswered):
    """The server itself answered that it does not know, or something that nobody understands."""


class Unreachable(Exception):
    """Nothing was sent: there was no connection."""


def free_ports(count):
    """Below the ports that connections get by themselves: nobody takes them while the server is
    down, and no client that tries again and again can connect to itself."""
    found = {}
    while len(found) < count:
        port = random.SystemRandom().randrange(10000, 30000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                found[port] = True
            except OSError:
                pass
    return list(found)


class Server:
    """One data directory and one port, a process at a time."""

    def __init__(self, server, folder):
        self.program = server.removeprefix("edl:") if server.startswith("edl:") else None
        self.folder = folder
        self.data = os.path.join(folder, "data")
        self.log = os.path.join(folder, "server.log")
        self.out = os.path.join(folder, "server.out")
        self.port, self.peer_port = free_ports(2)
        self.process = None

    def command(self):
        if self.program:
            return [self.program, "store", "serve", f"--listen=127.0.0.1:{self.port}",
                    f"--data={self.data}"]
        mine = f"http://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{self.peer_port}"
        return [ETCD, "--name=solo", f"--data-dir={self.data}", f"--listen-client-urls={mine}",
                f"--advertise-client-urls={mine}", f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=solo={peer}",
                "--initial-cluster-state=new", "--heartbeat-interval=50",
                "--election-timeout=500"]

    def start(self, prefix=()):
        with open(self.log, "wb") as log, open(self.out, "wb") as out:
            self.process = subprocess.Popen([*prefix, *self.command()], stdout=out, stderr=log,
                                            stdin=subprocess.DEVNULL)

    def wait_ready(self):
        """Until it answers a read; the time of that answer."""
        client = Client(self.port)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended by itself: {self.last_words()}")
            try:
                client.call("kv/range", {"key": encode("ready?")})
                answered = time.monotonic()
                client.close()
                self.check_first_line()
                return answered
            except (Unreachable, Unanswered, Refused):
                time.sleep(0.005)
        raise AssertionError(f"no answer within {PATIENCE} s: {self.last_words()}")

    def check_first_line(self):
        """Ours says where it listens, before anybody can have an answer."""
        if not self.program:
            return
        with open(self.out) as out:
            line = out.readline()
        if line != f"listening on http://127.0.0.1:{self.port}\n":
            raise AssertionError(f"the first line is {line!r}: {self.last_words()}")

    def last_words(self):
        with open(self.log, errors="replace") as log:
            return f"exit {self.process.poll()}, {log.read()[-3000:]}"

    def kill(self):
        """kill -9. It must have been running until now."""
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended by itself: {self.last_words()}")
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()


def present(server):
    """Is the named server on this machine?"""
    if server == "etcd":
        return os.access(ETCD, os.X_OK)
    return server.startswith("edl:") and shutil.which(server.removeprefix("edl:")) is not None


class Refused(Exception):
    """The server says no, for certain: nothing was done."""

    def __init__(self, code, message):
        super().__init__(f"{message} (code {code})")
        self.code = code


class Client:
    """One connection, kept open between requests, opened again after a failure."""

    def __init__(self, port, headers=None):
        self.port = port
        self.headers = {"Content-Type": "application/json", **(headers or {})}
        self.connection = None

    def connect(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.connection.connect()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def response(self, path, body):
        """Of a request just sent; its body is not read yet."""
        if self.connection is None:
            try:
                self.connect()
            except OSError as error:
                self.close()
                raise Unreachable(str(error)) from error
        try:
            self.connection.request("POST", "/v3/" + path, json.dumps(body).encode(), self.headers)
            return self.connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unanswered(repr(error)) from error

    def call(self, path, body):
        """The parsed answer; of a stream the first message."""
        response = self.response(path, body)
        try:
            text = response.read()
            answer = json.loads(text.split(b"\n")[0])
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise Unanswered(repr(error)) from error
        error = answer.get("error")
        if error is None and response.status == 200:
            return answer.get("result", answer)
        code = error.get("grpc_code") if isinstance(error, dict) else answer.get("code")
        if code in CERTAIN:
            raise Refused(code, answer.get("message") or error)
        raise Troubled(f"{response.status} {answer}")

    def perform(self, request):
        """A request of the model, answered as the model has it."""
        path, body = body_of(request)
        return answer_of(request, self.call(path, body))


def encode(text):
    return base64.b64encode(text.encode()).decode()


def decode(text):
    return base64.b64decode(text).decode()


def body_of(request):
    """(path, JSON) of a request. A Txn of one action goes the short way."""
    if isinstance(request, Grant):
        return "lease/grant", {"TTL": str(request.ttl), "ID": str(request.lease)}
    if isinstance(request, (KeepAlive, Revoke)):
        path = "lease/keepalive" if isinstance(request, KeepAlive) else "lease/revoke"
        return path, {"ID": str(request.lease)}
    if is_single(request):
        kind, body = _act_body(request.success[0])
        return {"put": "kv/put", "delete_range": "kv/deleterange", "range": "kv/range"}[kind], body
    return "kv/txn", {
        "compare": [_compare_body(compare) for compare in request.compares],
        "success": [_wrapped(act) for act in request.success],
        "failure": [_wrapped(act) for act in request.failure]}


def is_single(txn):
    return not txn.compares and not txn.failure and len(txn.success) == 1


def _wrapped(act):
    kind, body = _act_body(act)
    return {"request_" + kind: body}


def _act_body(act):
    body = {"key": encode(act.key)}
    if isinstance(act, Put):
        body["value"] = encode(act.value)
        if act.lease:
            body["lease"] = str(act.lease)
    elif act.end:
        body["range_end"] = encode(act.end)
    if isinstance(act, Range):
        if act.limit:
            body["limit"] = str(act.limit)
        if act.revision:
            body["revision"] = str(act.revision)
        return "range", body
    if act.prev:
        body["prev_kv"] = True
    return ("put" if isinstance(act, Put) else "delete_range"), body


def _compare_body(compare):
    field = {"VERSION": "version", "CREATE": "create_revision", "MOD": "mod_revision",
             "VALUE": "value", "LEASE": "lease"}[compare.target]
    value = encode(compare.value) if compare.target == "VALUE" else str(compare.value)
    return {"key": encode(compare.key), "target": compare.target, "result": compare.result,
            field: value}


def answer_of(request, body):
    if isinstance(request, Grant):
        return GrantAnswer(int(body["ID"]), int(body["TTL"]))
    if isinstance(request, KeepAlive):
        return KeepAliveAnswer(int(body.get("TTL", 0)))
    revision = int(body["header"]["revision"])
    if isinstance(request, Revoke):
        return RevokeAnswer(revision)
    if is_single(request):
        return TxnAnswer(revision, True, (_response(request.success[0], body),))
    succeeded = body.get("succeeded", False)
    acts = request.branch(succeeded)
    rows = body.get("responses", [])
    if len(rows) != len(acts):
        raise AssertionError(f"{len(acts)} actions, {len(rows)} responses: {body}")
    return TxnAnswer(revision, succeeded, tuple(
        _response(act, next(iter(row.values()))) for act, row in zip(acts, rows)))


def _response(act, body):
    if isinstance(act, Put):
        return key_value(body.get("prev_kv"))
    if isinstance(act, Delete):
        return int(body.get("deleted", 0)), tuple(map(key_value, body.get("prev_kvs", ())))
    kvs = tuple(map(key_value, body.get("kvs", ())))
    return kvs, int(body.get("count", 0)), body.get("more", False)


def key_value(body):
    if body is None:
        return None
    return KeyValue(decode(body["key"]), decode(body.get("value", "")),
                    int(body.get("create_revision", 0)), int(body["mod_revision"]),
                    int(body.get("version", 0)), int(body.get("lease", 0)))


def event_of(body):
    """(Event, KeyValue before or None) of an event on a watch."""
    kv = key_value(body["kv"])
    gone = body.get("type") == "DELETE"
    return Event(kv.mod, kv.key, None if gone else kv), key_value(body.get("prev_kv"))


def watch_lines(client, key, end, first, prev=False):
    """Opens a watch and yields its messages, until the connection breaks (Unanswered)."""
    create = {"key": encode(key), "range_end": encode(end), "start_revision": str(first)}
    if prev:
        create["prev_kv"] = True
    response = client.response("watch", {"create_request": create})
    while True:
        try:
            line = response.readline()
            if not line.endswith(b"\n"):
                raise Unanswered(f"the watch ended in {line[:100]!r}")
            message = json.loads(line) if line.strip() else {"result": {}}
        except (OSError, http.client.HTTPException, ValueError) as error:
            client.close()
            raise Unanswered(repr(error)) from error
        if "error" in message:
            client.close()
            raise Unanswered(str(message))
        yield message["result"]
