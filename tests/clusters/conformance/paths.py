"""Paths, methods and the frame of HTTP around the answers."""
from conformance.catalog import scenario
from conformance.http_stream import request_bytes

POSTS = ("kv/put", "kv/range", "kv/deleterange", "kv/txn", "kv/compaction", "watch", "lease/grant",
         "lease/revoke", "lease/keepalive", "lease/timetolive", "lease/leases",
         "maintenance/status")


@scenario
def other_methods(play):
    for path in POSTS:
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            play.ask(method, path)
    play.ask("GET", "kv/range", '{"key":"YQ=="}')
    for path in ("/health", "/version"):
        for method in ("POST", "PUT", "DELETE"):
            play.ask(method, path)


@scenario
def unknown_paths(play):
    for path in ("/v3/", "/v3/kv", "/v3/kv/", "/v3/kv/range/", "/v3/kv/rangex", "/v3/kv/nothing",
                 "/v3/KV/range", "/v3/lease", "/v3/kv/lease/grant", "/v3/kv/lease/keepalive",
                 "/v3/watch/", "/", "/x", "/v2/keys", "/v3alpha/kv/range", "/V3/kv/range",
                 "/health/", "/version/", "/kv/range", "/v33/kv/range"):
        play.ask("GET", path)
        play.ask("POST", path, "{}")


@scenario
def health_version_and_status(play):
    play.ask("GET", "/health")
    play.ask("GET", "/health?x=1")
    play.ask("GET", "/version")
    play.put("a", "1")
    play.post("maintenance/status", {})
    play.post("maintenance/status", "")
    play.post("maintenance/status", {"unknown": [1]})


@scenario
def query_and_headers_do_not_matter(play):
    play.put("a", "1")
    body = '{"key":"YQ=="}'
    play.post("kv/range?x=1&key=Yg==", body)
    play.post("kv/%72ange", body)
    for header in ("Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded",
                   "Accept: text/plain", "Accept-Encoding: gzip", "User-Agent: x",
                   "Connection: close", "Origin: http://example.test", "Cookie: a=b"):
        play.post("kv/range", body, headers=(header,))


@scenario
def several_requests_on_one_connection(play):
    """One after the other, and both sent before the first answer."""
    play.put("a", "1")
    one = request_bytes("POST", "/v3/kv/range", b'{"key":"YQ=="}')
    wrong = request_bytes("POST", "/v3/kv/range", b"x")
    missing = request_bytes("GET", "/v3/nothing", None)
    for together in ([one, one], [one, wrong, one], [wrong, missing, one], [missing, one]):
        stream = play.target.stream(b"".join(together))
        play.streams.append(stream)
        for number in range(len(together)):
            if number:
                stream.next_answer()
            text = stream.answer(10).decode()
            play.write_down(f"pipelined {number} of {together}", play.normal.text("/", text))
    stream = play.target.stream(one)
    for number in range(3):
        text = stream.answer(10).decode()
        play.write_down(f"request {number} on a connection", play.normal.text("/", text))
        stream.socket.sendall(one)
        stream.next_answer()
    stream.close()


@scenario
def bodies_in_chunks(play):
    play.put("a", "1")
    head = b"POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    for body in (b'5\r\n{"key\r\n9\r\n":"YQ=="}\r\n0\r\n\r\n', b"0\r\n\r\n",
                 b'e\r\n{"key":"YQ=="}\r\n0\r\n\r\n'):
        stream = play.target.stream(head + body)
        play.streams.append(stream)
        text = stream.answer(10).decode()
        play.write_down(f"chunks {body}", f"{stream.status} {play.normal.text('/', text)}")
