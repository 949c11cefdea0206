"""The image of deploy/Containerfile: built step by step on a bare Debian, and run as a user without
rights."""

import json
import os
import signal
import tempfile
import unittest
from pathlib import Path

from image import Container, the_image

image = None


def setUpModule():
    global image
    image = the_image()


class ImageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.runs = Path(folder.name) / "runs"
        self.runs.mkdir()
        os.chmod(self.runs, 0o1777)  # as in the image, and so in a new volume

    def start(self, *command):
        container = Container(image, self.runs, *command)
        self.addCleanup(container.remove)
        return container

    def train(self, steps, *more):
        return self.start("starling", "train", "configs/catch.toml", "--run-dir", "runs/a",
                          "--continue", "--set", f"run.steps={steps}", "--set", "actors.count=2",
                          "--set", "checkpoint.every_steps=20_000", *more)

    def ends(self, container, status=0):
        self.assertEqual(container.wait(), status, container.output())
        return container.output()

    def summary(self):
        return json.loads((self.runs / "a/summary.json").read_text())

    def log(self):
        path = self.runs / "a/log"
        return path.read_text() if path.exists() else ""

    def await_checkpoint(self, container):
        """One with updates. Returns its steps: each of 32 envs has played five for an update."""
        def saved():
            names = [path.stem for path in (self.runs / "a/checkpoints").glob("t*.safetensors")]
            return max(int(name.rpartition("-v")[2]) for name in ["-v0", *names])
        return container.until(saved, "a checkpoint") * 32 * 5

    def test_says_how_it_is_used(self):
        self.assertIn("Usage: starling", self.ends(self.start()))
        self.assertIn("portable with", self.ends(self.start("starling", "--version")))
        self.assertIn(" ok ", self.ends(self.start("starling", "doctor", "--only", "cpu: loss")))
        for program in ("starling-learner", "starling-actor", "starling-bench"):
            self.assertIn("Usage: ", self.ends(self.start(program, "--help")))

    def test_trains_and_is_evaluated(self):
        self.ends(self.train(20_000))
        self.assertGreaterEqual(self.summary()["steps"], 20_000)
        self.assertEqual((self.runs / "a/log").stat().st_uid, 1000)
        evaluation = self.start("starling", "eval", "runs/a", "--episodes", "4")
        self.assertIn("mean return", self.ends(evaluation))
        self.assertIn("bit for bit", self.ends(self.start("starling", "replay", "runs/a")))

    def test_a_stop_is_a_clean_end_and_the_same_command_goes_on(self):
        container = self.train(10**9)
        self.await_checkpoint(container)
        container.signal(signal.SIGTERM)
        self.ends(container, 130)
        summary = self.summary()
        self.assertIsNone(summary["error"])
        self.assertIn(f"v{summary['updates']:012}", summary["final_checkpoint"])
        self.ends(self.train(summary["steps"] + 20_000))
        self.assertIn(f"resuming from runs/a/{summary['final_checkpoint']}", self.log())

    def test_one_that_was_killed_goes_on_without_a_loss(self):
        container = self.train(10**9)
        steps = self.await_checkpoint(container)
        container.signal(signal.SIGKILL)
        self.ends(container, 1)
        self.ends(self.train(steps + 400_000))
        self.assertIn("nothing is lost", self.log())
        self.assertNotIn("lost: ", self.log())
        self.assertIn("is complete", self.ends(self.train(steps + 400_000)))

    def test_actors_in_other_containers_train(self):
        self.ends(self.start("sh", "-euc", "mkdir -p runs/keys/allowed; cd runs; "
                             "for who in learner actor; do starling keys new $who; done; "
                             "cp keys/actor.public keys/allowed"))
        learner = self.train(400_000, "--no-actors", "--set", "wire.endpoint=tcp://*:0", "--set",
                             "wire.address=localhost", "--set",
                             "wire.secret=runs/keys/learner.secret", "--set",
                             "wire.allowed=runs/keys/allowed")
        endpoint = self.runs / "a/endpoint"
        learner.until(endpoint.exists, "an endpoint")
        place = endpoint.read_text().strip()
        keys = ["--secret", "runs/keys/actor.secret", "--learner-key", "runs/keys/learner.public"]
        actors = [self.start("starling-actor", "--connect", place, *keys) for _ in range(2)]
        self.ends(learner)
        for actor in actors:
            self.ends(actor)
        self.assertGreaterEqual(self.log().count(" joined (pid "), 2)

    def test_its_health_is_that_of_its_run(self):
        kind, *check = image.config["Healthcheck"]["Test"]
        self.assertEqual(kind, "CMD")
        container = self.train(10**9)
        container.until(lambda: container.execute(*check) == (0, "a: ok\n"), "being well")
        learner, = container.pids_of("starling-learner")
        os.kill(learner, signal.SIGSTOP)
        stuck = "a: stuck: the learner's loop turned "

        def is_stuck():
            status, said = container.execute(*check)
            return status == 1 and said.startswith(stuck)
        container.until(is_stuck, "being stuck")
        os.kill(learner, signal.SIGCONT)
        container.until(lambda: container.execute(*check) == (0, "a: ok\n"), "being well again")

    def test_no_process_that_lost_its_parent_stays(self):
        container = self.start("sh", "-c",
                               "(sleep 0.2 & touch runs/orphan); exec tail -f /dev/null")
        container.until((self.runs / "orphan").exists, "an orphan")

        def reaped():
            names = container.execute("sh", "-c", "cat /proc/[0-9]*/comm")[1].split()
            return "tail" in names and "sleep" not in names
        container.until(reaped, "its end")
        container.signal(signal.SIGTERM)
        self.ends(container, 143)

    def test_a_volume_of_others_is_said(self):
        os.chmod(self.runs, 0o755)
        said = self.ends(self.train(20_000), 2)
        self.assertIn("run directory runs/a cannot be written: Permission denied", said)
