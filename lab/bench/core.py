"""What a line of ./bench needs: rows, the machine with its programs, and verdicts. Only Python's own library."""

import fcntl
import json
import math
import os
import pty
import resource
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

BLOCK = 4096
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Row:
    """One figure: ours, perhaps theirs, perhaps an aim."""

    def __init__(self, line, what, unit, aim="", higher=False, digits=1):
        self.line, self.what, self.unit, self.aim, self.digits = line, what, unit, aim, digits
        self.higher, self.ours, self.theirs, self.other = higher, [], [], ""
        self.has_interval = False  # whether ratios are shown with the interval of their median, not with their range
        self.verdict = None  # of (ours, theirs, ratio), medians: how far beyond the aim; at most 0 where it is met

    def add(self, ours, theirs=None):
        self.ours.append(ours)
        if theirs is not None:
            self.theirs.append(theirs)

    def ratios(self):
        return [o / t for o, t in zip(self.ours, self.theirs) if t]

    def spread(self):
        """The ends of the ratios: of all, or of the 95 % interval of their median, which asks for no distribution."""
        ratios, cut = sorted(self.ratios()), 0
        outside = lambda cut: 2 * sum(math.comb(len(ratios), k) for k in range(cut + 1)) / 2 ** len(ratios)
        while self.has_interval and outside(cut) <= 0.05:
            cut += 1
        cut = max(cut - 1, 0)
        return ratios[cut], ratios[len(ratios) - 1 - cut]

    def judged(self):
        """None without an aim, else how far beyond it."""
        if self.verdict is None or not self.ours:
            return None
        median = lambda values: statistics.median(values) if values else None
        return self.verdict(median(self.ours), median(self.theirs), median(self.ratios()))


class Bench:
    """The machine, the programs, and what has to be undone."""

    def __init__(self, args):
        self.args = args
        self.tiny = args.tiny
        self.pairs = args.pairs or (1 if args.tiny else 3)
        programs = args.programs or os.path.join(args.target_dir, "release")
        self.iosonar = os.path.join(programs, "iosonar")
        self.helper = os.path.join(programs, "iosonar-bench")
        self.fio_path = shutil.which("fio")
        self.cpu = max(os.sched_getaffinity(0))
        self.out_dir = os.path.join(args.target_dir, "bench")
        os.makedirs(self.out_dir, exist_ok=True)
        self.scratch = tempfile.mkdtemp(prefix="run.", dir=self.out_dir)
        self.zram_number = None
        self.child = None
        self.number = 0

    def close(self):
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        if self.child and self.child.poll() is None:
            for number in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.killpg(self.child.pid, number)
                except ProcessLookupError:
                    pass
            self.child.wait()
        if self.zram_number is not None:
            for _ in range(20):
                try:
                    with open("/sys/class/zram-control/hot_remove", "w") as control:
                        control.write(self.zram_number)
                    break
                except OSError:
                    time.sleep(0.1)
            else:
                say(f"/dev/zram{self.zram_number} is still in use: remove it with "
                    f"'echo {self.zram_number} > /sys/class/zram-control/hot_remove'")
            self.zram_number = None
        shutil.rmtree(self.scratch, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def zram(self):
        """A device of our own; no other is ever touched."""
        if self.zram_number is None:
            if os.geteuid() != 0:
                raise Skip("a zram device needs root")
            if not os.path.exists("/sys/class/zram-control"):
                subprocess.run(["modprobe", "zram", "num_devices=0"], stderr=subprocess.DEVNULL)
            try:
                # A signal between making it and knowing its number would leave it behind.
                signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
                try:
                    with open("/sys/class/zram-control/hot_add") as control:
                        self.zram_number = control.read().strip()
                finally:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
                with open(f"/sys/block/zram{self.zram_number}/disksize", "w") as size:
                    size.write("2G")
            except OSError as error:
                raise Skip(f"no zram device: {error}")
        return f"/dev/zram{self.zram_number}"

    def run(self, command, pin=False, stop=None, limit=120, terminal=False):
        """Runs a program; gives its standard output and error and the CPU seconds of all its processes. stop: after
        how many seconds it is stopped, and for how long. terminal: standard error is one, and somebody reads it."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus = {self.cpu} if pin else os.sched_getaffinity(0)
        out, err = open(self.path("stdout"), "w+"), open(self.path("stderr"), "w+")
        with out, err:
            reader, other_side = follow_terminal(err) if terminal else (None, err)
            self.child = subprocess.Popen(command, cwd=self.scratch, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=other_side, start_new_session=True,
                                          env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
                                          preexec_fn=lambda: os.sched_setaffinity(0, cpus))
            if reader:
                os.close(other_side)
            if stop:
                time.sleep(stop[0])
                os.kill(self.child.pid, signal.SIGSTOP)
                time.sleep(stop[1])
                os.kill(self.child.pid, signal.SIGCONT)
            timed_out = False
            # wait(limit) of Python looks at most each 50 ms, which would be half of the time of short commands.
            ended = select.poll()
            pidfd = os.pidfd_open(self.child.pid)
            ended.register(pidfd, select.POLLIN)
            if not ended.poll(limit * 1000):
                timed_out = True
                os.killpg(self.child.pid, signal.SIGKILL)
            os.close(pidfd)
            code = self.child.wait()
            self.child = None
            if reader:
                reader.join()
            out.seek(0), err.seek(0)
            text, errors = out.read(), err.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # 4: the targets are zram, or sparse, and no devices; that is known here.
        if code not in (0, 4):
            why = f"no end within {limit} s" if timed_out else f"code {code}: {errors.strip()[-300:]}"
            raise Failed(f"{os.path.basename(command[0])}: {why}")
        return text, errors, cpu

    def ours(self, arguments, shown="--no-progress", **options):
        """One run of iosonar: what its archive says, the CPU time of its phases and of the whole process."""
        self.number += 1
        out = self.path(f"ours-{self.number}")
        command = [self.iosonar, *arguments, "--out", out, shown, "--timings"]
        try:
            _, errors, cpu = self.run(command, **options)
            with open(os.path.join(out, "run.json")) as run, open(os.path.join(out, "summary.json")) as summary:
                result = {"run": json.load(run), "summary": json.load(summary)}
        finally:
            shutil.rmtree(out, ignore_errors=True)
        timings = [line[len("timings: "):] for line in errors.splitlines() if line.startswith("timings: ")]
        result["timings"] = json.loads(timings[-1])
        result["requests"] = result["summary"]["counts"]["all"]["total"]
        result["seconds"] = max(result["summary"]["span"]["last_completed_ns"], 1) / 1e9
        result["run_cpu"] = sum(result["run"]["cpu"].values()) / 1e9
        result["process_cpu"] = cpu
        return result

    def fio(self, *arguments, **options):
        """One run of fio, or None where there is none."""
        if not self.fio_path:
            return None
        report = self.path("fio.json")
        command = [self.fio_path, "--name=bench", "--output-format=json", f"--output={report}", *arguments]
        _, _, cpu = self.run(command, **options)
        with open(report) as file:
            text = file.read()
        job = json.loads(text[text.index("{"):])["jobs"][0]
        requests = job["read"]["total_ios"] + job["write"]["total_ios"]
        seconds = max(job["read"]["runtime"], job["write"]["runtime"], 1) / 1e3
        run_cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
        requests = max(requests, 1)
        latency_ns = sum(job[way]["lat_ns"]["mean"] * job[way]["total_ios"] for way in ("read", "write")) / requests
        return {"requests": requests, "seconds": seconds, "run_cpu": run_cpu, "process_cpu": cpu,
                "iops": requests / seconds, "cpu_us": run_cpu / requests * 1e6, "latency_us": latency_ns / 1e3}

    def help_program(self, *arguments, **options):
        text, _, _ = self.run([self.helper, *map(str, arguments)], **options)
        return json.loads(text)


def follow_terminal(kept):
    """A terminal of 120 x 40 whose output a thread keeps in a file: that thread, and the program's side of it."""
    ours, other_side = pty.openpty()
    fcntl.ioctl(other_side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def follow():
        try:
            while piece := os.read(ours, 1 << 16):
                kept.write(piece.decode(errors="replace").replace("\r\n", "\n"))
        except OSError:
            pass  # nobody is at the other side any more
        os.close(ours)
        kept.flush()

    reader = threading.Thread(target=follow)
    reader.start()
    return reader, other_side


class Skip(Exception):
    """A line cannot run here, and that is no fault of ours."""


class Failed(Exception):
    """A program failed."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def at_most(limit):
    return lambda ours, theirs, ratio: ours - limit


def at_least(limit):
    return lambda ours, theirs, ratio: limit - ours


def as_fast(ours, theirs, ratio):
    """More is better, and the other is the measure."""
    return None if ratio is None else 1 - ratio


def per_request(result, key):
    return None if result is None else result[key] / result["requests"] * 1e9
