"""How each peer is started, gets another worker, and loses one."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKERS_MAX = 4
STORE_START_S = 3  # the agent that hosts a rendezvous must be the first
NODE_START_S = 4


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def wait_for_port(port):
    while True:
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


class Launch:
    """One run. Every process of it has its folder in its environment, and ends with it."""

    def __init__(self, run, python, settings):
        self.run, self.python, self.tuned = run, python, settings == "tuned"
        self.bin = Path(python).parent
        self.port = free_port()
        self.units = []  # what was started here: agents, or workers

    def spawn(self, name, *words, **environment):
        with open(self.run.folder / f"{name}.out", "ab") as out:
            unit = subprocess.Popen([str(word) for word in words], cwd=self.run.folder, stdout=out,
                                    stderr=out, stdin=subprocess.DEVNULL,
                                    env={**self.run.environment, **environment})
        self.units.append(unit)
        return unit

    def start(self):
        for i in range(self.run.workers):
            self.unit(i)

    def add(self):
        self.unit(self.run.workers)

    def kill(self, worker):
        """A worker process; `worker` is what it has logged last."""
        os.kill(worker["pid"], signal.SIGKILL)

    def ended(self):
        return all(unit.poll() is not None for unit in self.units)

    def stop(self):
        for unit in self.units:
            if unit.poll() is None:
                unit.terminate()
        time.sleep(0.3)
        for pid in self.run.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for unit in self.units:
            unit.kill()
            unit.wait()


class Edl(Launch):
    """`add` is what a user types."""

    def start(self):
        self.spawn("edl", self.run.edl, "run", f"--workers=1:{WORKERS_MAX}",
                   f"--start={self.run.workers}", "--name=job", f"--python={self.python}",
                   f"--steps={self.run.steps}", HERE / "edl_job.py")

    def add(self):
        self.spawn("scale", self.run.edl, "scale", "job", f"--workers={self.run.workers + 1}")

    def ended(self):
        return self.units[0].poll() is not None


class Torchrun(Launch):
    TUNED = ["--monitor-interval=0.1",
             "--rdzv-conf=last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3"]

    def start(self):
        self.unit(0)
        time.sleep(STORE_START_S)
        for i in range(1, self.run.workers):
            self.unit(i)

    def unit(self, i):
        # With a store that the workers share with the agents, a node that joins ends the job.
        self.spawn(f"agent{i}", self.python, "-m", "torch.distributed.run",
                   f"--nnodes={self.run.workers}:{WORKERS_MAX}", "--nproc-per-node=1",
                   "--max-restarts=100", "--rdzv-backend=c10d", "--rdzv-id=job",
                   f"--rdzv-endpoint=127.0.0.1:{self.port}", "--local-addr=127.0.0.1",
                   *(self.TUNED if self.tuned else []), HERE / "ddp_job.py",
                   TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")


class Torchft(Launch):
    TUNED = ["--join_timeout_ms=1000", "--heartbeat_timeout_ms=500", "--quorum_tick_ms=10"]

    def start(self):
        self.spawn("lighthouse", self.bin / "torchft_lighthouse", "--min_replicas=1",
                   f"--bind=127.0.0.1:{self.port}", *(self.TUNED if self.tuned else []))
        wait_for_port(self.port)
        super().start()

    def unit(self, i):
        self.spawn(f"replica{i}", self.python, HERE / "torchft_job.py",
                   TORCHFT_LIGHTHOUSE=f"http://127.0.0.1:{self.port}", PEERS_REPLICA=f"r{i}",
                   PEERS_RETRIES="100" if self.tuned else "0")

    def ended(self):
        return all(unit.poll() is not None for unit in self.units[1:])


class Horovod(Launch):
    # Names of one host: Horovod bans the host of a worker that died.
    HOSTS = ["localhost", "127.0.0.1", "127.0.1", "127.1"]

    def start(self):
        self.write_hosts(self.run.workers)
        script = self.run.folder / "hosts.sh"
        script.write_text(f"#!/bin/sh\ncat {self.run.folder}/hosts\n")
        script.chmod(0o755)
        limit = {"HOROVOD_GLOO_TIMEOUT_SECONDS": "5"} if self.tuned else {}
        self.spawn("horovodrun", self.bin / "horovodrun", "-np", self.run.workers, "--min-np", 1,
                   "--max-np", WORKERS_MAX, "--host-discovery-script", script, "--gloo",
                   "--network-interface", "lo", self.python, HERE / "horovod_job.py",
                   PATH=f"{self.bin}:{os.environ['PATH']}", **limit)

    def write_hosts(self, count):
        new = self.run.folder / "hosts.new"
        new.write_text("".join(f"{host}:1\n" for host in self.HOSTS[:count]))
        new.replace(self.run.folder / "hosts")

    def add(self):
        self.write_hosts(self.run.workers + 1)


class Dlrover(Launch):
    TUNED = ["--monitor-interval=0.1", "--rdzv-conf=join_timeout=60,lastcall_timeout=1"]

    def start(self):
        self.spawn("master", self.python, "-u", "-m", "dlrover.python.master.main", "--port",
                   self.port, "--node_num", self.run.workers, "--job_name", "job", "--platform",
                   "local")
        wait_for_port(self.port)
        super().start()

    def unit(self, i):
        least = self.run.workers if self.run.event == "none" else 1
        self.spawn(f"agent{i}", self.python, "-m", "dlrover.trainer.torch.elastic_run",
                   f"--nnodes={least}:{WORKERS_MAX}", "--nproc-per-node=1", "--max-restarts=100",
                   *(self.TUNED if self.tuned else []), HERE / "ddp_job.py",
                   DLROVER_MASTER_ADDR=f"127.0.0.1:{self.port}", NODE_RANK=str(i), NODE_ID=str(i),
                   NODE_NUM=str(self.run.workers), WORKER_RANK=str(i), POD_IP="127.0.0.1")

    def ended(self):
        return all(unit.poll() is not None for unit in self.units[1:])


class Ray(Launch):
    QUIET = {"RAY_TRAIN_V2_ENABLED": "1", "RAY_USAGE_STATS_ENABLED": "0",
             "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_memory_usage_threshold": "1.0",
             "RAY_DISABLE_IMPORT_WARNING": "1"}

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.folder = Path(f"/tmp/ray-{os.getpid()}-{self.port}")  # its sockets want a short path

    def start(self):
        for i in range(self.run.workers):
            self.unit(i)
            wait_for_port(self.port)
            time.sleep(NODE_START_S if i == 0 else 1)  # they choose their ports one after the other
        self.driver = self.spawn("driver", self.python, HERE / "ray_job.py",
                                 f"127.0.0.1:{self.port}", "tuned" if self.tuned else "default",
                                 self.run.folder / "kept", **self.QUIET)

    def unit(self, i):
        where = ["--head", f"--port={self.port}", "--include-dashboard=false",
                 f"--temp-dir={self.folder}"] if i == 0 else [f"--address=127.0.0.1:{self.port}"]
        self.spawn(f"node{i}", self.bin / "ray", "start", *where, "--node-ip-address=127.0.0.1",
                   "--num-cpus=1", "--block", "--disable-usage-stats",
                   "--object-store-memory=100000000", **self.QUIET)

    def ended(self):
        return self.driver.poll() is not None

    def stop(self):
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


PEERS = {"edl": Edl, "torchrun": Torchrun, "torchft": Torchft, "horovod": Horovod,
         "dlrover": Dlrover, "ray": Ray}
