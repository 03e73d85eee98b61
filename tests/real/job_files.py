"""A job's directory written from the descriptions of its formats alone: ledgers, views, events,
traces and checkpoints. Nothing of EDL is used, so that both sides must be right."""

import hashlib
import json
import struct
from pathlib import Path

from data_order_test import Order

RECORD = 120


def crc32c(data):
    """Castagnoli, reflected, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Record:
    """One line of a ledger, before it is chained."""

    def __init__(self, step, epoch, position, samples, generation=1, applied=True):
        self.step, self.epoch, self.position, self.samples = step, epoch, position, samples
        self.generation, self.applied = generation, applied
        self.digest = hashlib.sha256(f"gradients of {step}".encode()).digest()

    def encode(self, chain_before):
        head = b"EDL1" + struct.pack("<I5Q", int(self.applied), self.generation, self.step,
                                     self.epoch, self.position, self.samples) + self.digest
        chain = hashlib.sha256(chain_before + head).digest()
        body = head + chain + bytes(4)
        return body + struct.pack("<I", crc32c(body)), chain


def encode_ledger(records):
    """All lines; a line that comes again is chained behind the step before its own."""
    chains, out = {0: bytes(32)}, b""
    for record in records:
        line, chains[record.step] = record.encode(chains[record.step - 1])
        out += line
    return out


def train(samples, batches):
    """Records of the steps that these batches (one for each step) make."""
    records, epoch, position = [], 0, 0
    for step, batch in enumerate(batches, 1):
        taken = min(batch, samples - position)
        records.append(Record(step, epoch, position, taken))
        position += taken
        if position == samples:
            epoch, position = epoch + 1, 0
    return records


def part_sizes(samples, parts):
    return [samples // parts + (v < samples % parts) for v in range(parts)]


def view(generation, ids, first, batch, parts):
    """A view in which the members carry the logical workers in turn."""
    members = [{"id": id_, "rank": rank, "address": "127.0.0.1:1", "host": "here",
                "logical": list(range(rank, parts, len(ids)))} for rank, id_ in enumerate(ids)]
    micro = -(-batch // parts)
    return {"generation": generation, "members": members, "first_step": first.step,
            "epoch": first.epoch, "position": first.position,
            "batch": {"policy": "linear", "global": batch, "micro": micro, "accumulate": 1},
            "cause": "start" if generation == 1 else "death", "who": ids[0],
            "reason": "a member died" if generation > 1 else "the job begins"}


def safetensors(tensors):
    """{name: (dtype, shape, bytes)} in the canonical form."""
    header, body = {}, b""
    for name in sorted(tensors):
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def state_hash(model, optimizer, place):
    """`place`: epoch, position, step."""
    entries = {f"model/{name}": tensor for name, tensor in model.items()}
    entries.update({f"optimizer/{name}": tensor for name, tensor in optimizer.items()})
    entries["position"] = ("I64", [3], struct.pack("<3q", *place))
    digest = hashlib.sha256()
    for name in sorted(entries):
        dtype, shape, data = entries[name]
        digest.update(f"{name}\n{dtype}\n{','.join(map(str, shape))}\n".encode() + data)
    return digest.hexdigest()


class Job:
    """A job's directory, made as an honest job would leave it."""
    samples, seed, parts = 103, 18446744073709551615, 4

    def __init__(self, path):
        self.path = Path(path)
        (self.path / "ledger").mkdir(parents=True)
        batch = {"policy": "linear", "global": 10, "micro": 3, "accumulate": 1}
        self.job = {"schema": 1, "name": "honest", "program": "builtin:mlp", "args": [],
                    "seed": self.seed, "logical_workers": self.parts, "samples": self.samples,
                    "batch": batch, "epochs": 3, "steps": None, "spec": {}, "fingerprint": "f"}
        self.write_job()
        # Ten samples a step; from step 8 on, after a death, seven.
        self.records = train(self.samples, [10] * 7 + [7] * 12)
        for record in self.records[7:]:
            record.generation = 2
        self.ledger("w-1", self.records[:7])
        self.ledger("w-2", self.records)
        self.views = [view(1, ["w-1", "w-2"], self.records[0], 10, self.parts),
                      view(2, ["w-2"], self.records[7], 7, self.parts)]
        self.lines("ledger/w-2.views", self.views)

    def write_job(self):
        (self.path / "job.json").write_text(json.dumps(self.job), encoding="utf-8")

    def ledger(self, owner, records):
        (self.path / f"ledger/{owner}.ledger").write_bytes(encode_ledger(records))

    def lines(self, name, objects):
        text = "".join(json.dumps(entry) + "\n" for entry in objects)
        (self.path / name).write_text(text, encoding="utf-8")

    def part_lists(self, record):
        """The samples of each part of a step."""
        order = Order(self.samples, self.seed, record.epoch)
        lists, at = [], record.position
        for size in part_sizes(record.samples, self.parts):
            lists.append([order.at(p) for p in range(at, at + size)])
            at += size
        return lists

    def trace(self):
        """What every worker would have written."""
        return [{"step": record.step, "epoch": record.epoch, "v": v,
                 "generation": record.generation, "worker": "w-2", "indices": indices}
                for record in self.records
                for v, indices in enumerate(self.part_lists(record))]

    def checkpoint(self, step, model, optimizer):
        """Answers its folder and the hash of its state."""
        folder = self.path / "checkpoints" / str(step)
        folder.mkdir(parents=True)
        last = self.records[step - 1]
        place = (last.epoch, last.position + last.samples, step)
        state = {"step": step, "epoch": place[0], "position": place[1], "seed": self.seed,
                 "logical_workers": self.parts, "batch": self.job["batch"], "lr_factor": 1.0,
                 "ramp": {"from": 1.0, "to": 1.0, "t0": 0, "steps": 0}, "scaler": None,
                 "schedule": {}, "user": {"best": 0.5}, "generation": 1, "fingerprint": "f"}
        files = {"model.safetensors": safetensors(model),
                 "optimizer.safetensors": safetensors(optimizer),
                 "state.json": json.dumps(state).encode()}
        manifest = {"schema": 1, "step": step, "files": []}
        for name, data in files.items():
            (folder / name).write_bytes(data)
            manifest["files"].append({"name": name, "bytes": len(data),
                                      "sha256": hashlib.sha256(data).hexdigest()})
        (folder / "MANIFEST.json").write_text(json.dumps(manifest), encoding="utf-8")
        return folder, state_hash(model, optimizer, place)
