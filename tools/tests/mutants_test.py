#!/usr/bin/python3
"""tools/mutants on a tree of one small program: each verdict, the share, and the wrong patches."""

import difflib
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(fake LANGUAGES CXX)
enable_testing()
add_custom_target(tests)
add_executable(sum_test sum.cc)
add_dependencies(tests sum_test)
add_test(NAME sum_test COMMAND sum_test)
add_test(NAME sum_again_test COMMAND sum_test)
add_test(NAME seeds_test COMMAND sh -c "test x$EDL_SEEDS = x7 && $<TARGET_FILE:sum_test>")
add_test(NAME skipped_test COMMAND sh -c "exit 77")
set_tests_properties(skipped_test PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME red_test COMMAND sh -c "exit 1")
add_test(NAME quiet_test COMMAND sh -c "exit 0")
set_tests_properties(sum_test PROPERTIES TIMEOUT 1)
"""
PRESETS = """{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja",
"binaryDir": "${sourceDir}/build/release", "cacheVariables": {"CMAKE_CXX_COMPILER": "g++"}}]}
"""
SUM = """int sum(int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += i;
  return total;
}

int main() { return sum(4) == 6 ? 0 : 1; }
"""


def patch(old, new, test, bug="the sum is wrong", more=""):
    diff = difflib.unified_diff(SUM.splitlines(True), SUM.replace(old, new).splitlines(True),
                                "a/sum.cc", "b/sum.cc")
    return f"# bug: {bug}\n# test: {test}\n{more}{''.join(diff)}"


LOOP = "  for (int i = 0; i < count; ++i) total += i;"
RETURN = "  return total;"
WRONG = LOOP.replace("i < count", "i <= count")


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # One tree for all: what one test leaves in the build must not reach the next.
        cls.folder = tempfile.TemporaryDirectory(prefix="mutants_test.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = Path(cls.folder.name)
        for path, text in (("CMakeLists.txt", CMAKE), ("CMakePresets.json", PRESETS),
                           ("sum.cc", SUM), (".gitignore", "/build/\n")):
            (cls.root / path).write_text(text)
        (cls.root / "tools").mkdir()
        for name in ("mutants", "tree.py"):
            shutil.copy(TOOLS / name, cls.root / "tools")

    def setUp(self):
        shutil.rmtree(self.root / "tests/mutants", ignore_errors=True)
        (self.root / "tests/mutants").mkdir(parents=True)
        (self.root / "sum.cc").write_text(SUM)

    def plant(self, name, text):
        (self.root / f"tests/mutants/{name}.patch").write_text(text)

    def mutants(self, *arguments):
        done = subprocess.run([self.root / "tools/mutants", *arguments], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def assert_verdicts(self, out, **verdicts):
        for name, verdict in verdicts.items():
            self.assertRegex(out, rf"(?m)^{name} +{verdict}", out)

    def test_found_survived_and_broken(self):
        self.plant("off_by_one", patch(LOOP, WRONG, "sum_test"))
        self.plant("harmless", patch(RETURN, "  return total + 0;", "sum_test"))
        self.plant("endless", patch(LOOP, "  for (;;) asm(\"\");", "sum_test"))
        self.plant("no_compile", patch(RETURN, "  return nothing;", "sum_test"))
        status, out, err = self.mutants()
        self.assertEqual(status, 1, err)
        self.assert_verdicts(out, off_by_one="found +sum_test +[0-9.]+", harmless="SURVIVED",
                             endless=r"found +sum_test \(timeout\)", no_compile="broken")
        self.assertIn("sum_test passes although the sum is wrong", out)
        self.assertIn("does not compile", out)
        self.assertTrue(out.endswith("\n2 passed, 2 failed\n"), out)

        self.assertEqual((self.root / "sum.cc").read_text(), SUM)
        status, out, _ = self.mutants("off_by_one")
        self.assertEqual((status, out.splitlines()[-1]), (0, "1 passed, 0 failed"))

    def test_each_named_test_must_fail_and_seeds_reach_it(self):
        self.plant("seeded", patch(LOOP, WRONG, "seeds_test", more="# seeds: 7\n"))
        self.plant("unseeded", patch(LOOP, WRONG, "seeds_test"))
        self.plant("two", patch(LOOP, WRONG, "sum_test\n# test: sum_again"))
        self.plant("group", patch(LOOP, WRONG, "^sum_"))
        self.plant("half", patch(LOOP, WRONG, "sum_test\n# test: quiet_test"))
        status, out, err = self.mutants()
        self.assertEqual(status, 1, err)
        self.assert_verdicts(out, seeded="found +seeds_test", unseeded="broken",
                             two="found +sum_test, sum_again_test", group="found +sum_",
                             half="SURVIVED")
        self.assertIn("quiet_test passes although", out)
        self.assertIn("seeds_test does not pass without the bug", out)
        self.assertTrue(out.endswith("\n3 passed, 2 failed\n"), out)

    def test_what_proves_nothing_is_broken(self):
        self.plant("red", patch(LOOP, WRONG, "red_test"))
        self.plant("skipped", patch(LOOP, WRONG, "skipped_test"))
        self.plant("unknown", patch(LOOP, WRONG, "no_such_test"))
        self.plant("stale", patch(RETURN, "  return 1;", "sum_test").replace("-  return total",
                                                                              "-  return sum"))
        self.plant("no_bug", patch(RETURN, "  return 1;", "sum_test").split("\n", 1)[1])
        self.plant("typo", patch(RETURN, "  return 1;", "sum_test", more="# seed: 3\n"))
        two = patch(RETURN, "  return 1;", "sum_test")
        self.plant("two_files", two + "--- a/b.cc\n+++ b/b.cc\n@@ -1 +1 @@\n-a\n+b\n")
        status, out, err = self.mutants()
        self.assertEqual(status, 1, err)
        self.assertEqual(len(re.findall(r"(?m)^\w+ +broken", out)), 7, out)
        for sentence in ("red_test does not pass without the bug (Failed)",
                         "skipped_test does not pass without the bug (Skipped)",
                         "no test is called no_such_test", "no longer applies to sum.cc",
                         "it needs one line `# bug:", 'the line "# seed: 3" is none of',
                         "its diff changes 2 files"):
            self.assertIn(sentence, out)
        self.assertTrue(out.endswith("\n0 passed, 7 failed\n"), out)

    def test_an_interrupted_mutant_leaves_nothing_behind(self):
        self.plant("off_by_one", patch(LOOP, WRONG, "sum_test"))
        self.assertEqual(self.mutants()[0], 0)
        copy = self.root / "build/mutants/tree/sum.cc"
        copy.write_text(SUM.replace(LOOP, WRONG))
        untouched = (self.root / "build/mutants/tree/CMakeLists.txt").stat().st_mtime_ns
        self.assertEqual(self.mutants()[0], 0)
        self.assertEqual(copy.read_text(), SUM)
        self.assertEqual((copy.parent / "CMakeLists.txt").stat().st_mtime_ns, untouched)

    def test_a_budget_runs_a_share_and_names_the_rest(self):
        for name in ("a", "b", "c"):
            self.plant(name, patch(LOOP, WRONG, "sum_test"))
        self.plant("stale", patch(RETURN, "  return 1;", "sum_test").replace("-  return total",
                                                                              "-  return sum"))
        status, out, _ = self.mutants("--budget=0")
        self.assertEqual(status, 1, out)  # what no longer applies fails in every share
        self.assertRegex(out, r"(?m)^left for another time: [abc] [abc]$")
        self.assertTrue(out.endswith("\n1 passed, 1 failed\n"), out)

    def test_usage(self):
        status, out, _ = self.mutants()
        self.assertEqual((status, "there are none" in out), (1, True))
        self.plant("a", patch(LOOP, WRONG, "sum_test", bug="one too many"))
        status, out, _ = self.mutants("--list")
        self.assertEqual((status, out), (0, "a: one too many\n    sum.cc; test: sum_test\n"))
        status, _, err = self.mutants("nonsense")
        self.assertEqual((status, "no tests/mutants/nonsense.patch" in err), (2, True))
        self.assertEqual(self.mutants("--budget=soon")[0], 2)


if __name__ == "__main__":
    os.environ.pop("EDL_SEEDS", None)
    unittest.main()
