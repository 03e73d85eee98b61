"""Real etcd on loopback: one member, or a cluster of three."""
import http.client
import json
import os
import sys

from servers import SKIP, Group, Server, free_ports, wait_for

PROGRAM = "/usr/bin/etcd"


def skip_without_etcd():
    """Ends the test, loudly, where etcd is not installed."""
    if not os.access(PROGRAM, os.X_OK):
        print(f"SKIPPED: there is no {PROGRAM} on this machine. Install etcd 3.4 (the package is "
              "etcd-server) to compare with it.", flush=True)
        sys.exit(SKIP)


class Etcd(Group):
    """`members` processes with etcd's own timings: the shortest lease depends on them."""

    def __init__(self, folder, members=1):
        ports = free_ports(2 * members)
        peers = [f"http://127.0.0.1:{port}" for port in ports[members:]]
        cluster = ",".join(f"m{i}={peer}" for i, peer in enumerate(peers))
        super().__init__()
        for i in range(members):
            client = f"http://127.0.0.1:{ports[i]}"
            command = [PROGRAM, "--name", f"m{i}", "--data-dir", f"{folder}/m{i}",
                       "--listen-client-urls", client, "--advertise-client-urls", client,
                       "--listen-peer-urls", peers[i],
                       "--initial-advertise-peer-urls", peers[i],
                       "--initial-cluster", cluster, "--initial-cluster-state", "new",
                       "--initial-cluster-token", os.path.basename(folder)]
            self.servers.append(Server(f"etcd m{i}", command, ports[i], f"{folder}/m{i}.log"))

    def leader(self):
        """The index of the member that leads, once the running ones agree on it."""
        found = []

        def agreed():
            found[:] = [self._leader_seen_by(server) for server in self.servers if server.running()]
            return found[0] is not None and found.count(found[0]) == len(found)
        wait_for(agreed, "the members to agree on a leader")
        return found[0]

    def _leader_seen_by(self, server):
        leader = status(server.port).get("leader")
        for i, other in enumerate(self.servers):
            if other.running():
                if status(other.port).get("header", {}).get("member_id") == leader:
                    return i
        return None


def status(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("POST", "/v3/maintenance/status", "{}")
        return json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    finally:
        connection.close()
