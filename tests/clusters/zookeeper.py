"""Real ZooKeeper on loopback: one server, or an ensemble of three."""
import os
import re
import shutil
import socket

from servers import Group, Server, free_ports, wait_for

JAR = "/usr/share/java/zookeeper.jar"  # names the jars that it needs in its manifest
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
TICK_MS = 500  # sessions last from 2 to 20 ticks


def missing():
    """What is not on this machine; None when everything is."""
    if not shutil.which("java"):
        return "there is no Java; install the package default-jre-headless"
    if not os.path.exists(JAR):
        return f"there is no {JAR}; install the package libzookeeper-java"
    return None


def ask(port, word):
    """One of ZooKeeper's four-letter words; empty when nobody answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(word.encode())
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
            return answer.decode()
    except OSError:
        return ""


def mode(port):
    """standalone, leader or follower; None when it does not serve."""
    found = re.search(r"^Mode: (\w+)", ask(port, "srvr"), re.MULTILINE)
    return found[1] if found else None


class ZooKeeperServer(Server):
    def wait_until_healthy(self):
        def ready():
            if not self.running():
                raise RuntimeError(f"{self.name} ended by itself: see {self.log}\n{self.tail()}")
            return mode(self.port) is not None
        wait_for(ready, f"{self.name} to serve", 60)


class ZooKeeper(Group):
    def __init__(self, folder, members=1):
        ports = free_ports(3 * members)
        peers = [f"server.{i + 1}=127.0.0.1:{ports[members + i]}:{ports[2 * members + i]}"
                 for i in range(members)] if members > 1 else []
        super().__init__()
        for i in range(members):
            home = f"{folder}/z{i}"
            os.makedirs(f"{home}/data")
            with open(f"{home}/data/myid", "w") as file:
                file.write(f"{i + 1}\n")
            with open(f"{home}/zoo.cfg", "w") as file:
                file.write("\n".join([
                    f"tickTime={TICK_MS}", "initLimit=20", "syncLimit=10", f"dataDir={home}/data",
                    f"clientPort={ports[i]}", "clientPortAddress=127.0.0.1", "maxClientCnxns=0",
                    "admin.enableServer=false", "4lw.commands.whitelist=srvr", *peers, ""]))
            command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                       "-cp", f"{home}:{JAR}", "-Dzookeeper.admin.enableServer=false",
                       MAIN, f"{home}/zoo.cfg"]
            self.servers.append(ZooKeeperServer(f"zookeeper z{i}", command, ports[i],
                                                f"{home}/log"))

    def leader(self):
        """The index of the member that leads; of one server, that one."""
        found = []

        def agreed():
            found[:] = [i for i, server in enumerate(self.servers)
                        if mode(server.port) in ("leader", "standalone")]
            return len(found) == 1
        wait_for(agreed, "one member to lead")
        return found[0]
