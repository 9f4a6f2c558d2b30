"""The line `hosts`: runs on several machines, here agents behind an sshd on loopback with a clock of its own, on the null engine."""

import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

from core import Failed, Row, Skip, say

AGENTS = [2, 8, 32]


def line_hosts(bench):
    """agents behind an sshd on loopback: from command to first request, skew of the first requests, cost on the issuing loop"""
    for program in ["ssh", "ssh-keygen", "unshare"]:
        if not shutil.which(program):
            raise Skip(f"{program} is not here")
    if os.geteuid() != 0 or not os.path.exists("/usr/sbin/sshd"):
        raise Skip("an sshd with a clock of its own needs root and openssh-server")
    with Sshd() as sshd:
        rows = []
        for agents in AGENTS[:1] if bench.tiny else AGENTS:
            rows += starts(bench, sshd, agents)
        return rows + [cost(bench, sshd)] + merged(bench) + ranks(bench)


class Sshd:
    """An sshd with its own keys, in a time namespace that is 100 s ahead."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="iosonar-bench-sshd.")
        path = lambda name: os.path.join(self.dir, name)
        for key in ["host_key", "key"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key)], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        os.makedirs("/run/sshd", exist_ok=True)
        with open(path("sshd_config"), "w") as file:
            file.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {path('host_key')}\nAuthorizedKeysFile {path('key.pub')}\n"
                       f"StrictModes no\nUsePAM no\nPidFile none\nMaxStartups 200\nMaxSessions 200\n"
                       f"SetEnv IOSONAR_LEDGER=off TMPDIR={self.dir}\n")
        with open(path("ssh_config"), "w") as file:
            file.write(f"Host *\nHostName 127.0.0.1\nPort {port}\nIdentityFile {path('key')}\nIdentitiesOnly yes\n"
                       "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
        self.child = subprocess.Popen(["unshare", "--time", "--fork", "--kill-child", "--monotonic", "100", "/usr/sbin/sshd", "-D",
                                       "-f", path("sshd_config")], stderr=subprocess.DEVNULL)
        self.shell = f"ssh -T -F {path('ssh_config')}"
        for _ in range(200):
            if subprocess.run([*self.shell.split(), "any", "true"], stderr=subprocess.DEVNULL).returncode == 0:
                return self
            time.sleep(0.1)
        raise Failed("sshd does not answer")

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def run(bench, sshd, places, arguments):
    """A run on these places; without any, here. Its run.json and its summary, and the time from the command to its first request."""
    out = bench.path("hosts")
    where = ["--on", *places, "--remote-path", bench.iosonar] if places else ["-t", "t"]
    command = [bench.iosonar, "run", *where, "--engine", "null", "--size", "1g", "--rw", "randread", "--bs", "4k", "--out", out,
               "--no-progress", *arguments]
    begun = time.time()
    ended = subprocess.run(command, cwd=bench.scratch, env={**os.environ, "RSH": sshd.shell}, capture_output=True, text=True)
    try:
        if ended.returncode not in (0, 4):
            raise Failed(f"iosonar run --on: code {ended.returncode}: {ended.stderr.strip()[-300:]}")
        with open(os.path.join(out, "run.json")) as info, open(os.path.join(out, "summary.json")) as summary:
            info, summary = json.load(info), json.load(summary)
    finally:
        shutil.rmtree(out, ignore_errors=True)
    return info, summary, info["started_unix_ns"] / 1e9 - begun


def starts(bench, sshd, agents):
    """How long so many agents take to start, and how far apart they do."""
    start = Row("hosts", f"{agents} agents: from command to first request", "s", digits=2)
    skew = Row("hosts", f"{agents} agents: first requests within", "ms", digits=2)
    known = Row("hosts", f"{agents} agents: clocks known to, during the run", "ms", digits=2)
    for _ in range(bench.pairs):
        places = [f"h{number}:t" for number in range(agents)]
        _, summary, seconds = run(bench, sshd, places, ["--rate-iops", "500", "--runtime", "1"])
        hosts = summary["hosts"]
        first = [host["submitted_ns"] for host in hosts]
        start.add(seconds)
        skew.add((max(first) - min(first)) / 1e6)
        known.add(max(host["clock"]["max_error_ns"] for host in hosts) / 1e6)
    return [start, skew, known]


def merged(bench):
    """Counts of the records of so many hosts or ranks, of 100 000 requests each, from their stored form to one."""
    archive, parts = bench.path("counted"), 10 if bench.tiny else 1000
    bench.run([bench.helper, "archive", archive, "1000" if bench.tiny else "100000"])
    seconds = Row("hosts", f"counts of {parts} parts merged", "s", "<= 5", digits=2)
    memory = Row("hosts", f"counts of {parts} parts: peak memory", "MiB", "<= 256", digits=0)
    size = Row("hosts", "counts of a part", "KiB", digits=0)
    seconds.verdict, memory.verdict = (lambda ours, theirs, ratio: ours - 5), (lambda ours, theirs, ratio: ours - 256)
    for _ in range(bench.pairs):
        result = bench.help_program("merge", archive, str(parts))
        seconds.add(result["seconds"])
        memory.add(result["peak_bytes"] / 2**20)
        size.add(result["part_bytes"] / 1024)
    shutil.rmtree(archive)
    return [seconds, memory, size]


def ranks(bench):
    """A run of very many ranks on few CPUs: from the command to the result of a second of requests, and how far apart the ranks begin."""
    program, count = bench.iosonar + "-mpi", 4 if bench.tiny else 64
    if not shutil.which("mpirun") or not os.path.exists(program):
        say("   ranks: there is no mpirun, or no iosonar-mpi")
        return []
    whole = Row("hosts", f"{count} ranks on {os.cpu_count()} CPUs: from command to result, with 1 s of requests", "s", digits=1)
    skew = Row("hosts", f"{count} ranks: first requests within", "ms", digits=1)
    for _ in range(bench.pairs):
        out = bench.path("ranks")
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(count), program, "run", "-t", "f{rank}", "--engine", "null",
                   "--size", "1g", "--rw", "randread", "--bs", "4k", "--rate-iops", "100", "--runtime", "1", "--collect", "summary",
                   "--no-progress", "--json", "--out", out]
        begun = time.time()
        ended = subprocess.run(command, cwd=bench.scratch, env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"}, capture_output=True,
                               text=True)
        whole.add(time.time() - begun)
        shutil.rmtree(out, ignore_errors=True)
        if ended.returncode not in (0, 4):
            raise Failed(f"iosonar-mpi run: code {ended.returncode}: {ended.stderr.strip()[-300:]}")
        first = [host["submitted_ns"] for host in json.loads(ended.stdout)["hosts"]]
        skew.add((max(first) - min(first)) / 1e6)
    return [whole, skew]


def cost(bench, sshd):
    """What exchanges and progress take from a closed loop: the same run here and behind the connection, in turn."""
    row = Row("hosts", "closed loop of an agent beside one here: time of a request", "ns", aim="at most 1.01 times", digits=1)
    row.verdict = lambda ours, theirs, ratio: None if ratio is None else ratio - 1.01
    row.other = "here"
    seconds = "0.5" if bench.tiny else "5"
    for _ in range(1 if bench.tiny else max(bench.pairs, 5)):
        of = {}
        for places in [["h0:t"], []]:
            _, summary, _ = run(bench, sshd, places, ["--iodepth", "32", "--runtime", seconds])
            rate = summary["throughput"]["delivered"]["requests_per_second"]
            of[bool(places)] = 1e9 / rate
        row.add(of[True], of[False])
    say(f"   a request takes {statistics.median(row.ours):.1f} ns behind the connection")
    return row
