#!/usr/bin/python3
"""The program `edl` from outside: the order of samples against an implementation of its own, and
how the command line behaves. Run as: data_order_test.py PATH_OF_EDL [unittest options]"""

import json
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

EDL = "edl"  # argv[1]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"
WORD = (1 << 64) - 1


def mix(x):
    """splitmix64's finaliser of x + the golden ratio."""
    z = (x + 0x9E3779B97F4A7C15) & WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


class Order:
    """The formula of docs/reference/data-order.md, as it stands there."""

    def __init__(self, samples, seed, epoch):
        bits = max(2, (samples - 1).bit_length())
        self.samples = samples
        self.half = (bits + 1) // 2
        self.mask = (1 << self.half) - 1
        self.keys = [mix(seed ^ mix(8 * epoch + r & WORD)) for r in range(6)]

    def at(self, position):
        x = position
        while True:
            left, right = x >> self.half, x & self.mask
            for key in self.keys:
                left, right = right, left ^ (mix(right ^ key) & self.mask)
            x = left << self.half | right
            if x < self.samples:
                return x


class TabledOrder(Order):
    """The same for small data sets, with the rounds looked up instead of computed."""

    def __init__(self, samples, seed, epoch):
        super().__init__(samples, seed, epoch)
        self.rounds = [[mix(right ^ key) & self.mask for right in range(self.mask + 1)]
                       for key in self.keys]

    def at(self, position):
        x = position
        while True:
            left, right = x >> self.half, x & self.mask
            for table in self.rounds:
                left, right = right, left ^ table[right]
            x = left << self.half | right
            if x < self.samples:
                return x


def edl(*arguments, **options):
    return subprocess.run([EDL, *arguments], capture_output=True, text=True, check=False, **options)


def listed(samples, seed, epoch, start, end):
    """What the program says, alternately as JSON and as lines."""
    form = ["--json"] if samples % 2 else []
    done = edl("data", "order", f"--samples={samples}", f"--seed={seed}", f"--epoch={epoch}",
               f"--from={start}", f"--to={end}", *form)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["indices"] if form else [int(x) for x in done.stdout.split()]


class OrderTest(unittest.TestCase):
    def compare(self, order_type, samples, seed, epoch, window):
        order = order_type(samples, seed, epoch)
        expected = [order.at(position) for position in range(*window)]
        self.assertEqual(listed(samples, seed, epoch, *window), expected,
                         f"{samples} samples, seed {seed}, epoch {epoch}, positions {window}")

    def test_the_two_implementations_here_agree(self):
        for samples in (1, 2, 3, 4, 5, 16, 17, 1000):
            slow, fast = Order(samples, 3, 1), TabledOrder(samples, 3, 1)
            self.assertEqual([slow.at(p) for p in range(samples)],
                             [fast.at(p) for p in range(samples)])

    def test_every_data_set_up_to_2000_samples(self):
        dice = random.Random(1)
        for samples in range(1, 2001):
            seed, epoch = dice.getrandbits(64), dice.randrange(4)
            order = TabledOrder(samples, seed, epoch)
            indices = listed(samples, seed, epoch, 0, samples)
            self.assertEqual(indices, [order.at(p) for p in range(samples)], f"{samples} samples")
            self.assertEqual(sorted(indices), list(range(samples)), f"{samples} samples")

    def test_200_random_data_sets_up_to_a_million_samples(self):
        dice = random.Random(2)
        for _ in range(200):
            samples = dice.randrange(2001, 1_000_001)
            start = dice.randrange(samples - 1000)
            window = (0, samples) if samples < 20_000 else (start, start + 1000)
            self.compare(TabledOrder, samples, dice.getrandbits(64), dice.randrange(100), window)

    def test_windows_of_very_large_data_sets(self):
        dice = random.Random(3)
        for samples in (10**9, 10**12 - 1, 10**12, 10**12 + 1, 1 << 62, (1 << 63) - 1, 1 << 63):
            for start in (0, samples // 2, samples - 100):
                self.compare(Order, samples, dice.getrandbits(64), 3, (start, start + 100))

    def test_largest_seeds_and_epochs(self):
        for seed in (0, 1, WORD):
            for epoch in (0, 1, WORD // 8, WORD):
                self.compare(Order, 1000, seed, epoch, (0, 50))

    def test_what_is_not_given_has_a_default(self):
        self.assertEqual(edl("data", "order", "--samples=50").stdout.split(),
                         [str(x) for x in listed(50, 0, 0, 0, 50)])

    def test_an_empty_range_is_an_empty_list(self):
        done = edl("data", "order", "--samples=10", "--from=10", "--json")
        self.assertEqual((done.returncode, done.stdout), (0, '{"indices":[]}\n'))


class CommandLineTest(unittest.TestCase):
    def refused(self, exit_code, sentence, *arguments):
        done = edl(*arguments)
        self.assertEqual(done.returncode, exit_code, arguments)
        self.assertEqual(done.stdout, "", arguments)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_version_and_help_are_answers(self):
        self.assertEqual(edl("--version").stdout, "edl 0.1.0\n")
        for command in ([], ["data"], ["data", "order"], ["completion"], ["completion", "bash"]):
            done = edl(*command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"Examples?:\n  edl \w+")

    def test_both_ways_to_write_an_option(self):
        joined = edl("data", "order", "--samples=100", "--seed=5", "--to=3")
        apart = edl("data", "order", "--samples", "100", "--seed", "5", "--to", "3")
        self.assertEqual((joined.returncode, joined.stdout), (apart.returncode, apart.stdout))
        self.assertEqual(len(joined.stdout.split()), 3)

    def test_wrong_usage_ends_with_2(self):
        self.refused(2, "edl: a command is missing: one of ")
        self.refused(2, "edl data: a command is missing: one of order, step, fetch and cache",
                     "data")
        self.refused(2, "--samples is required", "data", "order")
        self.refused(2, "--samples takes exactly one value", "data", "order", "--samples")
        self.refused(2, '"x" is one word too many', "data", "order", "--samples=3", "x")
        for wrong in ("x", "", "-1", "1e3", "0x10", "1.5", "18446744073709551616", " 1"):
            self.refused(2, "", "data", "order", "--samples=10", f"--seed={wrong}")

    def test_says_what_was_probably_meant(self):
        self.refused(2, 'there is no command "daat", did you mean data?', "daat")
        self.refused(2, "did you mean order?", "data", "ordr", "--samples=3")
        self.refused(2, "there is no option --sample, did you mean --samples?",
                     "data", "order", "--sample=3")
        self.refused(2, "there is no option --versoin, did you mean --version?", "--versoin")
        self.refused(2, 'there is no command "frobnicate" (see', "frobnicate")

    def test_impossible_ranges_end_with_1(self):
        self.refused(1, "cannot list positions from 5 to 4 of 10 samples",
                     "data", "order", "--samples=10", "--from=5", "--to=4")
        self.refused(1, "from 0 to 11 of 10 samples", "data", "order", "--samples=10", "--to=11")
        self.refused(1, "cannot have 0 samples", "data", "order", "--samples=0")
        self.refused(1, "samples: use 1 to", "data", "order", f"--samples={(1 << 63) + 1}")

    def test_json_is_one_object_on_one_line(self):
        done = edl("data", "order", "--samples=100000", "--json")
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertEqual(list(json.loads(done.stdout)), ["indices"])


class StreamTest(unittest.TestCase):
    ENDLESS = ["data", "order", "--samples=1000000000000"]

    def first_line(self, **options):
        with subprocess.Popen([EDL, *self.ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, **options) as process:
            line = process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.stderr.read(), "")
            self.assertEqual(int(line), Order(10**12, 0, 0).at(0))
            return process.wait(timeout=20)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        self.assertIn(self.first_line(), (0, -signal.SIGPIPE))

    def test_also_where_broken_pipes_send_no_signal(self):
        def ignore():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self.assertEqual(self.first_line(restore_signals=False, preexec_fn=ignore), 0)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([EDL, "data", "order", "--samples=10"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write the answer: No space left on device", done.stderr)


class CompletionTest(unittest.TestCase):
    def complete_in_bash(self, *words):
        """What bash offers for the last of these words."""
        script = edl("completion", "bash").stdout
        line = " ".join(shlex.quote(word) for word in words)
        ask = f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _edl; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            script = edl("completion", shell).stdout
            self.assertIn("--samples" if shell != "fish" else "-l samples", script)
            if shutil.which(shell) is None:
                print(f"NOT TESTED: {shell} is not on this machine", file=sys.stderr)
                continue
            subprocess.run([shell, "-n"], input=script, text=True, check=True)

    def test_bash_offers_what_can_follow(self):
        self.assertLess({"data", "completion", "--help"}, set(self.complete_in_bash("edl", "")))
        self.assertEqual(self.complete_in_bash("edl", "data", "o"), ["order"])
        self.assertEqual(self.complete_in_bash("edl", "data", "order", "--s"),
                         ["--samples=", "--seed="])
        self.assertEqual(self.complete_in_bash("edl", "completion", "z"), ["zsh"])

    def test_every_command_and_option_of_the_help_is_offered(self):
        def walk(path):
            text = edl(*path, "--help").stdout
            offered = {word.rstrip("=") for word in self.complete_in_bash("edl", *path, "")}
            commands = re.findall(r"^  ([a-z][\w-]*) {2,}", text, re.MULTILINE)
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE)
            self.assertEqual(offered, {*commands, *options}, path)
            for command in commands:
                walk([*path, command])
        walk([])


class DocumentTest(unittest.TestCase):
    def examples(self, name):
        """(command, what follows it) of the console blocks of a document. What needs a store is
        checked by store_commands_test."""
        text = (DOCS / name).read_text(encoding="utf-8")
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            if "edl store" in block:
                continue
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = example.partition("\n")
                yield command, output

    def run_examples(self, name):
        count = 0
        for command, output in self.examples(name):
            script = f'edl() {{ {shlex.quote(EDL)} "$@"; }}; {command}'
            done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.stdout, output, f"{name}: {command}")
            count += 1
        self.assertGreater(count, 0, name)

    def test_the_examples_of_data_order_are_true(self):
        self.run_examples("data-order.md")

    def test_the_examples_of_cli_are_true(self):
        self.run_examples("cli.md")

    def test_the_golden_values_are_true(self):
        text = (DOCS / "data-order.md").read_text(encoding="utf-8")
        row = r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d ]+) \|$"
        rows = re.findall(row, text, re.MULTILINE)
        self.assertGreater(len(rows), 4)
        for samples, seed, epoch, start, indices in rows:
            order = Order(int(samples), int(seed), int(epoch))
            wanted = [int(x) for x in indices.split()]
            self.assertEqual([order.at(int(start) + i) for i in range(len(wanted))], wanted)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: data_order_test.py PATH_OF_EDL [unittest options]")
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
