#!/usr/bin/python3
"""torchrun's own agents form a group over EDL's store; an agent is killed, with its worker, and the
other one goes on; so it does when the store is killed and started again.
Run as: torchrun_test.py PATH_OF_EDL [unittest options]"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/clusters"))
from embedded import Embedded  # noqa: E402

EDL = "edl"  # argv[1]
SCRIPT = ROOT / "tests/real/torchrun_script.py"
STEPS = 150
PATIENCE = 90.0


class Torchrun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="torchrun-")
        self.log = Path(self.folder.name) / "log"
        self.log.touch()
        self.store = Embedded(EDL, self.folder.name)
        self.store.start()
        self.agents = []

    def tearDown(self):
        for agent in self.agents:
            if agent.poll() is None:
                agent.terminate()  # it takes its workers along
            agent.wait(PATIENCE)
        self.store.stop()
        self.folder.cleanup()

    def start_agent(self):
        out = open(f"{self.folder.name}/agent{len(self.agents)}", "w")
        agent = subprocess.Popen(
            # -r and -t: Debian's torchrun has no defaults that Python 3.11 accepts.
            ["/usr/bin/python3", "-m", "edl.torchrun", "-r", "1", "-t", "1", "--nnodes=1:2",
             "--nproc_per_node=1", "--max_restarts=5", "--monitor_interval=0.1", "--rdzv_id=job",
             "--rdzv_backend=edl", f"--rdzv_endpoint=127.0.0.1:{self.store.servers[0].port}",
             "--rdzv_conf=last_call_timeout=2", f"--log_dir={self.folder.name}/logs",
             SCRIPT, self.log, str(STEPS)],
            cwd=self.folder.name, stdout=out, stderr=subprocess.STDOUT, env={
                **os.environ, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1",
                "GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo"})
        out.close()
        self.agents.append(agent)

    def lines(self):
        """(worker, agent, size, step) of each step that some worker made."""
        return [tuple(map(int, line.split())) for line in self.log.read_text().splitlines()]

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            ended = [agent.returncode for agent in self.agents if agent.poll() not in (None, 0)]
            if time.monotonic() > deadline or ended:
                said = "".join(Path(f"{self.folder.name}/agent{i}").read_text()[-3000:]
                               for i in range(len(self.agents)))
                self.fail(f"{what} did not happen (ended with {ended})\n{said}")
            time.sleep(0.05)

    def test_two_agents_one_dies_the_store_restarts_the_other_ends_well(self):
        self.start_agent()
        self.start_agent()
        self.wait_for(lambda: len([1 for line in self.lines() if line[2] == 2]) > 20,
                      "a group of two")
        victim = self.agents.pop()
        worker = next(pid for pid, agent, *_ in self.lines() if agent == victim.pid)
        victim.kill()
        os.kill(worker, signal.SIGKILL)
        victim.wait(PATIENCE)
        self.store.servers[0].kill()
        self.store.restart(0)
        before = len(self.lines())
        self.wait_for(lambda: [line for line in self.lines()[before:] if line[2] == 1],
                      "a group of one")
        self.wait_for(lambda: self.agents[0].poll() == 0, "the end")
        last = self.lines()[-1]
        self.assertEqual(last[1:], (self.agents[0].pid, 1, STEPS - 1))
        self.assertNotEqual(last[0], worker)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
