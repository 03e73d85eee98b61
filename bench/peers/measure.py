"""What the lines that workers wrote say about a run."""

import json
from statistics import median

WARM_UP = 5  # a fifth of the steps is left out where speed is measured


def read(folder):
    """All lines in the order of their times; one that is half written is not there yet."""
    lines = []
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
    return sorted(lines, key=lambda line: line["time"])


def steps_of(lines):
    return [line for line in lines if line["event"] == "step"]


def newest(lines, world):
    """The last line of each worker of a group of this size that goes on now."""
    steps = steps_of(lines)
    last = {line["pid"]: line for line in steps}
    top = max((line["step"] for line in steps), default=0)
    return [line for line in last.values() if line["world"] == world and line["step"] >= top - 1]


def speed(lines, world):
    """Steps a second, of the first worker that made the last one."""
    steps = [line for line in steps_of(lines) if line["world"] == world]
    mine = [line["time"] for line in steps if line["pid"] == steps[-1]["pid"]] if steps else []
    mine = mine[len(mine) // WARM_UP:]
    if len(mine) < 3:
        return None
    return (len(mine) - 1) / (mine[-1] - mine[0])


def event_costs(lines, at, world):
    """`pause_s`: the longest time without any step; `stall_s`: without a step that was not made
    before; `new_world_s`: from the event to the first step of another number of workers;
    `steps_redone`. `at` is when the event was caused, `world` the number of workers then."""
    steps = steps_of(lines)
    before = [line["time"] for line in steps if line["time"] <= at]
    after = [line for line in steps if line["time"] > at]
    if not before or not after:
        return {}
    top = max(line["step"] for line in steps if line["time"] <= at)
    pause, stall, redone = 0.0, 0.0, 0
    last = moved = before[-1]
    for line in after:
        if line["time"] - last > pause:
            pause, redone = line["time"] - last, max(0, top - line["step"] + 1)
        last = line["time"]
        if line["step"] > top:
            stall, moved, top = max(stall, line["time"] - moved), line["time"], line["step"]
    changed = [line for line in after if line["world"] != world]
    return {"pause_s": round(pause, 3), "stall_s": round(stall, 3), "steps_redone": redone,
            "new_world_s": round(changed[0]["time"] - at, 3) if changed else None,
            "world_after": steps[-1]["world"]}


def digests(lines):
    return sorted({line["digest"] for line in lines if line["event"] == "done"})


def medians(rows, fields):
    """Over the rounds; the range beside it where there is one."""
    found = {}
    for field in fields:
        values = [row[field] for row in rows if row.get(field) is not None]
        if values:
            found[field] = round(median(values), 3)
            found[f"{field}_range"] = [min(values), max(values)]
    return found
