"""Processes of a test: they listen on loopback and end with the test, by their own ids."""
import contextlib
import http.client
import random
import signal
import socket
import subprocess
import time

SKIP = 77  # ctest's SKIP_RETURN_CODE
START_SECONDS = 30.0


def free_ports(count):
    """Ports nobody listens on now. All are held until the last one is known, so they differ. They
    are below those that connections get by themselves: nobody takes one while its server is down,
    and no client that tries again and again can connect to itself."""
    held = []
    try:
        while len(held) < count:
            port = random.SystemRandom().randrange(10000, 30000)
            with contextlib.suppress(OSError):
                held.append(socket.create_server(("127.0.0.1", port)))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def healthy(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return answer.status == 200 and b'"true"' in answer.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def wait_for(condition, what, seconds=START_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class Server:
    """One process that can be killed with `kill -9` and started again on its data."""

    def __init__(self, name, command, port, log):
        self.name = name
        self.command = command
        self.port = port
        self.log = log  # path of the file that takes what the process says
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)

    def wait_until_healthy(self):
        def ready():
            if not self.running():
                raise RuntimeError(f"{self.name} ended by itself: see {self.log}\n{self.tail()}")
            return healthy(self.port)
        wait_for(ready, f"{self.name} to be healthy")

    def running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9."""
        if self.running():
            self.process.send_signal(signal.SIGKILL)
        if self.process:
            self.process.wait()

    def tail(self):
        with open(self.log, errors="replace") as file:
            return "".join(file.readlines()[-10:])


class Group:
    """Servers that belong together, in `self.servers`."""

    def __init__(self):
        self.servers = []

    def start(self):
        for server in self.servers:
            server.start()
        self.wait_until_healthy()

    def stop(self):
        for server in self.servers:
            server.kill()

    def wait_until_healthy(self):
        for server in self.servers:
            if server.running():
                server.wait_until_healthy()

    def restart(self, index):
        self.servers[index].start()
        self.servers[index].wait_until_healthy()
