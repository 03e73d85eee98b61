"""A server of files that a test can hold in the middle of a file, or let lie about it."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class FileServer:
    """On a free port of this machine. `asked` is what was asked for: (path, Range or None)."""

    def __init__(self):
        self.files = {}
        self.lies = {}  # what is sent instead
        self.asked = []
        self.open = threading.Event()  # while it is not set, files stop in their middle
        self.open.set()
        self.held = threading.Semaphore(0)  # released each time when a file stops there
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._exchange())
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def _exchange(outer):
        class Exchange(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *words):
                pass
        return Exchange

    def answer(self, request):
        name = request.path.lstrip("/")
        wanted = request.headers.get("Range")
        self.asked.append((name, wanted))
        content = self.lies.get(name, self.files.get(name))
        if content is None:
            request.send_error(404)
            return
        first = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        request.send_response(206 if wanted else 200)
        if wanted:
            request.send_header("Content-Range",
                                f"bytes {first}-{len(content) - 1}/{len(content)}")
        request.send_header("Content-Length", str(len(content) - first))
        request.end_headers()
        middle = max(first, len(content) // 2)
        try:
            request.wfile.write(content[first:middle])
            if not self.open.is_set():
                request.wfile.flush()
                self.held.release()
                self.open.wait()
            request.wfile.write(content[middle:])
        except OSError:
            request.close_connection = True  # who asked has gone

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{name}"

    def write_list(self, path):
        """The list of all files."""
        files = [{"name": name, "url": self.url(name), "bytes": len(content),
                  "sha256": hashlib.sha256(content).hexdigest()}
                 for name, content in self.files.items()]
        Path(path).write_text(json.dumps({"files": files}), encoding="utf-8")

    def close(self):
        self.open.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
