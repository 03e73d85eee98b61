"""The world has one door. Calls that go around edl/os, and a few that we use nowhere."""

import re
from typing import NamedTuple

from tidy_checks import Finding, cpp_text, is_main

ALLOWED = [
    # (start of the path, what is allowed there, why)
    ("edl/os/", "threads clocks sleeps environment exit files system", "it is the door"),
    ("edl/base/check.cc", "exit", "EDL_CHECK aborts"),
    ("tests/real/", "threads clocks environment files system", "drives real processes"),
    ("tests/clusters/", "threads clocks environment files system", "drives real engines"),
    ("tests/", "environment files print", "its main is GoogleTest's; transcripts are files"),
    ("tests/world/seeds.cc", "clocks", "tells how many seeds ran in a second"),
    ("bench/", "threads clocks environment files system print", "measures the real machine"),
    ("examples/", "print", "talks to people"),
    ("edl/cli/", "print", "talks to people"),
]
ALLOWED_IN_MAIN = "environment exit print"
ALLOWED_IN_UNIT_TESTS = "print"

# A word before a name that does not make it a declaration.
NOT_A_TYPE = {"return", "else", "do", "case", "and", "or", "not"}


class Rule(NamedTuple):
    kind: str  # what ALLOWED speaks of; `never` is allowed nowhere
    pattern: str
    message: str
    is_call: bool = True  # a free function: `name(`, `std::name(` or `::name(`


DOOR = "goes around edl/os: "
AWAKE = "nothing sleeps: wait for the event with a deadline (System::after)"
QUIET = "rooms do not print: return text, or write to the Log"
RULES = [
    Rule("threads", r"pthread_\w+", DOOR + "use os::Thread"),
    Rule("threads", r"\bstd::(thread|jthread|async|mutex|recursive_mutex|shared_mutex|timed_mutex|"
         r"condition_variable(_any)?|atomic\w*|latch|barrier|counting_semaphore|binary_semaphore|"
         r"lock_guard|unique_lock|scoped_lock|shared_lock)\b",
         DOOR + "threads, locks and atomics live there; pass values through an os::Channel", False),
    Rule("sleeps", r"sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until", AWAKE),
    Rule("sleeps", r"\bthis_thread::sleep_\w+", AWAKE, False),
    Rule("clocks", r"\b(steady_clock|system_clock|utc_clock)::now\b|\bhigh_resolution_clock\b"
         r"|\bstd::clock\b|(?<![\w.>:])(std::|::)?time\s*\(\s*(nullptr|NULL|0|&\w+)\s*\)",
         DOOR + "take the time as an argument, or ask System::now", False),
    Rule("clocks", r"gettimeofday|clock_gettime|timespec_get", DOOR + "ask System::now"),
    Rule("environment", r"getenv|secure_getenv|setenv|unsetenv|putenv",
         "only main reads the environment: take the value as an argument"),
    Rule("exit", r"exit|_exit|_Exit|abort|quick_exit|atexit",
         "only main ends the process: return a Result, or EDL_CHECK when we are wrong"),
    Rule("exit", r"\bstd::terminate\b", "only main ends the process: return a Result", False),
    Rule("files", r"fopen|fdopen|freopen|tmpfile|mkstemp|mkdtemp|opendir", DOOR + "use os::Disk"),
    Rule("files", r"\bstd::([io]?fstream|filesystem)\b|\bO_(RDONLY|WRONLY|RDWR|CREAT|APPEND)\b",
         DOOR + "use os::Disk", False),
    Rule("system", r"fork|vfork|posix_spawnp?|exec[vl]p?e?|popen|waitpid|waitid|socketpair|"
         r"epoll_\w+|eventfd|timerfd_\w+|sigaction|openat|creat|memfd_create|"
         r"system(?=\s*\(\s*[^)\s])",
         DOOR + "use its interfaces for processes, network and disk"),
    # Common words: these are calls to the system only when they are written ::open(...).
    Rule("system", r"(?<![\w>])::(open|socket|bind|connect|accept4?|listen|pipe2?|kill|poll|select|"
         r"signal|read|write|close|send|recv|unlink|rename|mkdir|mmap|dup2?|ioctl|fcntl)\s*\(",
         DOOR + "use its interfaces for processes, network and disk", False),
    Rule("system", r"\b(AF_(INET6?|UNIX)|SOCK_(STREAM|DGRAM))\b", DOOR + "use os::Network", False),
    Rule("print", r"\bstd::cout\b", QUIET, False),
    Rule("print", r"printf|puts|putchar", QUIET),
    Rule("never", r"\bthrow\b", "EDL throws nothing: return an Error", False),
    Rule("never", r"\bstd::(random_device|default_random_engine)\b",
         "differs from run to run: take a seed and use edl/base/random.h", False),
    Rule("never", r"rand|srand|rand_r|drand48", "take a seed and use edl/base/random.h"),
    Rule("never", r"\bstd::(\w+_distribution|shuffle|sample)\b",
         "its results differ between builds: use edl/base/random.h", False),
]
HEADERS = [
    ("threads", r"(thread|mutex|shared_mutex|condition_variable|atomic|future|stop_token|semaphore|"
     r"latch|barrier|pthread\.h)"),
    ("files", r"(fstream|filesystem|fcntl\.h|dirent\.h)"),
    ("system", r"(unistd\.h|csignal|signal\.h|poll\.h|spawn\.h|sys/.+|netinet/.+|arpa/.+|netdb\.h|"
     r"boost/asio\.hpp|boost/asio/(?!buffer).+|boost/process.*)"),
]


def allowed(path):
    kinds = set()
    for start, what, _ in ALLOWED:
        if path.startswith(start):
            kinds.update(what.split())
    if is_main(path):
        kinds.update(ALLOWED_IN_MAIN.split())
    if path.endswith("_test.cc"):
        kinds.update(ALLOWED_IN_UNIT_TESTS.split())
        kinds.discard("sleeps")
    return kinds


def _pattern(rule):
    if not rule.is_call:
        return re.compile(rule.pattern)
    return re.compile(rf"(?<![\w.:~])((std)?::)?({rule.pattern})\s*\(")


COMPILED = [(rule, _pattern(rule)) for rule in RULES]


def _is_free_call(code, match):
    """Not a method of ours (`link->abort()`), nor a declaration (`void abort()`)."""
    before = code[:match.start()].rstrip()[-40:]
    if before.endswith("->"):
        return False
    if match[1]:
        return True
    word = re.search(r"\w+$", before)
    if word:
        return word[0] in NOT_A_TYPE or word[0].isdigit()
    return not re.search(r"(?<!&)&$|[*>]$", before)


def _calls(code, kinds):
    for rule, pattern in COMPILED:
        if rule.kind in kinds:
            continue
        for match in pattern.finditer(code):
            if not rule.is_call or _is_free_call(code, match):
                name = match[0].rstrip("( \t\n").strip()
                yield cpp_text.line_of(code, match.start()), f"{name}: {rule.message}"


def _headers(text, kinds):
    for line, quote, target in cpp_text.includes(text):
        for kind, pattern in HEADERS:
            if quote == "<" and kind not in kinds and re.fullmatch(pattern, target):
                yield line, f"<{target}>: only edl/os includes this; use its interfaces"


def check(tree):
    findings = set()
    for path in tree.cpp:
        kinds = allowed(path)
        found = [*_calls(cpp_text.code_only(tree.text(path)), kinds),
                 *_headers(tree.text(path), kinds)]
        findings.update(Finding(path, line, message) for line, message in found)
    return sorted(findings)
