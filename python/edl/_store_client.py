"""A store as Python's standard library reaches it: etcd v3's JSON gateway, EDL's own or etcd's.

A request that nobody answers is sent again, to the next endpoint, until its time is over. A write
that was sent twice has happened once: it leaves a receipt, which tells the second from somebody
else's. Any thread may call.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
import time
import uuid
from typing import Any, Iterator, NamedTuple, Sequence

from edl import errors

_PAUSE_MIN_S, _PAUSE_MAX_S = 0.02, 0.5
_SILENCE_MAX_S = 10.0  # of a watch, before it is doubted
_OPERATIONS_MAX = 100  # in one transaction; the store takes 128
_TOKEN_BYTES_MAX = 4096
_UNKNOWN_CODES = {1, 2, 4, 8, 10, 13, 14, 15}  # gRPC: not now, or nobody knows what became of it
_LEASE_NOT_FOUND = 5
_UNAUTHENTICATED = 16


class KeyValue(NamedTuple):
    value: bytes
    mod_revision: int


class _Unanswered(Exception):
    """It may or may not have happened."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class TlsFiles(NamedTuple):
    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None


class Endpoint:
    """`http://HOST:PORT`, `https://HOST:PORT`, `unix:/PATH`; `HOST:PORT` alone is http."""

    def __init__(self, text: str, tls: TlsFiles):
        self.text = text = text.strip()
        self._path = text.removeprefix("unix:") if text.startswith("unix:") else None
        self._tls = _tls_context(tls) if text.startswith("https://") else None
        if self._path is None:
            rest = text.split("://", 1)[-1].removesuffix("/")
            host, colon, port = rest.rpartition(":")
            if not colon or not host or not port.isdigit() or "/" in rest or \
                    ("://" in text and not text.startswith(("http://", "https://"))):
                raise errors.InvalidError(f'"{text}" is not the address of a store: write '
                                          "HOST:PORT, https://HOST:PORT or unix:/PATH")
            self._host, self._port = host.strip("[]"), int(port)

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._path is not None:
            return _UnixConnection(self._path, timeout)
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout,
                                               context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)


def _tls_context(files: TlsFiles) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=files.authorities)
        if files.certificate:
            context.load_cert_chain(files.certificate, files.key)
        return context
    except OSError as wrong:  # ssl's own errors are among these
        raise errors.InvalidError(f"the files for TLS ({files.authorities or ''} "
                                  f"{files.certificate or ''}) cannot be used: {wrong}") from wrong


def read_token(path: str) -> str:
    """As the commands read it: a file that only its owner can read."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise errors.InvalidError(f"others may read the token in {path}: take that right "
                                          f"away with chmod 600 {path}")
            token = file.read(_TOKEN_BYTES_MAX).decode().strip()
    except (OSError, UnicodeDecodeError) as wrong:
        raise errors.NotFoundError(f"the token file {path} cannot be read: {wrong}") from wrong
    if not token:
        raise errors.InvalidError(f"the token file {path} is empty: put a token into it")
    return token


class StoreClient:
    """`own` is a prefix under which this client may leave a key of its own."""

    def __init__(self, endpoints: str, own: str, token: str | None = None,
                 tls: TlsFiles = TlsFiles(), timeout: float = 60.0, ttl: int = 7200):
        self._endpoints = [Endpoint(text, tls) for text in endpoints.split(",")]
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = token
        self._timeout = timeout
        self._ttl = ttl
        self._receipt = f"{own}{uuid.uuid4().hex}"
        self._writes = 0
        self._lease: int | None = None
        self._lock = threading.RLock()
        self._connection: http.client.HTTPConnection | None = None

    # What a caller wants.

    def read(self, keys: Sequence[str]) -> tuple[list[KeyValue | None], int]:
        """The keys' values (None: there is no such key), and the store's revision after that."""
        found: list[KeyValue | None] = []
        revision = 0
        for begin in range(0, max(1, len(keys)), _OPERATIONS_MAX):
            answer = self._call("kv/txn", {"success": [
                {"request_range": {"key": _encoded(key)}}
                for key in keys[begin:begin + _OPERATIONS_MAX]]})
            with _understood(answer):
                found += [_key_value(one["response_range"]) for one in answer.get("responses", ())]
                # The first one: what changes while the others are read must not be missed.
                revision = revision or int(answer["header"]["revision"])
        return found, revision

    def write(self, key: str, value: bytes,
              expected: int | None = None) -> tuple[bool, KeyValue | None]:
        """Writes if the key's last change was at revision `expected` (0: there is no such key;
        None: in any case). Whether it did, and what the key is now."""
        with self._lock:
            self._writes += 1
            receipt = str(self._writes).encode()
            try:
                answer = self._call("kv/txn", self._write_body(key, value, expected, receipt))
            except errors.NotFoundError:  # the lease is over: this process was asleep for long
                self._lease = None
                answer = self._call("kv/txn", self._write_body(key, value, expected, receipt))
        with _understood(answer):
            if answer.get("succeeded", False):
                return True, KeyValue(value, int(answer["header"]["revision"]))
            now, mine = [_key_value(one["response_range"]) for one in answer["responses"]]
        if mine is not None and mine.value == receipt:  # its first answer was lost
            return True, KeyValue(value, mine.mod_revision)
        return False, now

    def _write_body(self, key: str, value: bytes, expected: int | None,
                    receipt: bytes) -> dict[str, Any]:
        lease = str(self._granted())
        compare = [] if expected is None else [
            {"key": _encoded(key), "target": "MOD", "result": "EQUAL",
             "mod_revision": str(expected)}]
        puts = [(key, value), (self._receipt, receipt)]
        return {"compare": compare,
                "success": [{"request_put": {"key": _encoded(name), "lease": lease,
                                             "value": base64.b64encode(content).decode()}}
                            for name, content in puts],
                "failure": [{"request_range": {"key": _encoded(name)}} for name, _ in puts]}

    def delete(self, key: str) -> bool:
        """Whether there was such a key. Not exact when the answer was lost."""
        answer = self._call("kv/deleterange", {"key": _encoded(key)})
        with _understood(answer):
            return int(answer.get("deleted", 0)) > 0

    def keep(self) -> None:
        """What this client wrote lives `ttl` from now on, if it is there at all."""
        self._call("lease/keepalive", {"ID": str(self._granted())})

    def _granted(self) -> int:
        with self._lock:
            if self._lease is None:
                answer = self._call("lease/grant", {"TTL": str(self._ttl)})
                with _understood(answer):
                    self._lease = int(answer["ID"])
            return self._lease

    def wait(self, prefix: str, revision: int, seconds: float) -> None:
        """Until something below the prefix has changed at this revision or later, or the time is
        over, or nobody knows."""
        limit = min(seconds, _SILENCE_MAX_S)
        deadline = time.monotonic() + limit
        connection = self._endpoints[0].connection(limit)
        try:
            connection.request("POST", "/v3/watch", json.dumps({"create_request": {
                "key": _encoded(prefix), "range_end": _encoded(_end_of(prefix)),
                "start_revision": str(revision)}}).encode(), self._headers)
            answer = connection.getresponse()
            while connection.sock is not None:
                connection.sock.settimeout(max(0.001, deadline - time.monotonic()))
                line = answer.readline()
                told = json.loads(line)["result"] if line.strip() else {"canceled": not line}
                if told.get("events") or told.get("canceled"):
                    break
        except (OSError, ValueError, LookupError, TypeError, AttributeError,
                http.client.HTTPException):
            time.sleep(min(_PAUSE_MIN_S, max(0.0, deadline - time.monotonic())))
        finally:
            connection.close()

    # How it gets there.

    def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            deadline = time.monotonic() + self._timeout
            pause = _PAUSE_MIN_S
            while True:
                try:
                    return self._attempt(path, body, deadline)
                except _Unanswered as wrong:
                    self._leave()
                    if time.monotonic() + pause >= deadline:
                        raise errors.UnavailableError(
                            f"the store at {', '.join(one.text for one in self._endpoints)} has "
                            f"not answered for {self._timeout:g} s ({wrong}): start it, or name "
                            "another") from wrong
                time.sleep(pause)
                pause = min(2 * pause, _PAUSE_MAX_S)

    def _leave(self) -> None:
        """Another endpoint, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._endpoints.append(self._endpoints.pop(0))

    def _attempt(self, path: str, body: dict[str, Any], deadline: float) -> dict[str, Any]:
        left = max(0.001, deadline - time.monotonic())
        if len(self._endpoints) > 1:
            left = min(left, max(1.0, self._timeout / len(self._endpoints) / 2))
        try:
            if self._connection is None:
                self._connection = self._endpoints[0].connection(left)
            if self._connection.sock is not None:
                self._connection.sock.settimeout(left)
            self._connection.timeout = left
            self._connection.request("POST", f"/v3/{path}", json.dumps(body).encode(),
                                     self._headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as wrong:
            raise _Unanswered(str(wrong) or type(wrong).__name__) from wrong
        try:
            answer = json.loads(content)
            refused = answer.get("error") is not None or response.status != 200
        except (ValueError, AttributeError) as wrong:
            raise errors.CorruptError(f"{self._endpoints[0].text} answers {content[:60]!r}: it is "
                                      "not a store") from wrong
        if refused:
            raise self._refusal(answer, response.status)
        return answer

    def _refusal(self, answer: dict[str, Any], status: int) -> Exception:
        inner = answer["error"] if isinstance(answer.get("error"), dict) else answer
        code = inner.get("code", inner.get("grpc_code", 2 if status >= 500 else 3))
        message = str(inner.get("message", f"HTTP status {status}"))
        if code in _UNKNOWN_CODES:
            return _Unanswered(message)
        if code == _LEASE_NOT_FOUND:
            return errors.NotFoundError(message)
        way_out = ". Give the store's token in a file" if code == _UNAUTHENTICATED else ""
        return errors.InvalidError(f"the store at {self._endpoints[0].text} refuses: "
                                   f"{message}{way_out}")


@contextlib.contextmanager
def _understood(answer: dict[str, Any]) -> Iterator[None]:
    """What an answer must have, and has not, makes it a corrupt one."""
    try:
        yield
    except errors.Error:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as wrong:
        raise errors.CorruptError("the store's answer is not one of etcd's: "
                                  f"{str(answer)[:80]}") from wrong


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _end_of(prefix: str) -> str:
    """The first key behind all that begin with it; ours end in ASCII."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _key_value(found: dict[str, Any]) -> KeyValue | None:
    for one in found.get("kvs", ()):
        return KeyValue(base64.b64decode(one.get("value", ""), validate=True),
                        int(one["mod_revision"]))
    return None
