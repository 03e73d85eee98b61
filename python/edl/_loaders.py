"""Processes that load samples ahead for one worker. They are forked from it before it has threads,
and end with it, whatever ends it.

Each gets a share of the samples of a part. The numbers that it has loaded come back through memory
that both share, or through the socket where that is too small. Where a loader has died, the worker
loads its share by itself.
"""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import faulthandler
import io
import itertools
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import sys
import traceback
from typing import Any, Sequence

import torch

from edl import errors
from edl._feed import Feed

_AHEAD = 2  # requests of a loader that may be under way, each with room of its own
_ROOM = 64 << 20  # bytes for the numbers of an answer; pages that nobody writes take no memory
_ALIGNMENT = 64
_LATE_S = 60  # a loader that takes longer says where it is
_MAP_NORESERVE = 0x4000
_PR_SET_PDEATHSIG = 1
_COUNT = struct.Struct("<Q")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The samples of a part, or a share of them."""
    samples: tuple[int, ...]
    seed: int
    epoch: int

    def share(self, number: int, of: int) -> Wanted:
        count = len(self.samples)
        part = self.samples[count * number // of:count * (number + 1) // of]
        return dataclasses.replace(self, samples=part)


class _Pickler(pickle.Pickler):
    """Numbers of tensors and arrays are left to `buffers`."""

    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer]):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._kept: list[torch.Tensor] = []  # until their numbers were copied

    def reducer_override(self, obj: Any) -> Any:
        is_plain = type(obj) is torch.Tensor and obj.layout is torch.strided
        if not is_plain or obj.requires_grad or obj.numel() == 0:
            return NotImplemented
        dense = obj.contiguous()
        self._kept.append(dense)
        memory = (ctypes.c_char * (dense.numel() * dense.element_size())).from_address(
            dense.data_ptr())
        return _tensor, (pickle.PickleBuffer(memory), dense.dtype, tuple(dense.shape))


def _tensor(numbers: Any, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.frombuffer(numbers, dtype=dtype).reshape(shape)


def _send(link: socket.socket, room: memoryview, answer: Any) -> None:
    """Lengths of all pieces, then the pickled piece; numbers in the room, or behind it."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    pickler = _Pickler(file, buffers)
    pickler.dump(answer)
    pieces = [memoryview(buffer.raw()) for buffer in buffers]
    fits = sum(piece.nbytes + _ALIGNMENT for piece in pieces) <= len(room)
    head = struct.pack(f"<QQQ{len(pieces)}Q", file.tell(), len(pieces), int(fits),
                       *(piece.nbytes for piece in pieces))
    at = 0
    for piece in pieces if fits else []:
        room[at:at + piece.nbytes] = piece
        at += -(-piece.nbytes // _ALIGNMENT) * _ALIGNMENT
    link.sendall(head + file.getbuffer())
    for piece in [] if fits else pieces:
        link.sendall(piece)


def _read(link: socket.socket, count: int) -> bytearray:
    out = bytearray(count)
    view = memoryview(out)
    while view:
        got = link.recv_into(view)
        if got == 0:
            raise ConnectionError("the other end is gone")
        view = view[got:]
    return out


def _receive(link: socket.socket, room: memoryview) -> Any:
    length, count, fits = struct.unpack("<QQQ", _read(link, 3 * _COUNT.size))
    lengths = struct.unpack(f"<{count}Q", _read(link, count * _COUNT.size))
    pickled = _read(link, length)
    numbers, at = [], 0
    for each in lengths:
        numbers.append(bytearray(room[at:at + each]) if fits else _read(link, each))
        at += -(-each // _ALIGNMENT) * _ALIGNMENT
    return pickle.loads(pickled, buffers=numbers)


def _sentence(wrong: BaseException) -> str:
    place = traceback.extract_tb(wrong.__traceback__)[-1]
    return f"{type(wrong).__name__}: {wrong} ({os.path.basename(place.filename)}:{place.lineno})"


def _serve(feed: Feed, link: socket.socket, rooms: list[memoryview]) -> None:
    """In the loader, until its worker is gone."""
    for room in itertools.cycle(rooms):
        (length,) = _COUNT.unpack(_read(link, _COUNT.size))
        wanted: Wanted = pickle.loads(_read(link, length))
        answer: tuple[bool, Any]
        try:
            answer = True, feed.load(wanted.samples, wanted.seed, wanted.epoch)
        except Exception as wrong:  # noqa: BLE001 - the program's own
            traceback.print_exc()
            sys.stderr.flush()
            answer = False, _sentence(wrong)
        _send(link, room, answer)


class _Loader:
    """One process, as its worker sees it."""

    def __init__(self) -> None:
        self.process = 0
        self.link, self.far_end = socket.socketpair()
        memory = mmap.mmap(-1, _AHEAD * _ROOM,
                           flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)
        self.rooms = [memoryview(memory)[i * _ROOM:(i + 1) * _ROOM] for i in range(_AHEAD)]
        self._next_room = 0
        self._is_dead = False

    def ask(self, wanted: Wanted) -> None:
        pickled = pickle.dumps(wanted)
        try:
            self.link.sendall(_COUNT.pack(len(pickled)) + pickled)
        except OSError:
            self._died()

    def _died(self) -> None:
        """Noticed by who asks, or by who waits for an answer."""
        if not self._is_dead:
            print("edl: a process that loads samples has died; its worker loads them from now on",
                  file=sys.stderr, flush=True)
        self._is_dead = True

    def _wait(self) -> None:
        """For the beginning of an answer."""
        if select.select([self.link], [], [], _LATE_S)[0]:
            return
        print(f"edl: a process that loads samples has not answered for {_LATE_S} s; it is here:",
              file=sys.stderr, flush=True)
        os.kill(self.process, signal.SIGUSR1)

    def answer(self, feed: Feed, wanted: Wanted) -> tuple[bool, Any]:
        """To the oldest request that has none yet."""
        if not self._is_dead:
            try:
                self._wait()
                got: tuple[bool, Any] = _receive(self.link, self.rooms[self._next_room])
                self._next_room = (self._next_room + 1) % _AHEAD
                return got
            except OSError:
                self._died()
        return True, feed.load(wanted.samples, wanted.seed, wanted.epoch)


class Loaders:
    """Of one worker."""

    def __init__(self, feed: Feed):
        self._feed = feed
        self._loaders = [_Loader() for _ in range(feed.loaders)]
        self._asked: collections.deque[Wanted] = collections.deque()
        self._ready: dict[Wanted, list[tuple[bool, Any]]] = {}
        worker = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        for number in range(feed.loaders):
            loader = os.fork()
            if loader == 0:
                self._be(number, worker)
            self._loaders[number].process = loader
        for loader in self._loaders:
            loader.far_end.close()

    def _be(self, number: int, worker: int) -> None:
        """This process is a loader from now on."""
        code = 1
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # its worker decides what that means
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            faulthandler.register(signal.SIGUSR1)
            if os.getppid() != worker:
                os._exit(0)
            for i, loader in enumerate(self._loaders):
                loader.link.close()
                if i != number:
                    loader.far_end.close()
            own = self._loaders[number]
            self._feed.begin_loader(number)
            _serve(self._feed, own.far_end, own.rooms)
        except OSError:
            code = 0  # the worker is gone
        except BaseException:  # noqa: BLE001 - nothing of the worker may run here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def expect(self, wanted: Wanted) -> None:
        """It will be taken soon, most likely."""
        if wanted in self._asked or wanted in self._ready:
            return
        if len(self._asked) == _AHEAD:
            self._receive()
        self._asked.append(wanted)
        for number, loader in enumerate(self._loaders):
            loader.ask(wanted.share(number, len(self._loaders)))

    def take(self, wanted: Wanted) -> Sequence[Any]:
        """What was loaded, in the order of the samples."""
        self.expect(wanted)
        while wanted not in self._ready:
            self._receive()
        out: list[Any] = []
        for is_good, items in self._ready.pop(wanted):
            if not is_good:
                raise errors.InvalidError(items)
            out.extend(items)
        return out

    def _receive(self) -> None:
        wanted = self._asked.popleft()
        count = len(self._loaders)
        self._ready[wanted] = [loader.answer(self._feed, wanted.share(number, count))
                               for number, loader in enumerate(self._loaders)]
        while len(self._ready) > _AHEAD:  # hints that were wrong
            self._ready.pop(next(iter(self._ready)))
