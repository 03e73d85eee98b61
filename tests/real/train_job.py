"""Jobs that really train, as processes, and what must hold for each of them: the model has the
bits of the one-worker reference, the trace proves each sample, no stable step is lost, nothing is
left over."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PATIENCE = 120.0  # seconds for what takes milliseconds on a machine at rest

PHASES = ["data", "compute", "reduce", "gather", "apply", "ledger", "snapshot", "replay", "promise",
          "handover", "publish", "checkpoint_write", "checkpoint_sync", "checkpoint_rename",
          "checkpoint_record"]

# The fields of contract and documents; each event has all of these.
FIELDS = {
    "started": "job dir workers min max wanted logical_workers batch seed",
    "view": "generation members first_step epoch position batch cause who reason",
    "step": "step epoch position samples loss lr workers generation step_ms samples_per_second "
            "applied digest",
    "metric": "step epoch name value",
    "checkpoint": "step path bytes stall_ms write_ms",
    "worker": "id pid host state reason",
    "warning": "host reason",
    "finished": "steps samples epochs state_hash seconds metrics",
    "failed": "reason",
}
COST = ("pause_ms detect_ms agree_ms transfer_ms resume_ms steps_redone parts_redone "
        "steps_lost").split()
CAUSES = set("start join leave death scale preempt straggler rebalance batch resume".split())
STATES = set("starting joining member leaving spare exited lost".split())
CLASSES = set("left crashed killed preempted oom".split())


class Wrong(AssertionError):
    """What a job must not do; says what was seen."""


class Job:
    """An `edl` command with --json that runs a job, and what it has told so far."""

    def __init__(self, folder, command, environment=None):
        self.command = [str(word) for word in command]
        self.stderr = tempfile.TemporaryFile("w+", dir=folder)
        self.process = subprocess.Popen(self.command, cwd=folder, stdout=subprocess.PIPE,
                                        stderr=self.stderr, text=True, start_new_session=True,
                                        env={**os.environ, **(environment or {})})
        self.events = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def kind(self, kind):
        return [event for event in list(self.events) if event["event"] == kind]

    def wait_for(self, condition, what, after=0, seconds=PATIENCE):
        """The first event from place `after` on for which the condition holds."""
        place = after
        deadline = time.monotonic() + seconds
        while True:
            with self.changed:
                while place == len(self.events):
                    left = deadline - time.monotonic()
                    if left <= 0 or not self.reader.is_alive():
                        raise Wrong(f"{what} did not happen\n{self.account()}")
                    self.changed.wait(min(left, 1))
                event = self.events[place]
            if condition(event):
                return event
            place += 1

    def wait_step(self, step, seconds=PATIENCE):
        return self.wait_for(lambda e: e["event"] == "step" and e["step"] >= step, f"step {step}",
                             seconds=seconds)

    def wait_members(self, count, after=0, seconds=PATIENCE):
        """The second event of a view of so many members: it has taken effect."""
        return self.wait_for(lambda e: e["event"] == "view" and "pause_ms" in e
                             and len(e["members"]) == count, f"a view of {count} members", after,
                             seconds)

    def workers(self):
        """The last event of each worker."""
        return {event["id"]: event for event in self.kind("worker")}

    def alive(self):
        return {w: e["pid"] for w, e in self.workers().items() if e["state"] != "exited"}

    def members(self):
        """Those of the newest view that was told, and have not ended."""
        views = self.kind("view")
        alive = self.alive()
        newest = views[-1]["members"] if views else []
        return {m["id"]: alive[m["id"]] for m in newest if m["id"] in alive}

    def ends(self):
        return {w: e["exit"]["class"] for w, e in self.workers().items() if e["state"] == "exited"}

    def said(self):
        self.stderr.seek(0)
        return self.stderr.read()

    def wait_said(self, words, seconds=PATIENCE):
        """Until it has told people so."""
        deadline = time.monotonic() + seconds
        while words not in self.said():
            if time.monotonic() > deadline:
                raise Wrong(f"{words!r} was not said\n{self.account()}")
            time.sleep(0.01)

    def end(self, seconds=PATIENCE):
        """The exit code; all that was told is in `events` then."""
        self.reader.join(seconds)
        if self.reader.is_alive():
            raise Wrong(f"it did not end within {seconds:.0f} s\n{self.account()}")
        return self.process.wait(PATIENCE)

    def account(self):
        """The last of what was seen, for a failure."""
        lines = [f"command: {' '.join(self.command)}", f"said: {self.said()[-1500:]}"]
        told = [e for e in self.events if e["event"] not in ("step", "metric", "checkpoint")]
        lines += [json.dumps(event)[:400] for event in told[-25:] + self.events[-10:]]
        return "\n".join(lines)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        self.stderr.close()


class Place:
    """A folder with jobs. Every process that works in it is ours, and ends with it."""

    def __init__(self, edl):
        self.edl_path = str(Path(edl).resolve())
        self.folder = tempfile.mkdtemp(prefix="edl-train-")
        self.jobs = []

    def start(self, *words, environment=None):
        job = Job(self.folder, [self.edl_path, *words], environment)
        self.jobs.append(job)
        return job

    def run(self, name, *options, program=("builtin:mlp",), environment=None):
        """`edl run` with a trace of the samples."""
        return self.start("run", "--json", f"--name={name}", f"--trace-samples={name}.trace",
                          *options, *program, environment=environment)

    def resume(self, name, *options, environment=None):
        return self.start("resume", "--json", f"--trace-samples={name}.trace", *options, name,
                          environment=environment)

    def join(self, name, *options, program):
        """A second agent on this machine, with one worker."""
        return self.start("join", "--json", *self.store_of(name, "--store"), f"--job={name}",
                          "--workers=1", f"--dir={name}-guest", "--address=127.0.0.1",
                          f"--secret-file={self.directory(name) / 'secret'}", *options, *program)

    def edl(self, *words, code=0, patience=PATIENCE, environment=None):
        done = subprocess.run([self.edl_path, *words], cwd=self.folder, capture_output=True,
                              text=True, timeout=patience, check=False,
                              env={**os.environ, **(environment or {})})
        if done.returncode != code:
            raise Wrong(f"edl {' '.join(words)} ended with {done.returncode}, not {code}:\n"
                        f"{done.stdout}{done.stderr}")
        return done

    def edl_may_fail(self, *words):
        """Whether it was accepted: a job may end before it hears of what it is asked."""
        return subprocess.run([self.edl_path, *words], cwd=self.folder, capture_output=True,
                              timeout=PATIENCE, check=False).returncode == 0

    def answer(self, *words, code=0):
        return json.loads(self.edl(*words, "--json", code=code).stdout)

    def answers(self, *words):
        return [json.loads(line) for line in self.edl(*words, "--json").stdout.splitlines()]

    def directory(self, name):
        return Path(self.folder) / "edl-jobs" / name

    def store_of(self, name, option="--endpoint"):
        """Options that reach the job's own store; commands have two words for it."""
        run = json.loads((self.directory(name) / "run.json").read_text())
        token = [f"--token-file={run['token_file']}"] if run.get("token_file") else []
        return [f"{option}={','.join(run['store'])}", *token]

    def model(self, name):
        return (self.directory(name) / "model.safetensors").read_bytes()

    def kept_events(self, name):
        text = (self.directory(name) / "events.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def fired(self, name):
        """The faults that struck, as they were given."""
        folder = self.directory(name) / "faults"
        names = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        return {re.sub(r"(@\d+)_", r"\1/", word) for word in names}

    def logs(self, name, lines=12):
        out = []
        for path in sorted((self.directory(name) / "log").glob("*.log")):
            text = path.read_text(errors="replace").splitlines()[-lines:]
            out += [f"-- {path.name}", *(line[:300] for line in text)]
        return "\n".join(out)

    def processes(self):
        """Ours that run (a zombie does not), except this one."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "cwd").startswith(self.folder):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
        return found

    def store_pid(self):
        running = self.processes().items()
        return next((pid for pid, words in running if b"store serve" in words), None)

    def wait_until_empty(self):
        deadline = time.monotonic() + PATIENCE
        while self.processes():
            if time.monotonic() > deadline:
                raise Wrong(f"still running: {self.processes()}")
            time.sleep(0.02)

    def remove(self, name):
        """Of a long run: what a job has left."""
        shutil.rmtree(self.directory(name), ignore_errors=True)
        (Path(self.folder) / f"{name}.trace").unlink(missing_ok=True)
        self.end_jobs()

    def end_jobs(self):
        for job in self.jobs:
            job.close()
        self.jobs.clear()
        deadline = time.monotonic() + PATIENCE
        while self.processes() and time.monotonic() < deadline:
            for pid in self.processes():
                send(pid, signal.SIGKILL)
            time.sleep(0.02)

    def close(self, keep=False):
        self.end_jobs()
        if keep:
            print(f"kept: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def send(pid, number):
    """Whether there was still one to send it to."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def check_fields(events):
    """Each event has the fields that documents promise, with words that they know."""
    for event in events:
        kind = event.get("event")
        if kind not in FIELDS:
            raise Wrong(f"an event of unknown kind: {event}")
        missing = [f for f in [*FIELDS[kind].split(), "time"] if f not in event]
        if kind == "view" and any(f in event for f in COST):
            missing += [f for f in COST if f not in event]
        if missing:
            raise Wrong(f"the event {event} has no {missing}")
        if kind == "view":
            check_view(event)
        if kind == "worker":
            check_worker(event)


def check_view(event):
    if event["cause"] not in CAUSES or not event["reason"] or not event["who"]:
        raise Wrong(f"cause, who or reason of {event}")
    carried = sorted(v for member in event["members"] for v in member["logical"])
    if carried != list(range(len(carried))):
        raise Wrong(f"a logical worker is missing or carried twice: {event}")
    if [member["rank"] for member in event["members"]] != list(range(len(event["members"]))):
        raise Wrong(f"ranks of {event}")


def check_worker(event):
    if event["state"] not in STATES or not event["reason"]:
        raise Wrong(f"state or reason of {event}")
    if event["state"] == "exited":
        end = event.get("exit", {})
        if end.get("class") not in CLASSES or "code" not in end or "signal" not in end:
            raise Wrong(f"exit of {event}")


def check_steps(events, may_be_lost=False):
    """A step never appears twice, except behind a checkpoint after all members were lost."""
    generation = {}
    lost = 0
    for event in events:
        if event.get("steps_lost", 0) == 0:
            continue
        lost += event["steps_lost"]
        if event["cause"] != "resume" or not may_be_lost:
            raise Wrong(f"steps were lost: {event}")
    again = 0
    for event in events:
        if event["event"] != "step":
            continue
        step = event["step"]
        if step in generation:
            again += 1
            if event["generation"] <= generation[step]:
                raise Wrong(f"step {step} was told twice: {event}")
        generation[step] = event["generation"]
    if again > lost:
        raise Wrong(f"{again} steps were told again, {lost} were lost")
    generations = [e["generation"] for e in events if e["event"] == "view" and "pause_ms" not in e]
    if generations != sorted(set(generations)):
        raise Wrong(f"generations of views: {generations}")


def check_finished(place, name, reference, may_be_lost=False):
    """A job that has ended well: bits, proof, events."""
    if place.model(name) != reference:
        raise Wrong(f"the model of {name} has other bits than the reference\n{place.logs(name)}")
    return check_told(place, name, may_be_lost)


def check_told(place, name, may_be_lost=False):
    """Proof and events of a job that finished or was stopped."""
    try:
        # A trace of hours is long.
        place.edl("verify", name, f"--trace={name}.trace", patience=10 * PATIENCE)
    except Wrong as wrong:
        raise Wrong(f"{wrong}\n{place.logs(name)}") from None
    events = place.kept_events(name)
    check_fields(events)
    check_steps(events, may_be_lost)
    if events[-1]["event"] != "finished":
        raise Wrong(f"the last event is {events[-1]}")
    return events
