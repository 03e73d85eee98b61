"""Three machines as network namespaces, joined by a bridge in a fourth: cables that are cut on
both ways or on one, and machines that die. Nothing touches the network of the machine itself."""

import os
import shutil
import signal
import subprocess
import sys
import time

from train_job import Job, send

SKIP = 77  # ctest's SKIP_RETURN_CODE
NET = "10.87.0"
NOBODY = "02:00:00:00:00:fe"


def skip_without_namespaces():
    """Ends the test, loudly, where there cannot be any."""
    why = None
    if os.geteuid() != 0:
        why = "only root can make network namespaces"
    elif not (shutil.which("ip") and shutil.which("unshare")):
        why = "ip or unshare is not installed"
    else:
        name = f"edl-{os.getpid()}-try"
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True,
                              check=False)
        why = made.stderr.strip() or None
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    if why:
        print(f"SKIPPED: {why}.", flush=True)
        sys.exit(SKIP)


def shell(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


class Hosts:
    """Host i has the address NET.i; its processes see the name host-i."""

    def __init__(self, place, count=3):
        self.place = place
        self.prefix = f"edl-{os.getpid()}"
        self.count = count
        self.started = {number: [] for number in range(1, count + 1)}
        self.switch = f"{self.prefix}-switch"
        self.ways = set()  # that are cut
        self.plain = []
        shell("ip", "netns", "add", self.switch)
        shell("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge", "stp_state", "0",
              "forward_delay", "0", "mcast_snooping", "0")
        shell("ip", "-n", self.switch, "link", "set", "br0", "up")
        for number in self.started:
            self._add_host(number)

    def _add_host(self, number):
        host = self.name(number)
        shell("ip", "netns", "add", host)
        shell("ip", "-n", host, "link", "set", "lo", "up")
        shell("ip", "-n", self.switch, "link", "add", f"v{number}", "type", "veth", "peer", "name",
              "eth0", "netns", host)
        shell("ip", "-n", self.switch, "link", "set", f"v{number}", "master", "br0", "up")
        shell("ip", "-n", host, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
        shell("ip", "-n", host, "link", "set", "eth0", "up")

    def name(self, number):
        return f"{self.prefix}-h{number}"

    def address(self, number):
        return f"{NET}.{number}"

    def _on(self, number, words):
        return ["ip", "netns", "exec", self.name(number), "unshare", "--uts", "sh", "-c",
                f'hostname host-{number}; exec "$@"', "sh", *words]

    def start(self, number, words):
        """A process with events on this host."""
        job = Job(self.place.folder, self._on(number, words))
        self.place.jobs.append(job)
        self.started[number].append(job)
        return job

    def spawn(self, number, words, log):
        """A plain process on this host."""
        with open(log, "ab") as out:
            process = subprocess.Popen(self._on(number, words), cwd=self.place.folder,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True)
        self.plain.append(process)

    def processes(self, number):
        """Of this host, by id. They are all of this test: nobody else knows the namespace."""
        done = subprocess.run(["ip", "netns", "pids", self.name(number)], capture_output=True,
                              text=True, check=False)
        return [int(word) for word in done.stdout.split()]

    def kill(self, number):
        """The machine dies: no packet leaves it any more, then everything on it ends."""
        self.cut(number)
        self._end_processes(number)

    def _end_processes(self, number):
        deadline = time.monotonic() + 30
        while self.processes(number) and time.monotonic() < deadline:
            for pid in self.processes(number):
                send(pid, signal.SIGKILL)
            time.sleep(0.02)

    def cut(self, number):
        """The cable, silently."""
        others = [other for other in self.started if other != number]
        for other in others:
            self.cut_way(number, other)
            self.cut_way(other, number)

    def cut_way(self, source, target):
        """What the source sends goes to a station that nobody is, so it is lost without a word."""
        shell("ip", "-n", self.name(source), "neigh", "replace", self.address(target), "lladdr",
              NOBODY, "dev", "eth0", "nud", "permanent")
        self.ways.add((source, target))

    def heal(self):
        for source, target in self.ways:
            shell("ip", "-n", self.name(source), "neigh", "del", self.address(target), "dev",
                  "eth0")
        self.ways.clear()

    def close(self):
        for number in self.started:
            self._end_processes(number)
            subprocess.run(["ip", "netns", "del", self.name(number)], capture_output=True,
                           check=False)
        subprocess.run(["ip", "netns", "del", self.switch], capture_output=True, check=False)
        for process in self.plain:
            process.wait(30)
