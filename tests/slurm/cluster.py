"""A Slurm of our own on one machine: munged, slurmctld and a slurmd for each node, in a temporary
directory, on free ports, without systemd and without touching /etc/slurm. Nothing of it is left
afterwards."""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NODES = ["n1", "n2", "n3"]
CPUS = 2  # of each; they need not be there
PATIENCE = 120  # seconds: a deadline against hanging, not an expectation

# partition "low" is preempted by "high", and its jobs requeued.
CONF = """
ClusterName=starling
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
TmpFS={dir}/tmp.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=high Nodes=ALL Default=NO MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
"""
NODE = ("NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} "
        "RealMemory=2000\n")


def eventually(condition, what, patience=PATIENCE):
    """Calls `condition` until it is true, and returns its result."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience} s: {what}")
        time.sleep(0.1)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def end_with_parent():
    """In a child, before exec: should this process be killed, the kernel ends the daemons."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Cluster:
    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="starling-slurm-"))
        self.daemons = []
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("SLURM", "SBATCH"))}
        # A runtime directory of our own, to check its leftovers.
        self.runtime = self.dir / "runtime"
        self.env["SLURM_CONF"] = str(self.dir / "slurm.conf")
        self.env["XDG_RUNTIME_DIR"] = str(self.runtime)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.dir.chmod(0o755)  # munged wants to be reachable
        self.runtime.mkdir(mode=0o700)
        (self.dir / "state").mkdir()
        for node in NODES:
            (self.dir / f"tmp.{node}").mkdir()
        key = self.dir / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        ctld_port, *ports = free_ports(1 + len(NODES))
        host = socket.gethostname().split(".")[0]
        # Ours, who need not be root: otherwise it would run the jobs of root alone.
        user = pwd.getpwuid(os.getuid()).pw_name
        conf = CONF.format(host=host, ctld_port=ctld_port, dir=self.dir, user=user)
        for node, port in zip(NODES, ports):
            conf += NODE.format(node=node, host=host, port=port, cpus=CPUS)
        (self.dir / "slurm.conf").write_text(conf)
        self.daemon("munged", "--foreground", f"--key-file={key}",
                    f"--socket={self.dir}/munge.socket", f"--pid-file={self.dir}/munged.pid",
                    f"--log-file={self.dir}/munged.log", f"--seed-file={self.dir}/munged.seed")
        eventually((self.dir / "munge.socket").exists, "munged listens")
        self.daemon("slurmctld", "-D", "-f", self.env["SLURM_CONF"])
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node, "-f", self.env["SLURM_CONF"])
        eventually(self.up, "all nodes are idle")

    def daemon(self, *command):
        path = self.env["PATH"] + ":/usr/sbin:/sbin"
        program = shutil.which(command[0], path=path)
        print("+", *command, "&", file=sys.stderr, flush=True)
        with open(self.dir / f"{command[0]}.out", "ab") as out:
            self.daemons.append(subprocess.Popen(
                [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env=self.env, start_new_session=True, preexec_fn=end_with_parent))

    def up(self):
        for daemon in self.daemons:
            if daemon.poll() is not None:
                raise RuntimeError(
                    f"{daemon.args[0]} ended with {daemon.returncode}:\n{self.last_words()}")
        states = self.run("sinfo", "--noheader", "--Node", "--partition=low", "--format=%t",
                          check=False)
        return states.split() == ["idle"] * len(NODES)

    def last_words(self):
        return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}"
                       for log in sorted([*self.dir.glob("*.log"), *self.dir.glob("*.out")]))

    def run(self, *command, check=True, **more):
        """Standard output of one of Slurm's commands."""
        done = subprocess.run(command, env=self.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def processes(self):
        """Ours, by pid, and their commands: those with this cluster in their environment."""
        mark = f"SLURM_CONF={self.dir}/".encode()
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark in (entry / "environ").read_bytes():
                    command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    # A zombie has none; slurmctld's helper comes and goes with it.
                    if command != [""] and not command[0].startswith("slurmctld:"):
                        found[int(entry.name)] = command
            except OSError:
                pass  # it has ended
        daemons = {daemon.pid for daemon in self.daemons}
        return {pid: command for pid, command in found.items() if pid not in daemons}

    def stop(self):
        """Ends all that is ours, jobs included. May be called again."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if len(self.daemons) > 1:
            self.run("scancel", "--partition=low", check=False)
            self.run("scancel", "--partition=high", check=False)
            deadline = time.monotonic() + 20
            while self.processes() and time.monotonic() < deadline:
                time.sleep(0.1)
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons.clear()
        shutil.rmtree(self.dir, ignore_errors=True)


if __name__ == "__main__":  # by hand: cluster.py COMMAND..., a shell without one
    with Cluster() as cluster:
        sys.exit(subprocess.run(sys.argv[1:] or ["bash"], env=cluster.env).returncode)
