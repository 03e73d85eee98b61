"""One HTTP/1.1 exchange on a socket of its own, read as it arrives."""
import socket
import time

CHUNK_MAX = 1 << 20


class Closed(Exception):
    """The server ended the connection."""


class Stream:
    """Sends a request and yields what comes back, line by line. Used by one thread."""

    def __init__(self, port, request):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""  # as on the wire
        self.body = b""  # without the framing of chunks
        self.status = None
        self.headers = {}
        self.ended = False  # the answer is complete
        self.socket.sendall(request)

    def fileno(self):
        return self.socket.fileno()

    def line(self, seconds):
        """The next line of the body, or None when none came in time. At the end of the answer:
        what is left."""
        end = time.monotonic() + seconds
        while b"\n" not in self.body and not self.ended:
            left = end - time.monotonic()
            if left <= 0 or not self.receive(left):
                return None
        line, newline, self.body = self.body.partition(b"\n")
        return line + newline

    def answer(self, seconds):
        """The whole body of an answer that ends."""
        end = time.monotonic() + seconds
        while not self.ended:
            left = end - time.monotonic()
            if left <= 0 or not self.receive(left):
                raise TimeoutError(f"no whole answer in {seconds} s")
        body, self.body = self.body, b""
        return body

    def receive(self, seconds):
        """Reads once; False when nothing came in time."""
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(CHUNK_MAX)
        except TimeoutError:
            return False
        except OSError as error:
            raise Closed(str(error)) from error
        if not data:
            if self.status is None or "content-length" in self.headers:
                raise Closed("the server closed the connection without an answer")
            self.ended = True
        self.received += data
        self._decode()
        return True

    def next_answer(self):
        """Begins the next answer on the same connection."""
        self.status, self.headers, self.ended = None, {}, False
        self._decode()

    def close(self):
        self.socket.close()

    def _decode(self):
        if self.status is None:
            if b"\r\n\r\n" not in self.received:
                return
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            first, *rest = head.decode("latin1").split("\r\n")
            self.status = int(first.split()[1])
            pairs = (line.split(":", 1) for line in rest)
            self.headers = {name.strip().lower(): value.strip() for name, value in pairs}
        if self.headers.get("transfer-encoding") == "chunked":
            while not self.ended and self._chunk():
                pass
        elif not self.ended:
            length = int(self.headers.get("content-length", 0))
            taken = self.received[:length - len(self.body)]
            self.body += taken
            self.received = self.received[len(taken):]
            self.ended = len(self.body) >= length

    def _chunk(self):
        size_line, found, rest = self.received.partition(b"\r\n")
        if not found:
            return False
        size = int(size_line.split(b";")[0], 16)
        if size == 0:
            trailers_end = (b"\r\n" + rest).find(b"\r\n\r\n")
            if trailers_end < 0:
                return False
            self.received = rest[trailers_end + 2:]
            self.ended = True
            return True
        if len(rest) < size + 2:
            return False
        self.body += rest[:size]
        self.received = rest[size + 2:]
        return True


def request_bytes(method, path, body, headers=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")
