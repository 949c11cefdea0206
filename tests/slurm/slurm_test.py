"""scripts/slurm/train.sbatch on a real Slurm: a run over two nodes, the time limit, requeueing,
preemption, cancelling, deaths. Started by scripts/test --slurm; skipped, with the reason, where a
Slurm of our own cannot run."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from cluster import Cluster, eventually

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/slurm/train.sbatch"
CATCH = ROOT / "configs/catch.toml"
BIN = ROOT / "build/release/bin"
# A pace, so that a run takes as long on every machine: an actor plays 32 games, a step of all of
# them takes 20 ms.
PACE = ["--set", "env.step_ms=20", "--set", "checkpoint.every_steps=5_000"]
STEPS_PER_SECOND = 3 * 32 * 50  # of the three actors that two nodes with two CPUs have
TWO_NODES = ["--nodes=2", "--ntasks-per-node=2", "--mem=500"]

# The shortest limit of Slurm is a minute. It checks limits every half minute and may be early by
# one: the signal arrives 15 to 45 seconds after the start.
SHORT = ["--time=1", "--signal=B:USR1@15"]
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"}

HAS_MPI = unittest.skipUnless((BIN / "starling-rank").exists(),
                              "built without MPI: scripts/setup --mpi")
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    (cluster.dir / "work").mkdir()
    cluster.start()


class Job:
    """One job, submitted in a directory that is not the repository's."""

    def __init__(self, options, *words, command=("sbatch",)):
        self.work = cluster.dir / "work"
        script = [SCRIPT] if command == ("sbatch",) else []
        said = cluster.run(*command, *options, *script, *map(str, words), cwd=self.work)
        self.id = re.search(r"Submitted batch job (\d+)", said)[1]
        self.run_dir = self.work / f"runs/slurm-{self.id}"
        self.started_again = 0

    def facts(self):
        shown = cluster.run("scontrol", "show", "job", self.id)
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def state(self):
        return self.facts()["JobState"]

    def restarts(self):
        return int(self.facts()["Restarts"])

    def out(self):
        path = self.work / f"slurm-{self.id}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def log(self):
        path = self.run_dir / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def metrics(self):
        path = self.run_dir / "metrics.jsonl"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def steps(self):
        return max([line["steps"] for line in self.metrics()], default=0)

    def summary(self):
        return json.loads((self.run_dir / "summary.json").read_text())

    def place(self):
        return self.work / f"runs/.slurm-{self.id}"

    def await_steps(self, steps):
        self.wait(lambda: self.steps() >= steps, f"{steps} steps")

    def wait(self, condition, what):
        """Until it holds; a job that has ended will not get there."""
        def look():
            if condition():
                return True
            if self.state() in ENDED:
                return condition() or self.fail(what)
            return False
        try:
            eventually(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.out()}") from None

    def fail(self, what):
        raise AssertionError(f"the job has ended ({self.state()}) without: {what}")

    def start_again(self):
        """Slurm starts a requeued job after two minutes, for the sake of slow nodes. These need a
        second or two: a start within the second of the end is refused, and the job fails ("Job
        credential revoked")."""
        if self.restarts() > self.started_again:
            self.started_again = self.restarts()
            cluster.run("scontrol", "update", f"JobId={self.id}", "StartTime=now+3")

    def end(self):
        def ended():
            state = self.state()
            if state == "PENDING" and self.facts()["Reason"] == "BeginTime":
                self.start_again()
            return state in ENDED and state
        return eventually(ended, f"job {self.id} ends", patience=300)

    def nodes_of_actors(self):
        said = re.findall(r"^\d+: actor (\d+) on (n\d)$", self.out(), re.M)
        return {int(slot): node for slot, node in said}

    def gradients_from(self, versions):
        """The nodes whose actors' gradients are in these versions, as the journal has it."""
        nodes = self.nodes_of_actors()
        found = set()
        for version in versions:
            told = subprocess.run(
                [BIN / "starling", "replay", self.run_dir, "--explain", str(version)],
                capture_output=True, text=True, check=True).stdout
            found |= {nodes[int(slot)] for slot in re.findall(r"^ +(\d+) +\d+\.\d+ ", told, re.M)}
        return found

    def processes(self, program):
        return [pid for pid, command in cluster.processes().items()
                if Path(command[0]).name == program and str(self.run_dir.name) in " ".join(command)]


class SlurmTest(unittest.TestCase):
    def assert_ended_well(self, job, steps):
        state = job.end()
        self.assertEqual(state, "COMPLETED", f"{job.facts()}\n{job.out()}")
        self.assertEqual(job.facts()["ExitCode"], "0:0")
        summary = job.summary()
        self.assertGreaterEqual(summary["steps"], steps)
        gradients = summary["gradients"]
        self.assertEqual(gradients["received"],
                         gradients["applied"] + sum(gradients["dropped"].values()) +
                         gradients["in_flight"])
        self.assertTrue((job.run_dir / summary["final_checkpoint"]).exists())
        self.assertIn("done in", job.out())
        self.assert_nothing_left(job)
        return summary

    def assert_nothing_left(self, job):
        eventually(lambda: not cluster.processes(), f"no process is left: {cluster.processes()}")
        self.assertFalse(job.place().exists(), "the job's keys are there")
        self.assertFalse((job.run_dir / "endpoint").exists())
        left = [path for path in cluster.runtime.glob("starling-*/*") if path.name != "lock"]
        self.assertEqual(left, [], "sockets or shared memory of a learner")

    def assert_goes_on(self, job):
        """Every life of the learner began at a checkpoint of the one before, in its own term."""
        lines = job.metrics()
        for before, after in zip(lines, lines[1:]):
            if after["term"] != before["term"]:
                self.assertGreater(after["steps"], 0)
                self.assertGreater(after["term"], before["term"])
        return lines[-1]["term"]

    def test_trains_over_two_nodes_to_its_end(self):
        steps = 20 * STEPS_PER_SECOND
        # By itself, outside a job: it submits itself.
        job = Job(TWO_NODES, CATCH, "--set", f"run.steps={steps}", *PACE, command=(SCRIPT,))
        job.await_steps(2 * STEPS_PER_SECOND)
        endpoint = (job.run_dir / "endpoint").read_text().strip()
        self.assertRegex(endpoint, r"^tcp://127\.0\.0\.1:\d+$")  # NodeAddr
        self.assertEqual(job.place().stat().st_mode & 0o777, 0o700)
        for secret in job.place().glob("*.secret"):
            self.assertEqual(secret.stat().st_mode & 0o777, 0o600)
        plain = subprocess.run(
            [BIN / "starling-actor", "--connect", endpoint, "--connect-timeout", "2"],
            capture_output=True, text=True)
        self.assertEqual(plain.returncode, 1)
        self.assertIn("it may ask for keys", plain.stderr)
        summary = self.assert_ended_well(job, steps)
        self.assertEqual(summary["actors"], {"started": 3, "restarted": 0})
        # One CPU of n1 is the learner's.
        self.assertEqual(sorted(job.nodes_of_actors().values()), ["n1", "n2", "n2"])
        self.assertEqual(job.gradients_from(range(10, 20)), {"n1", "n2"})
        self.assertEqual(len(re.findall(r"actor \d joined .*, key actor\)", job.log())), 3)
        self.assertIn("without a key", job.log())

    def test_goes_on_after_its_time_limit(self):
        steps = 45 * STEPS_PER_SECOND
        job = Job([*TWO_NODES, *SHORT], CATCH, "--set", f"run.steps={steps}", *PACE)
        summary = self.assert_ended_well(job, steps)
        self.assertGreaterEqual(job.restarts(), 1)
        self.assertEqual(self.assert_goes_on(job), 1 + job.restarts())
        self.assertIn("the time limit is near", job.out())
        self.assertIn("going on with catch", job.out())
        self.assertEqual(summary["learner"]["restarted"], 0)

    def test_goes_on_after_it_was_requeued_and_preempted(self):
        steps = 20 * STEPS_PER_SECOND
        job = Job(TWO_NODES, CATCH, "--set", f"run.steps={steps}", *PACE, "--run-dir", "runs/mine")
        job.run_dir = job.work / "runs/mine"
        job.await_steps(3 * STEPS_PER_SECOND)
        cluster.run("scontrol", "requeue", job.id)
        job.wait(lambda: job.state() == "PENDING", "requeued")
        # It was stopped in time and saved everything, not only the last regular checkpoint.
        saved = job.steps()
        self.assertEqual(job.summary()["steps"], saved)
        job.start_again()
        job.await_steps(saved + 3 * STEPS_PER_SECOND)
        urgent = cluster.run("sbatch", "--parsable", "--partition=high", "--nodes=3", "--exclusive",
                             f"--output={job.work}/urgent.out", "--wrap=true").strip()
        job.wait(lambda: job.restarts() == 2, "preempted")
        eventually(lambda: "JobState=COMPLETED" in cluster.run("scontrol", "show", "job", urgent),
                   "the urgent job")
        self.assert_ended_well(job, steps)
        self.assertEqual(self.assert_goes_on(job), 3)

    def test_is_cancelled(self):
        job = Job(TWO_NODES, CATCH, "--set", "run.steps=1_000_000_000", *PACE)
        job.await_steps(STEPS_PER_SECOND)
        cluster.run("scancel", job.id)
        self.assertEqual(job.end(), "CANCELLED")
        self.assert_nothing_left(job)
        summary = job.summary()
        self.assertEqual(summary["steps"], job.steps())
        self.assertTrue((job.run_dir / summary["final_checkpoint"]).exists())
        # Another job goes on with it; here on one node.
        steps = summary["steps"] + 2 * STEPS_PER_SECOND
        more = Job(["--nodes=1", "--ntasks=2", "--mem=500"], "--resume", job.run_dir,
                   "--set", f"run.steps={steps}")
        more.run_dir = job.run_dir
        summary = self.assert_ended_well(more, steps)
        self.assertEqual(summary["actors"], {"started": 1, "restarted": 0})
        self.assertEqual(self.assert_goes_on(more), 2)

    def test_survives_deaths(self):
        steps = 25 * STEPS_PER_SECOND
        job = Job(TWO_NODES, CATCH, "--set", f"run.steps={steps}", *PACE)
        job.await_steps(2 * STEPS_PER_SECOND)
        for program in ["starling-actor", "starling-learner", "starling"]:
            pid = job.processes(program)[0]
            os.kill(pid, signal.SIGKILL)
            # Actors are joined again, and as many as before.
            job.wait(lambda: pid not in cluster.processes() and
                     len(job.processes("starling-actor")) == 3, f"another {program}")
            job.await_steps(job.steps() + 2 * STEPS_PER_SECOND)
        summary = self.assert_ended_well(job, steps)
        self.assertEqual(self.assert_goes_on(job), 3)
        self.assertIn("ended with status 137: started again", job.out())
        self.assertIn("the learner's process died (status 137): started again", job.out())
        # The learner's death was counted by a supervisor that died, too.
        self.assertEqual(summary["learner"]["restarted"], 0)
        self.assertIn("the learner (pid", job.log())

    def test_trains_an_external_net(self):
        seat = ROOT / "examples/seat"
        lib = ROOT / "build/release/lib"
        work = cluster.dir / "work"
        subprocess.run(
            ["cc", "-I", ROOT / "api", seat / "regression.c", "-o", work / "regression", f"-L{lib}",
             "-lstarling-seat", "-lstarling", "-lm", f"-Wl,-rpath,{lib}"], check=True)
        subprocess.run(["./regression", "init"], cwd=work, check=True)
        job = Job(TWO_NODES, seat / "regression.toml", "--set", "run.steps=1_000_000_000")
        job.await_steps(100_000)
        programs = lambda: [pid for pid, command in cluster.processes().items()
                            if Path(command[0]).name == "regression"]
        pid = programs()[0]
        os.kill(pid, signal.SIGKILL)
        job.wait(lambda: pid not in programs() and len(programs()) == 3, "another actor")
        job.await_steps(job.steps() + 100_000)
        cluster.run("scancel", job.id)
        self.assertEqual(job.end(), "CANCELLED")
        self.assert_nothing_left(job)
        self.assertEqual(sorted(job.nodes_of_actors().values()), ["n1", "n2", "n2"])
        summary = job.summary()
        self.assertEqual(summary["actors"], {"started": 3, "restarted": 1})
        self.assertLessEqual(summary["staleness"]["max"], 2)

    def test_gives_up_where_nothing_is_learned_within_the_time_limit(self):
        job = Job(["--nodes=1", "--ntasks=2", "--mem=500", *SHORT], CATCH, "--set",
                  "env.step_ms=60_000", "--set", "staleness.deadline_s=10_000")
        self.assertEqual(job.end(), "FAILED")
        self.assertEqual(job.restarts(), 0)
        self.assertIn("not requeued", job.out())
        self.assert_nothing_left(job)

    def plain(self, *words):
        """A job on two nodes without train.sbatch. Both are one machine here, so that Open MPI's
        shared memory would have the same name on both."""
        return Job([*TWO_NODES, "--output=slurm-%j.out",
                    "--export=ALL,OMPI_MCA_btl=^vader,OMPI_MCA_btl_tcp_if_include=lo",
                    "--wrap", " ".join(map(str, words))],
                   command=("sbatch", "--no-requeue"))

    def ranks(self, *words):
        """Four ranks, as a step."""
        return self.plain("srun --mpi=pmix --kill-on-bad-exit=1", BIN / "starling-rank", *words)

    @HAS_MPI
    def test_starling_train_keeps_its_ranks_on_its_node(self):
        run_dir = cluster.dir / "work/runs/one-node"
        job = self.plain(BIN / "starling", "train", CATCH, "--run-dir", run_dir,
                         "--set run.steps=24000", "--set actors.count=3", "--set staleness.bound=0",
                         "--set updates.exchange=allreduce")
        job.run_dir = run_dir
        self.assert_ended_well(job, 24_000)

    @HAS_MPI
    def test_trains_without_a_learner(self):
        pace = 4 * 32 * 50  # steps a second
        run_dir = cluster.dir / "work/runs/ranks"
        # 1. A rank is killed: the step ends, and its job fails.
        job = self.ranks(CATCH, "--run-dir", run_dir, *PACE, "--set run.steps=1_000_000_000",
                         "--set actors.count=4", "--set staleness.bound=0",
                         "--set updates.exchange=allreduce")
        job.run_dir = run_dir
        job.await_steps(3 * pace)
        places = {Path(f"/proc/{pid}/environ").read_text().split("SLURMD_NODENAME=")[1][:2]
                  for pid in job.processes("starling-rank")}
        self.assertEqual(places, {"n1", "n2"})
        os.kill(job.processes("starling-rank")[-1], signal.SIGKILL)
        self.assertEqual(job.end(), "FAILED")
        eventually(lambda: not cluster.processes(), "no process is left")
        # 2. Another goes on with it, after all updates that had been applied. A signal stops it, as
        # before its time limit, and the next is cancelled.
        reached = max(line["steps"] for line in job.metrics())
        for term, stop in [(2, ["--signal=USR1"]), (3, [])]:
            again = self.ranks("--resume --run-dir", run_dir)
            again.run_dir = run_dir
            again.wait(lambda: again.metrics()[-1]["term"] == term, f"term {term}")
            first = next(line["steps"] for line in again.metrics() if line["term"] == term)
            self.assertGreaterEqual(first, reached)
            again.await_steps(first + 2 * pace)
            cluster.run("scancel", *stop, again.id)
            self.assertEqual(again.end(), "FAILED" if stop else "CANCELLED")
            reached = again.summary()["steps"]
            self.assertEqual(reached, again.steps())
        # 3. The last does the rest. The replay finds every update.
        last = self.ranks("--resume --run-dir", run_dir, f"--set run.steps={reached + 2 * pace}")
        last.run_dir = run_dir
        self.assertEqual(last.end(), "COMPLETED", last.out())
        self.assertGreaterEqual(last.summary()["steps"], reached + 2 * pace)
        eventually(lambda: not cluster.processes(), "no process is left")
        replay = subprocess.run([BIN / "starling", "replay", run_dir], capture_output=True,
                                text=True)
        self.assertIn("bit for bit", replay.stdout + replay.stderr)

    def test_tells_of_mistakes(self):
        job = Job(["--nodes=1", "--mem=500"], CATCH, "--set", "run.stepz=1")
        self.assertEqual(job.end(), "FAILED")
        self.assertEqual(job.facts()["ExitCode"], "2:0")
        self.assertIn('did you mean "steps"?', job.out())
        self.assert_nothing_left(job)


def why_not():
    missing = [name for name in ["slurmctld", "slurmd", "munged", "sbatch", "srun"]
               if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if missing:
        return f"{', '.join(missing)} missing: scripts/setup --slurm installs Slurm"
    return ""


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # as Ctrl-C: the cluster goes with us
    if why_not():
        print(f"slurm_test: skipped: {why_not()}")
        sys.exit(0)
    started = time.monotonic()
    try:
        unittest.main(verbosity=2)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if cluster:
            cluster.stop()
        print(f"slurm_test: {time.monotonic() - started:.0f} s", file=sys.stderr)
