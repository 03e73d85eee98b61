"""What the scenarios are played on: the embedded store, one etcd, or three with faults."""
import json

from conformance.answers import Answer
from conformance.http_stream import Closed, Stream, request_bytes
from servers import wait_for

ANSWER_SECONDS = 40.0
KILL_AT_STEP = 3
EVERYTHING = {"key": "AA==", "range_end": "AA=="}
# Asking again for these changes nothing.
READS = ("/v3/kv/range", "/v3/lease/timetolive", "/v3/lease/leases", "/v3/maintenance/status")


class Target:
    """A group of servers that hold the same data, and the one of them that is asked."""

    def __init__(self, name, group):
        self.name = name
        self.group = group
        self.asked = 0
        self.retries = 0

    def start(self):
        self.group.start()

    def stop(self):
        self.group.stop()

    def begin(self, scenario):
        """Called before a scenario is played, and `end` afterwards; `step` before each request."""

    def step(self, number):
        pass

    def end(self):
        pass

    def ports(self):
        """The one that is asked, then those that could be asked instead."""
        servers = self.group.servers
        return [servers[(self.asked + i) % len(servers)].port for i in range(len(servers))]

    def send(self, method, path, body, headers=()):
        """Asks another member only when that is safe: the request was never sent, or it reads."""
        request = request_bytes(method, path, body, headers)
        ports = self.ports()
        for number, port in enumerate(ports):
            last = number == len(ports) - 1
            try:
                stream = Stream(port, request)
            except ConnectionRefusedError:
                if last:
                    raise
                self.retries += 1
                continue
            try:
                text = stream.answer(ANSWER_SECONDS).decode("utf-8", "surrogateescape")
                if stream.status == 503 and path in READS and not last:
                    self.retries += 1
                    continue
                return Answer(stream.status, stream.headers.get("content-type", ""), text)
            finally:
                stream.close()
        raise Closed(f"{self.name}: nobody to ask")

    def stream(self, request):
        for port in self.ports():
            try:
                return Stream(port, request)
            except ConnectionRefusedError:
                self.retries += 1
        raise Closed(f"{self.name}: nobody to ask")

    def call(self, path, body):
        """For the suite itself: must succeed."""
        answer = self.send("POST", path, json.dumps(body).encode())
        if answer.status != 200:
            raise RuntimeError(f"{self.name}: {path} said {answer.status} {answer.text}")
        return answer

    def clear(self):
        """No keys and no leases; returns the revision."""
        leases = self.call("/v3/lease/leases", {}).json.get("leases", [])
        for lease in leases:
            self.send("POST", "/v3/lease/revoke", json.dumps(lease).encode())
        return self.call("/v3/kv/deleterange", EVERYTHING).revision

    def climb(self, revision):
        """Up to this revision, still without keys, and with all before it compacted."""
        now = self.call("/v3/kv/range", EVERYTHING).revision
        while now < revision - 1:
            now = self.call("/v3/kv/put", {"key": "Y2xpbWI="}).revision
        self.call("/v3/kv/deleterange", EVERYTHING)
        self.call("/v3/kv/compaction", {"revision": revision})

    def crash(self):
        """kill -9 for all of it, and a start on the same data."""
        for server in self.group.servers:
            server.kill()
        self.group.start()
        self.wait_until_writing()

    def wait_until_writing(self):
        """Until the one that is asked answers a read that needs a leader."""
        def answers():
            return self.send("POST", "/v3/kv/range", b'{"key":"AA=="}').status == 200
        wait_for(answers, f"{self.name} to answer")


class FaultyCluster(Target):
    """Three members. In every other scenario one of them dies after a few requests and comes back
    at the end; by turns a leader, a follower, and the one that is asked. Then others are asked."""

    def __init__(self, name, group):
        super().__init__(name, group)
        self.turn = 0
        self.victim = None
        self.dead = None
        self.streams = 0  # of this scenario
        self.killed = {"leader": 0, "follower": 0}

    def begin(self, scenario):
        self.turn += 1
        self.victim, self.streams = None, 0
        if scenario.calm:
            return
        leader = self.group.leader()
        others = [i for i in range(len(self.group.servers)) if i != leader]
        kind = self.turn % 6
        if kind == 0:
            self.victim, self.asked = leader, others[0]
        elif kind == 2:
            self.victim, self.asked = others
        elif kind == 4:
            self.asked = leader if self.turn % 4 else others[0]
            self.victim = self.asked
        else:
            self.asked = self.turn % len(self.group.servers)
        self.wait_until_writing()

    def step(self, number):
        if number != KILL_AT_STEP or self.victim is None:
            return
        if self.victim == self.asked and self.streams:
            return  # a stream does not outlive its member
        role = "leader" if self.victim == self.group.leader() else "follower"
        self.dead, self.victim = self.victim, None
        self.group.servers[self.dead].kill()
        self.killed[role] += 1
        self.group.leader()
        self.wait_until_writing()

    def stream(self, request):
        self.streams += 1
        return super().stream(request)

    def end(self):
        self.victim = None
        if self.dead is not None:
            self.group.restart(self.dead)
            self.dead = None
            self.group.leader()
        self.wait_until_writing()
