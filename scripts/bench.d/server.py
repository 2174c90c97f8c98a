"""The server: Apache with mod_dav on loopback (`lan`), also behind a slow line (`wan`, see wan.py). Its log counts
requests, and the bytes of requests and answers."""

import pathlib
import socket
import subprocess
import sys

import machine

HERE = pathlib.Path(__file__).parent
MODULES = ["mpm_event", "authz_core", "dav", "dav_fs", "dav_lock", "alias", "log_config", "logio", "unixd"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    def __init__(self, folder, round_trip=0.040, bits=100e6):
        self.folder = folder
        self.root = folder / "root"
        self.log = folder / "access.log"
        self.round_trip, self.bits = round_trip, bits
        self.port = free_port()
        self.ports = {"lan": self.port}
        self.processes = []

    def start(self):
        machine.spread(self.root)
        (self.folder / "lock").mkdir()
        as_root = machine.os.geteuid() == 0
        (self.folder / "httpd.conf").write_text("\n".join([
            f"ServerRoot {self.folder}", "ServerName localhost", f"Listen 127.0.0.1:{self.port}",
            f"PidFile {self.folder}/pid", f"ErrorLog {self.folder}/error.log", f"DefaultRuntimeDir {self.folder}",
            f"DocumentRoot {self.root}", "LimitXMLRequestBody 0", "KeepAliveTimeout 60", "MaxKeepAliveRequests 0",
            "ThreadsPerChild 32", "EnableSendfile On",
            *[f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES
              if pathlib.Path(f"/usr/lib/apache2/modules/mod_{name}.so").exists()],
            f"DavLockDB {self.folder}/lock/db",
            'LogFormat "%m %>s %I %O %D %U" bench', f"CustomLog {self.log} bench",
            *(["User www-data", "Group www-data"] if as_root else []),
            f"Alias /dav {self.root}", "<Location /dav>", "Dav On", "DavDepthInfinity Off", "Require all granted",
            "</Location>", ""]))
        if as_root:
            for path in (self.root, self.folder / "lock"):
                path.chmod(0o777)
        self.launch()

    def launch(self):
        apache = ["/usr/sbin/apache2", "-DFOREGROUND", "-f", str(self.folder / "httpd.conf")]
        output = (self.folder / "output").open("ab")
        process = subprocess.Popen(apache, stdout=output, stderr=output, cwd="/")
        self.processes.append(process)

        def answers():
            if process.poll() is not None:
                raise machine.BenchError(f"apache2 has ended: {(self.folder / 'output').read_text()[-500:]}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        machine.wait_until(20, "apache2 answers", answers)
        line = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "wan.py"), str(self.port), str(self.round_trip), str(self.bits)],
            stdout=subprocess.PIPE, text=True)
        self.processes.append(line)
        self.ports["wan"] = int(line.stdout.readline())

    def stop(self):
        for process in self.processes:
            machine.stop(process)
        self.processes = []

    def url(self, dataset, network="lan", scheme="http"):
        return f"{scheme}://127.0.0.1:{self.ports[network]}/dav/{dataset}"

    # MARK: What came

    def position(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def traffic(self, position):
        """The traffic since then: requests by method, and bytes each way."""
        requests, received, sent = {}, 0, 0
        if self.log.exists():
            with self.log.open("rb") as lines:
                lines.seek(position)
                for line in lines:
                    words = line.split(b" ", 5)
                    method = words[0].decode(errors="replace")
                    requests[method] = requests.get(method, 0) + 1
                    received += int(words[2])
                    sent += int(words[3])
        return {"requests": sum(requests.values()), "methods": requests, "received": received, "sent": sent}
