"""A story of `edl store` commands that every store tells alike."""
import json
import re

# What two stores may answer differently: (what, instead).
OWN = [(r"http://127\.0\.0\.1:\d+", "URL"), (r"\b\d{10,}\b", "ID"),
       (r'"version":"[^"]+"', '"version":V'), (r"version [\d.]+", "version V"),
       (r'"db_size":\d+', '"db_size":N'), (r"\d+ bytes", "N bytes"),
       (r'"ttl":\d+,"granted', '"ttl":T,"granted'), (r"lasts \d+ s more", "lasts T s more")]


def without_own(text):
    for what, instead in OWN:
        text = re.sub(what, instead, text)
    return text


TXN = json.dumps({
    "compare": [{"key": "/color", "target": "value", "value": "blue"},
                {"key": "/none", "target": "version", "result": "equal", "value": 0},
                {"key": "/n/", "prefix": True, "target": "mod", "result": "greater", "value": 1}],
    "success": [{"put": {"key": "/t", "value": "1", "prev": True}},
                {"put": {"key_base64": "L/8=", "value_base64": "AP8="}},
                {"get": {"key": "/n/", "prefix": True, "order": "descend", "limit": 1}},
                {"delete": {"key": "/n/2", "prev": True}},
                {"txn": {"compare": [{"key": "/t", "target": "create", "result": "less",
                                      "value": 1}],
                         "success": [{"get": {"key": "/t"}}]}}],
    "failure": [{"get": {"key": "/color"}}]}).encode()

# A story that every store tells alike: (arguments, standard input). LEASE is the lease made before.
STORY = [
    (["get", "/color"], b""),
    (["get", "/color", "--prefix"], b""),
    (["get", "/", "--prefix", "--count-only", "--json"], b""),
    (["put", "/color", "red"], b""),
    (["put", "/color", "blue", "--prev"], b""),
    (["put", "/color", "--json", "--prev"], b"blue"),
    (["put", "/new", "-", "--json", "--prev"], b"from input\n"),
    (["put", "/degrees", "--", "-x"], b""),
    (["put", "Lzg=", "AAH/", "--base64"], b""),
    (["put", "/raw", "--json"], b"\x00\xff\n"),
    (["put", "", "x"], b""),
    (["get", "/raw"], b""),
    (["get", "/raw", "--print-value-only"], b""),
    (["get", "/raw", "--json"], b""),
    (["get", "Lzg=", "--base64", "--json"], b""),
    (["get", "", "--prefix", "--json"], b""),
    (["get", ""], b""),
    (["get", "/color", "--revision=2"], b""),
    (["get", "/color", "--revision=1"], b""),
    (["get", "/color", "--revision=99999"], b""),
    (["get", "/d", "--from-key", "--keys-only"], b""),
    (["get", "/c", "--range-end=/e", "--json"], b""),
    (["get", "/", "--prefix", "--order=descend", "--limit=2", "--keys-only", "--json"], b""),
    (["get", "/", "--prefix", "--sort-by=version", "--order=descend", "--limit=1"], b""),
    (["get", "/", "--prefix", "--sort-by=value", "--print-value-only"], b""),
    (["get", "/", "--prefix", "--count-only"], b""),
    (["put", "/n/1", "1"], b""), (["put", "/n/2", "2"], b""), (["put", "/n/3", "3"], b""),
    (["txn", "--json"], TXN), (["txn", "-"], TXN), (["txn"], b"{}"),
    (["txn"], b'{"success":[{"put":{"key":"/x","value":"1"}},{"delete":{"key":"/x"}}]}'),
    (["delete", "/none"], b""),
    (["delete", "/n/1", "--prev"], b""),
    (["delete", "/n/", "--prefix", "--prev", "--json"], b""),
    (["lease", "list"], b""),
    (["lease", "grant", "--ttl=100s", "--json"], b""),
    (["put", "/leased", "yes", "--lease=LEASE"], b""),
    (["get", "/leased", "--json"], b""),
    (["lease", "show", "LEASE"], b""),
    (["lease", "show", "LEASE", "--keys", "--json"], b""),
    (["lease", "keep-alive", "LEASE", "--once"], b""),
    (["lease", "keep-alive", "LEASE", "--once", "--json"], b""),
    (["lease", "list", "--json"], b""),
    (["lease", "revoke", "LEASE", "--json"], b""),
    (["get", "/leased"], b""),
    (["lease", "revoke", "LEASE"], b""),
    (["lease", "show", "LEASE"], b""),
    (["lease", "keep-alive", "LEASE"], b""),
    (["put", "/leased", "yes", "--lease=12345678901"], b""),
    (["watch", "/", "--prefix", "--revision=2", "--count=12", "--prev", "--json"], b""),
    (["watch", "/", "--prefix", "--revision=2", "--count=16", "--prev"], b""),
    (["delete", "", "--prefix", "--json"], b""),
    (["status"], b""), (["status", "--json"], b""),
]


def tell_story(commands):
    """Each command of the story with its answer, without what is each store's own."""
    told, lease = [], ""
    for arguments, stdin in STORY:
        done = commands.run(*(one.replace("LEASE", lease) for one in arguments), stdin=stdin)
        if "grant" in arguments and done.code == 0:
            lease = str(done.rows()[0]["id"])
        told.append(without_own(repr(done)))
    return told
