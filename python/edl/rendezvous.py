"""torchrun's rendezvous in EDL's store, or in etcd: `--rdzv_backend=edl`.

Agents of torchrun find each other in one key, whose value they replace when it is still the one
that they have read. The store that they and their workers share lies beside it. So no agent is
special: any may die, the store may restart, and the others go on.

    python3 -m edl.torchrun --rdzv_backend=edl --rdzv_endpoint=127.0.0.1:2379 \\
        --rdzv_id=job --nnodes=1:4 --nproc_per_node=2 train.py
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence, Tuple
from urllib.parse import quote

from torch.distributed import Store
from torch.distributed.elastic.rendezvous import (RendezvousConnectionError, RendezvousHandler,
                                                  RendezvousParameters, RendezvousStateError,
                                                  rendezvous_handler_registry)
from torch.distributed.elastic.rendezvous import dynamic_rendezvous

from edl import errors
from edl._store_client import StoreClient, TlsFiles, read_token

NAME = "edl"
_ENDPOINT = "127.0.0.1:2379"
_VALUE_BYTES_MAX = 512 << 10  # what the store is made for

Token = Any


def _prefix(run_id: str) -> str:
    return f"/edl/v1/torch/{quote(run_id, safe='')}/"


class Backend(dynamic_rendezvous.RendezvousBackend):
    """The state of one run; a token is the revision at which it was written."""

    def __init__(self, client: StoreClient, run_id: str):
        self._client = client
        self._key = _prefix(run_id) + "state"

    @property
    def name(self) -> str:
        return NAME

    def _read(self) -> Optional[Tuple[bytes, Token]]:
        found, _ = self._asked(lambda: self._client.read([self._key]))
        return None if found[0] is None else (self._opened(found[0].value), found[0].mod_revision)

    get_state = _read

    def set_state(self, state: bytes,
                  token: Optional[Token] = None) -> Optional[Tuple[bytes, Token, bool]]:
        expected = 0 if token is None else token
        if not isinstance(expected, int) or isinstance(expected, bool):  # nobody was given this one
            now = self._read()
            return None if now is None else (*now, False)
        value = _sealed(state)
        self._asked(self._client.keep)  # the state never ends before what lies beside it
        wrote, kept = self._asked(lambda: self._client.write(self._key, value, expected))
        return None if kept is None else (self._opened(kept.value), kept.mod_revision, wrote)

    def _asked(self, question: Callable[[], Any]) -> Any:
        """In torch's words."""
        try:
            return question()
        except errors.CorruptError as wrong:
            raise RendezvousStateError(str(wrong)) from wrong
        except errors.Error as wrong:
            raise RendezvousConnectionError(str(wrong)) from wrong

    def _opened(self, value: bytes) -> bytes:
        try:
            kept = json.loads(value)
            state = base64.b64decode(kept["state"], validate=True)
            if hashlib.sha256(state).hexdigest() != kept["sha256"]:
                raise ValueError("its bytes are not those that were written")
        except (ValueError, LookupError, TypeError) as wrong:
            raise RendezvousStateError(
                f"the state in {self._key} is corrupt ({wrong}): delete that key, or take another "
                "--rdzv_id") from wrong
        return state


def _sealed(state: bytes) -> bytes:
    value = json.dumps({"state": base64.b64encode(state).decode(),
                        "sha256": hashlib.sha256(state).hexdigest()}).encode()
    if len(value) > _VALUE_BYTES_MAX:
        raise RendezvousStateError(f"the rendezvous has {len(value)} bytes, and the store takes "
                                   f"{_VALUE_BYTES_MAX}: use fewer nodes")
    return value


class SharedStore(Store):
    """What the agents of a run tell each other; torch calls it a c10d store."""

    def __init__(self, client: StoreClient, run_id: str):
        super().__init__()  # torch's own half
        self._client = client
        self._prefix = _prefix(run_id) + "keys/"

    def set(self, key: str, value: bytes | str) -> None:
        self._client.write(self._prefix + key, _bytes(value))

    def get(self, key: str) -> bytes:
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._awaited(keys, self.timeout)

    def add(self, key: str, amount: int) -> int:
        found, _ = self._client.read([self._prefix + key])
        now = found[0]
        while True:
            total = amount + (0 if now is None else int(now.value))
            wrote, now = self._client.write(self._prefix + key, str(total).encode(),
                                            0 if now is None else now.mod_revision)
            if wrote:
                return total

    def compare_set(self, key: str, expected: bytes | str, value: bytes | str) -> bytes:
        """The value that the key has now. An empty `expected` also means that there is no key."""
        found, _ = self._client.read([self._prefix + key])
        now = found[0]
        while True:
            if (b"" if now is None else now.value) != _bytes(expected):
                return _bytes(expected) if now is None else now.value
            wrote, now = self._client.write(self._prefix + key, _bytes(value),
                                            0 if now is None else now.mod_revision)
            if wrote:
                return _bytes(value)

    def delete_key(self, key: str) -> bool:
        return self._client.delete(self._prefix + key)

    def check(self, keys: Sequence[str]) -> bool:
        found, _ = self._client.read([self._prefix + key for key in keys])
        return None not in found

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._awaited(keys, self.timeout if timeout is None else timeout)

    def _awaited(self, keys: Sequence[str], timeout: timedelta) -> list[bytes]:
        """The values of keys that are there, or come within this time."""
        deadline = time.monotonic() + timeout.total_seconds()
        names = [self._prefix + key for key in keys]
        while True:
            found, revision = self._client.read(names)
            missing = [key for key, one in zip(keys, found) if one is None]
            if not missing:
                return [one.value for one in found if one is not None]
            left = deadline - time.monotonic()
            if left <= 0:
                raise errors.TimeoutError(
                    f"nobody has set {missing[0]} within {timeout.total_seconds():g} s "
                    f"({len(missing)} of {len(keys)} keys are missing)")
            self._client.wait(self._prefix, revision + 1, left)


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _positive(params: RendezvousParameters, key: str, default: int) -> int:
    value = params.get_as_int(key, default)
    if value is None or value <= 0:
        raise errors.InvalidError(f"{key}={value} in --rdzv_conf: give a number of seconds above 0")
    return value


def create_backend(params: RendezvousParameters) -> Tuple[Backend, SharedStore]:
    """From `--rdzv_endpoint` and `--rdzv_conf`: read_timeout (60), ttl (7200), token_file, tls_ca,
    tls_cert, tls_key."""
    if not params.run_id:
        raise errors.InvalidError("a rendezvous needs a name that all its agents give: --rdzv_id")
    token_file = params.get("token_file")
    client = StoreClient(
        params.endpoint or _ENDPOINT, own=_prefix(params.run_id) + "receipts/",
        token=read_token(token_file) if token_file else None,
        tls=TlsFiles(params.get("tls_ca"), params.get("tls_cert"), params.get("tls_key")),
        timeout=_positive(params, "read_timeout", 60), ttl=_positive(params, "ttl", 7200))
    return Backend(client, params.run_id), SharedStore(client, params.run_id)


def create_rendezvous(params: RendezvousParameters) -> RendezvousHandler:
    """What torch calls for `--rdzv_backend=edl`."""
    backend, store = create_backend(params)
    return dynamic_rendezvous.create_handler(store, backend, params)


def register() -> None:
    """Makes the backend known in this process."""
    rendezvous_handler_registry.register(NAME, create_rendezvous)


def torchrun_backend() -> Callable[[RendezvousParameters], RendezvousHandler]:
    """What a torch that looks for backends in installed packages finds (torchrun.handlers)."""
    return create_rendezvous
