"""A scenario on one server: sends requests and writes down each answer in its comparable form."""
import base64
import json
import time

from conformance.answers import Normal, shortened
from conformance.http_stream import Closed, request_bytes

MESSAGE_SECONDS = 30.0
QUIET_SECONDS = 0.4


def b64(value):
    """Keys and values in scenarios are text (one character, one byte) or bytes."""
    data = value.encode("latin1") if isinstance(value, str) else value
    return base64.b64encode(data).decode()


def body_bytes(body):
    if isinstance(body, (dict, list)):
        return json.dumps(body, separators=(",", ":")).encode()
    return body.encode("utf-8", "surrogateescape") if isinstance(body, str) else body


class Play:
    def __init__(self, target, base):
        self.target = target
        self.base = base  # the revision before the first request, equal on all servers
        self.normal = Normal()
        self.log = []  # (what was asked, what was answered)
        self.streams = []
        self.steps = 0
        self.answers = 0

    def write_down(self, asked, answered):
        self.answers += 1
        self.log.append((shortened(asked), shortened(answered)))

    def step(self):
        self.steps += 1
        self.target.step(self.steps)

    def post(self, path, body, **options):
        return self.ask("POST", path, body, **options)

    def ask(self, method, path, body=None, headers=(), in_order=False):
        """One exchange. Paths without a slash in front are below /v3/."""
        path = path if path.startswith("/") else "/v3/" + path
        data = None if body is None else body_bytes(body)
        self.step()
        answer = self.target.send(method, path, data, headers)
        if path == "/v3/lease/grant" and '"ID"' in answer.text and b'"ID"' not in (data or b""):
            self.normal.learn_lease(answer.json["ID"])
        shown = (data or b"").decode("utf-8", "surrogateescape")
        asked = self.normal.text(path, f"{method} {path} {shown}")
        text = self.normal.text(path, answer.text, in_order)
        self.write_down(asked, f"{answer.status} {answer.content_type} {text}")
        return answer

    def watch(self, *requests, path="/v3/watch"):
        """Opens a stream; each request is one JSON value of the body."""
        body = b"".join(body_bytes(one) for one in requests)
        self.step()
        stream = self.target.stream(request_bytes("POST", path, body))
        self.streams.append(stream)
        return Watch(self, stream, f"POST {path} {body.decode('utf-8', 'replace')}")

    def wait(self, seconds):
        time.sleep(seconds)

    def crash(self):
        self.target.crash()

    def close(self):
        for stream in self.streams:
            stream.close()

    # What scenarios ask most.

    def put(self, key, value="", **fields):
        return self.post("kv/put", {"key": b64(key), "value": b64(value), **fields})

    def range(self, key, end=None, **fields):
        return self.post("kv/range", with_end({"key": b64(key)}, end, fields))

    def delete(self, key, end=None, **fields):
        return self.post("kv/deleterange", with_end({"key": b64(key)}, end, fields))

    def txn(self, success=(), failure=(), compare=()):
        body = {"compare": list(compare), "success": list(success), "failure": list(failure)}
        return self.post("kv/txn", {name: part for name, part in body.items() if part})

    def grant(self, ttl, number=None):
        """Returns the id."""
        body = {"TTL": ttl} if number is None else {"TTL": ttl, "ID": number}
        answer = self.post("lease/grant", body)
        return int(answer.json["ID"]) if answer.status == 200 else 0


class Watch:
    def __init__(self, play, stream, asked):
        self.play = play
        self.stream = stream
        self.asked = asked

    def expect(self, count=1, sort=False):
        """Writes down the next messages as they are. `sort`: messages of several watches, whose
        order among each other is open."""
        lines = [self._message() for _ in range(count)]
        for line in sorted(lines) if sort else lines:
            self.play.write_down(self.asked, line)

    def expect_events(self, count):
        """Writes down events one by one: how they are grouped into messages is open."""
        events = []
        while len(events) < count:
            message = json.loads(self._message().split(" ", 2)[2])
            events += message["result"].get("events", [])
        for event in events:
            self.play.write_down(self.asked, json.dumps(event))

    def expect_quiet(self):
        line = self.stream.line(QUIET_SECONDS)
        text = "quiet" if line is None else f"a message: {line.decode('utf-8', 'replace')}"
        self.play.write_down(self.asked, self.play.normal.text("/v3/watch", text))

    def expect_end(self):
        left = self._message()
        self.play.write_down(self.asked, f"the end after {left}")

    def close(self):
        self.stream.close()

    def _message(self):
        try:
            line = self.stream.line(MESSAGE_SECONDS)
        except Closed as error:
            return f"closed: {error}"
        if line is None:
            raise TimeoutError(f"no message in {MESSAGE_SECONDS} s: {self.asked[:300]}")
        text = self.play.normal.text("/v3/watch", line.decode("utf-8", "surrogateescape"))
        return f"{self.stream.status} {self.stream.headers.get('content-type')} {text}"


def with_end(body, end, fields):
    if end is not None:
        body["range_end"] = b64(end)
    return {**body, **fields}


def create(key=None, end=None, **fields):
    """A create_request of a watch."""
    body = {} if key is None else {"key": b64(key)}
    return {"create_request": with_end(body, end, fields)}


def op_put(key, value="", **fields):
    return {"request_put": {"key": b64(key), "value": b64(value), **fields}}


def op_range(key, end=None, **fields):
    return {"request_range": with_end({"key": b64(key)}, end, fields)}


def op_delete(key, end=None, **fields):
    return {"request_delete_range": with_end({"key": b64(key)}, end, fields)}


def op_txn(success=(), failure=(), compare=()):
    body = {"compare": list(compare), "success": list(success), "failure": list(failure)}
    return {"request_txn": {name: part for name, part in body.items() if part}}


def compare(key, target, result="EQUAL", end=None, **wanted):
    return with_end({"key": b64(key), "target": target, "result": result}, end, wanted)
