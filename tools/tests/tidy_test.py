#!/usr/bin/python3
"""Plants each kind of finding in a small tree; tools/tidy must find it, and nothing else."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent
ROOT = TOOLS.parent
sys.path.insert(0, str(TOOLS))
from tidy_checks import (banned, commits, cpp_text, formatting, layers, lint,  # noqa: E402
                         markdown, mutants, names, scripts, sizes)
from tree import Tree  # noqa: E402

HEADER = "// What it is.\n#pragma once\n\nnamespace edl {\n\nint answer();\n\n}  // namespace edl\n"
SOURCE = ('#include "edl/base/answer.h"\n\nnamespace edl {\n\nint answer() { return 42; }\n\n'
          "}  // namespace edl\n")


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tidy_test.")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.plant(".gitignore", "/build/\n__pycache__/\n")
        self.plant("LAYERS", "# bottom first\nbase\nos model\nwire\ncli\n")
        self.plant("edl/base/answer.h", HEADER)
        self.plant("edl/base/answer.cc", SOURCE)

    def plant(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def git(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        environment["GIT_CONFIG_GLOBAL"] = os.devnull
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c",
                        "init.defaultBranch=main", *arguments], cwd=self.root, env=environment,
                       check=True, capture_output=True)

    def commit(self, subject):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def found(self, check):
        return [str(finding) for finding in check(Tree(self.root))]

    def assert_found(self, check, *starts):
        """Exactly these findings: each begins with the place, then ` ` and words of its message."""
        found = self.found(check)
        self.assertEqual(len(found), len(starts), found)
        for start in starts:
            place, _, words = start.partition(" ")
            self.assertTrue(any(line.startswith(place) and words in line for line in found),
                            f"{start!r} is not among {found}")


class CppText(unittest.TestCase):
    def test_strings_and_comments_are_not_code(self):
        code = cpp_text.code_only('a = "throw"; // throw\n/* throw\n throw */ b = R"x(throw)")x";\n'
                                  "c = 1'000; d = '\"'; e = 'throw';\nthrow;\n")
        self.assertEqual(code.count("throw"), 1)
        self.assertEqual(cpp_text.line_of(code, code.index("throw")), 5)
        self.assertIn("1'000", code)

    def test_includes_in_comments_do_not_count(self):
        found = cpp_text.includes('#include <a>\n// #include "b"\n  # include "c/d.h"  // e\n')
        self.assertEqual(found, [(1, "<", "a"), (3, '"', "c/d.h")])


class Files(TreeTest):
    def test_ignored_and_deleted_files_are_not_ours(self):
        self.git("init", "-q")
        self.plant("build/x.cc", "")
        self.commit("base: begins")
        self.plant("edl/base/new.cc", "")
        (self.root / "edl/base/answer.h").unlink()
        self.assertEqual(Tree(self.root).cpp, ["edl/base/answer.cc", "edl/base/new.cc"])

    def test_without_git_the_folder_is_walked(self):
        self.plant("build/x.cc", "")
        self.assertEqual(Tree(self.root).cpp, ["edl/base/answer.cc", "edl/base/answer.h"])


class Formatting(TreeTest):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / ".clang-format", self.root)

    def test_finds_and_rewrites(self):
        self.assert_found(formatting.check)
        self.plant("edl/base/answer.cc", SOURCE.replace("{ return", "{return"))
        self.assert_found(formatting.check, "edl/base/answer.cc:5: make format")
        self.assertEqual(formatting.rewrite(Tree(self.root)), ["edl/base/answer.cc"])
        self.assertEqual((self.root / "edl/base/answer.cc").read_text(), SOURCE)
        self.assert_found(formatting.check)


class Layers(TreeTest):
    def include(self, path, target):
        self.plant(path, f'\n#include "{target}"\n')

    def test_down_and_within_a_room_is_allowed(self):
        self.include("edl/wire/a.cc", "edl/base/answer.h")
        self.include("edl/wire/b.cc", "edl/wire/a.h")
        self.include("tests/world/a.cc", "edl/os/virtual/world.h")
        self.include("edl/cli/a.cc", "edl/os/posix/system.h")
        self.include("edl/wire/main.cc", "edl/os/posix/system.h")
        self.include("edl/wire/wire_test.cc", "edl/os/virtual/world.h")
        self.assert_found(layers.check)

    def test_up_is_found(self):
        self.include("edl/base/a.cc", "edl/wire/frame.h")
        self.assert_found(layers.check, 'edl/base/a.cc:2: "base" may not include "wire"')

    def test_sideways_is_found(self):
        self.include("edl/os/a.cc", "edl/model/view.h")
        self.assert_found(layers.check, 'edl/os/a.cc:2: "os" may not include "model"')

    def test_unknown_rooms_are_found(self):
        self.plant("edl/attic/a.cc", "")
        self.include("edl/wire/a.cc", "edl/cellar/a.h")
        self.assert_found(layers.check, 'edl/attic/a.cc:1: "attic" is not in LAYERS',
                          'edl/wire/a.cc:2: "cellar" is not in LAYERS')

    def test_edl_includes_nothing_from_beside_it(self):
        self.include("edl/wire/a.cc", "tests/world/checker.h")
        self.assert_found(layers.check, "edl/wire/a.cc:2: nothing of tests/")

    def test_only_some_see_behind_the_door(self):
        self.include("edl/wire/a.cc", "edl/os/posix/system.h")
        self.include("edl/wire/wire_test.cc", "edl/os/posix/system.h")
        self.assert_found(layers.check, "edl/wire/a.cc:2: behind the door",
                          "edl/wire/wire_test.cc:2: behind the door")

    def test_includes_are_written_from_the_root(self):
        self.include("edl/base/b.cc", "answer.h")
        self.assert_found(layers.check, 'edl/base/b.cc:2: "edl/base/answer.h"')


class Banned(TreeTest):
    def assert_banned(self, code, path="edl/wire/a.cc", lines=1):
        self.plant(path, f"\n{code}\n")
        found = self.found(banned.check)
        self.assertEqual({line.split(" ")[0] for line in found},
                         {f"{path}:2:"} if lines else set(), f"{code} gives {found}")
        (self.root / path).unlink()

    def assert_allowed(self, code, path="edl/wire/a.cc"):
        self.assert_banned(code, path, lines=0)

    def test_calls_around_the_door(self):
        for code in ("std::thread t;", "std::jthread t;", "pthread_create(&t, 0, f, 0);",
                     "auto f = std::async(g);", "std::mutex m;", "std::atomic<int> n;",
                     "std::condition_variable c;", "sleep(1);", "usleep(1);", "nanosleep(&a, 0);",
                     "std::this_thread::sleep_for(1s);", "auto t = steady_clock::now();",
                     "std::chrono::system_clock::now();", "std::chrono::high_resolution_clock c;",
                     "x = time(nullptr);", "x = std::time(0);", "gettimeofday(&t, 0);",
                     "clock_gettime(0, &t);", 'std::getenv("A");', 'setenv("A", "b", 1);',
                     "exit(1);", "return _exit(1);", "if (x) std::abort();", "::quick_exit(0);",
                     'fopen("a", "r");', 'open("a", O_RDONLY);', '::open("a", 0);',
                     "socket(AF_INET, 0, 0);", "if (fork() == 0) f();", 'system("ls");',
                     "std::ofstream f;", "std::filesystem::path p;", "#include <thread>",
                     "#include <unistd.h>", "#include <sys/socket.h>", "#include <boost/asio.hpp>"):
            self.assert_banned(code)
            self.assert_allowed(code, "edl/os/posix/a.cc")

    def test_calls_that_are_nowhere_allowed(self):
        for code in ("throw 1;", "std::random_device d;", "int x = rand();", "srand(1);",
                     "std::uniform_int_distribution<> d;", "std::shuffle(a, b, c);"):
            for path in ("edl/wire/a.cc", "edl/os/a.cc", "tests/real/a.cc", "edl/cli/main.cc"):
                self.assert_banned(code, path)

    def test_what_only_looks_like_it(self):
        for code in ("// sleep(1)", 'f("throw");', "link->abort();", "link.open(path);",
                     "void abort() override;", "Random fork() { return next(); }",
                     "void Link::abort() {", "Result<File> open(Path p);", "Time time() const;",
                     "os::System& system() { return *system_; }", "system().now();",
                     "std::snprintf(b, 1, a);", "std::steady_clock_like x;", "throwing();",
                     "at_exit(1);", "#include <boost/asio/buffer.hpp>", "step.time(0);"):
            self.assert_allowed(code)

    def test_who_may(self):
        self.assert_allowed('std::getenv("A"); exit(1); std::cout << 1;', "edl/cli/main.cc")
        self.assert_allowed('std::getenv("A");', "examples/lock/world_main.cc")
        self.assert_banned('std::getenv("A");', "examples/lock/domain.cc")
        self.assert_allowed("std::abort();", "edl/base/check.cc")
        for path in ("tests/real/a.cc", "tests/clusters/a.cc", "bench/a.cc"):
            self.assert_allowed("std::thread t; auto n = steady_clock::now();", path)
            self.assert_banned("std::this_thread::sleep_for(1s);", path)
        self.assert_banned("std::thread t;", "tests/world/a.cc")
        self.assert_allowed('std::getenv("EDL_SEEDS");', "tests/world/a.cc")
        self.assert_banned("usleep(1);", "edl/os/posix/disk_test.cc")
        self.assert_banned("std::cout << 1;")
        self.assert_banned('std::printf("1");')
        for path in ("edl/cli/a.cc", "examples/a.cc", "bench/a.cc", "tests/world/a.cc"):
            self.assert_allowed("std::cout << 1;", path)


class Names(TreeTest):
    def test_types(self):
        for name in ("JobManager", "StringUtil", "Helper", "RequestHandler", "NodeInfo", "LinkImpl",
                     "InfoLine", "Utils"):
            self.plant("edl/wire/a.h", f"\nclass {name} {{}};\n")
            self.assert_found(names.check, f"edl/wire/a.h:2: {name}")
        for name in ("Utilisation", "Implicit", "Information", "Handle"):
            self.plant("edl/wire/a.h", f"\nstruct {name} {{}};\n")
            self.assert_found(names.check)

    def test_files_and_folders(self):
        self.plant("edl/wire/frame_utils.cc", "")
        self.plant("edl/common/frame.cc", "")
        self.plant("tools/node_info.py", "")
        self.plant("edl/wire/information.cc", "")
        self.assert_found(names.check, "edl/wire/frame_utils.cc:1: what it holds",
                          "edl/common/frame.cc:1: common", "tools/node_info.py:1: what it holds")

    def test_functions(self):
        self.plant("edl/wire/a.h", "\nint get_size();\nconst Foo& get_foo() const;\n"
                   "int n = std::get_if<0>(&x) ? v.get_ref<T>() : boost::get_thing(y);\n"
                   "return get_x(1);\n")
        self.plant("tools/a.py", "def get_size():\n    return len(get_all())\n\n\nclass JobInfo:\n"
                   "    pass\n")
        self.assert_found(names.check, "edl/wire/a.h:2: call it size",
                          "edl/wire/a.h:3: call it foo", "tools/a.py:1: call it size",
                          "tools/a.py:5: JobInfo")


class Sizes(TreeTest):
    def test_files(self):
        self.plant("edl/wire/a.cc", "\n" * 401)
        self.plant("edl/wire/a.h", "\n" * 241)
        self.plant("tests/world/a.cc", "\n" * 801)
        self.plant("tests/world/b.cc", "\n" * 800)
        self.plant("docs/long.md", "\n" * 900)
        self.assert_found(sizes.check, "edl/wire/a.cc:400: 401 lines",
                          "edl/wire/a.h:240: 241 lines", "tests/world/a.cc:800: 801 lines")

    def test_lines(self):
        self.plant("edl/wire/a.cc", "// " + "ä" * 97 + "\n// " + "x" * 98 + "\n")
        self.assert_found(sizes.check, "edl/wire/a.cc:2: 101 columns")

    def test_functions(self):
        body = "  if (x) {\n    y();\n  }\n" * 17
        self.plant("edl/wire/a.cc", "namespace edl {\nnamespace {\n\nstruct A {\n  int size() "
                   f"const {{ return 1; }}\n}};\n\n}}\n\nvoid f(int x) {{\n{body}}}\n\n"
                   f"constexpr int kTable[] = {{\n{'  1,' + chr(10) * 60}}};\n}}\n")
        self.plant("tools/a.py", "def f():\n" + "    g()\n" * 50)
        self.assert_found(sizes.check, "edl/wire/a.cc:10: 53 lines", "tools/a.py:1: 51 lines")

    def test_a_function_of_fifty_lines_is_fine(self):
        self.plant("edl/wire/a.cc", "TEST(A, b) {\n" + "  x();\n" * 48 + "}\n")
        self.assert_found(sizes.check)


class Markdown(TreeTest):
    def test_links(self):
        self.plant("docs/a.md", "# One `thing`, two\n\n## One\n\n[b](b.md) [c](../LAYERS)\n"
                   "[d](#one) [e](b.md#part-1) [f](https://example.com/x) [g](.) `[x](no.md)`\n"
                   "[r]: b.md\n```\n[y](no.md)\n```\n[h](#one-thing-two)\n")
        self.plant("docs/b.md", "# Part\n\n# Part\n\n[root](/LAYERS)\n")
        self.assert_found(markdown.check_links)
        self.plant("docs/c.md", "\n[a](no.md)\n[b](b.md#nothing)\n[c](#nothing)\n[d]: no.png\n"
                   "[e](../../outside.md)\n")
        self.assert_found(markdown.check_links, "docs/c.md:2: no docs/no.md",
                          "docs/c.md:3: no heading #nothing", "docs/c.md:4: no heading #nothing",
                          "docs/c.md:5: no docs/no.png", "docs/c.md:6: ../outside.md")

    def test_hosts(self):
        host = ".".join(("pypi", "org"))
        self.plant("docs/a.md", f"\nhttps://{host}/simple\n")
        self.plant("tools/a.sh", "# " + ".".join(("deb", "debian", "org")) + "\n")
        self.plant("docs/b.md", "happypi.organs and www.debian.org\n")
        self.assert_found(markdown.check_hosts, f"docs/a.md:2: {host}", "tools/a.sh:1: registry")


class Scripts(TreeTest):
    def test_scripts(self):
        self.plant("tools/a.sh", "echo ok\nif true; then\n")
        self.plant("tools/b", "#!/usr/bin/env bash\n\nfi\n")
        self.plant("tools/c.py", "\ndef f(:\n")
        self.plant("tools/d", "#!/usr/bin/python3\nprint 1\n")
        self.plant("tools/e.py", "print(1)\n")
        os.chmod(self.root / "tools/d", 0o755)
        self.assert_found(scripts.check, "tools/a.sh: bash", "tools/b:3: bash", "tools/b:1: chmod",
                          "tools/c.py:2: python3", "tools/d:2: python3")


class Mutants(TreeTest):
    def test_patches_apply(self):
        patch = ("# bug: A wrong answer.\ndiff --git a/edl/base/answer.cc b/edl/base/answer.cc\n"
                 "--- a/edl/base/answer.cc\n+++ b/edl/base/answer.cc\n@@ -4,3 +4,3 @@\n"
                 " \n-int answer() { return 42; }\n+int answer() { return 41; }\n \n")
        self.plant("tests/mutants/fits.patch", patch)
        self.assert_found(mutants.check)
        self.plant("tests/mutants/old.patch", patch.replace("42", "43"))
        self.assert_found(mutants.check, "tests/mutants/old.patch:1: make")


class Commits(TreeTest):
    def test_subjects_are_warned_about(self):
        self.git("init", "-q")
        self.commit("Fixed stuff")
        self.commit("base: " + "x" * 55)
        self.commit("os, wire: frames carry a generation")
        self.assert_found(commits.check, "commit warning: begin the subject",
                          "commit warning: the subject has 61")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
        self.assert_found(commits.check)


class Changed(TreeTest):
    def changed(self, base=None):
        return lint.changed_since(Tree(self.root), base)

    def test_since_the_commit_before_or_origin_main_or_a_base(self):
        self.git("init", "-q")
        self.commit("base: begins")
        self.assertIn("edl/base/answer.h", self.changed())  # there is no commit before
        self.plant("edl/base/a.cc", "")
        self.commit("base: a")
        self.assertEqual(self.changed(), ["edl/base/a.cc"])
        self.plant("edl/base/b.cc", "")
        self.assertEqual(self.changed(), ["edl/base/a.cc", "edl/base/b.cc"])
        self.commit("base: b")
        self.assertEqual(self.changed(), ["edl/base/b.cc"])
        self.git("update-ref", "refs/remotes/origin/main", "HEAD~2")
        self.assertEqual(self.changed(), ["edl/base/a.cc", "edl/base/b.cc"])
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.changed(), ["edl/base/b.cc"])
        self.assertIn("edl/base/a.cc", self.changed("HEAD~2"))
        with self.assertRaises(lint.UnknownRevision):
            self.changed("nonsense")


class WholeTree(TreeTest):
    """tools/tidy itself, with a real (small) build."""

    def setUp(self):
        super().setUp()
        shutil.copytree(TOOLS / "tidy_checks", self.root / "tools/tidy_checks",
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("tidy", "tree.py", "build"):
            shutil.copy(TOOLS / name, self.root / "tools")
        for name in (".clang-format", ".clang-tidy", "CMakePresets.json"):
            shutil.copy(ROOT / name, self.root)
        (self.root / "cmake").mkdir()
        shutil.copy(ROOT / "cmake/edl.cmake", self.root / "cmake")
        self.plant("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\n"
                   "project(edl LANGUAGES CXX)\nlist(APPEND CMAKE_MODULE_PATH "
                   "${CMAKE_SOURCE_DIR}/cmake)\ninclude(edl)\nadd_subdirectory(edl/base)\n")
        self.plant("edl/base/CMakeLists.txt", "edl_room(base SOURCES answer.cc)\n")
        self.git("init", "-q")
        self.commit("base: begins")

    def tidy(self, *arguments):
        done = subprocess.run([self.root / "tools/tidy", *arguments], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_a_clean_tree_passes_and_planted_bugs_do_not(self):
        status, out, _ = self.tidy()
        self.assertEqual(status, 0, out)
        self.assertTrue(out.endswith("tidy: 12 checks, 0 findings\n"), out)

        self.plant("edl/base/alone.h", HEADER.replace("int answer();", "std::string answer();"))
        self.plant("edl/base/answer.cc", SOURCE.replace(
            "int answer() {", "int* none() { return 0; }\n\nint answer() {"))
        status, out, _ = self.tidy()
        self.assertEqual(status, 1)
        self.assertIn("edl/base/alone.h:6: a header does not compile alone", out)
        self.assertIn("edl/base/answer.cc:5: use nullptr [modernize-use-nullptr]", out)
        self.assertRegex(out, r"(?m)^tidy: 12 checks, [1-9]\d* findings\n\Z")

        self.plant("edl/base/alone.h", HEADER.replace("answer", "Answer"))
        status, out, _ = self.tidy("lint")
        self.assertIn("edl/base/alone.h:6: invalid case style for function 'Answer'", out)

    def test_wrong_usage_says_what_is_right(self):
        status, _, err = self.tidy("nonsense")
        self.assertEqual((status, "the checks are format layers" in err), (2, True))
        status, _, err = self.tidy("--base", "nonsense", "lint")
        self.assertEqual((status, "nonsense is not a commit" in err), (2, True))


if __name__ == "__main__":
    unittest.main()
