"""EDL's own store on loopback: `edl store serve`."""
import subprocess

from servers import Group, Server

FIRST_LINE = "listening on http"  # or https


class EmbeddedServer(Server):
    """It says where it listens, so the first start takes any port and later ones the same again."""

    def __init__(self, program, folder, *options):
        super().__init__("edl store", [program, "store", "serve", f"--data={folder}/data",
                                       *options], 0, f"{folder}/embedded.log")

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.command, f"--listen=127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith(FIRST_LINE):
            self.kill()
            raise RuntimeError(f"edl store serve said {line!r}, not where it listens: "
                               f"see {self.log}\n{self.tail()}")
        self.port = int(line.rsplit(":", 1)[1])

    def kill(self):
        super().kill()
        if self.process and self.process.stdout:
            self.process.stdout.close()


class Embedded(Group):
    def __init__(self, program, folder):
        super().__init__()
        self.servers.append(EmbeddedServer(program, folder))
