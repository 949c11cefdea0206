"""train, evaluate, sweep, and the runs that they leave."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

import numpy as np
import starling


class TrainingTest(unittest.TestCase):
    def setUp(self):
        # Shells start what runs in the background with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)

    def train(self, **more):
        overrides = {"run.steps": 20_000, "actors.count": 1, **more.pop("overrides", {})}
        return starling.train("catch.toml", overrides=overrides, progress=False, **more)

    def test_a_run_is_numbered_as_starling_does_it(self):
        self.assertEqual(self.train().path, Path("runs/catch"))
        self.assertEqual(self.train().path, Path("runs/catch-2"))
        self.assertEqual(self.train(overrides={"run.name": "mine"}).path, Path("runs/mine"))

    def test_its_numbers(self):
        run = self.train(overrides={"staleness.bound": 0, "run.metrics_s": 0.2})
        self.assertEqual(run.config["staleness"]["bound"], 0)
        self.assertGreaterEqual(run.summary["steps"], 20_000)
        self.assertEqual(run.staleness.tolist(), [run.summary["gradients"]["applied"]])
        steps, returns = run.curve()
        self.assertEqual(steps[-1], run.summary["steps"])
        self.assertEqual(len(steps), len(returns))
        self.assertIn("losses.policy", run.metrics)
        self.assertEqual(run.evaluations, {})
        self.assertEqual(run.path / run.summary["final_checkpoint"], run.checkpoint)
        self.assertIn("policy.weight", starling.load_weights(run))
        with self.assertRaisesRegex(starling.Mistake, "has no fame; it has"):
            run.curve("fame")

    def test_it_is_evaluated_and_gone_on_with(self):
        run = self.train(overrides={"run.steps": 200_000})
        again = starling.evaluate(run, episodes=50, greedy=True)
        self.assertEqual((again.episodes, again.greedy), (50, True))
        self.assertGreater(again.mean, 0)
        more = starling.train(resume=run, overrides={"run.steps": 220_000}, progress=False)
        self.assertEqual(more.path, run.path)
        self.assertGreaterEqual(more.summary["steps"], 220_000)
        begun = self.train(run_dir="begun", init_from=run)
        self.assertIn("checkpoints", begun.config["run"]["init_from"])

    def test_the_same_call_begins_and_goes_on(self):
        for steps in (20_000, 40_000):
            run = self.train(run_dir="kept", continues=True, overrides={"run.steps": steps})
            self.assertGreaterEqual(run.summary["steps"], steps)
        self.assertEqual(run.path, Path("kept"))
        self.assertIn("resuming from", (run.path / "log").read_text())
        with self.assertRaisesRegex(starling.Mistake, "give run_dir"):
            self.train(continues=True)

    def test_progress_is_told(self):
        lines = []
        run = starling.train("catch.toml", overrides={"run.steps": 20_000, "actors.count": 1},
                             progress=lines.append)
        self.assertEqual(lines[-1]["steps"], run.summary["steps"])

    def test_values_of_every_kind(self):
        run = self.train(overrides={"net.hidden": np.array([32]), "net.kind": "mlp",
                                    "optimizer.lr": np.float64(1e-3), "run.tensorboard": np.False_, "staleness.bound": "unbounded",
                                    "run.name": 'a "quoted" name',
                                    "run.steps": np.int64(10_000)})
        self.assertEqual(run.config["net"]["hidden"], [32])
        self.assertEqual(run.config["optimizer"]["lr"], 1e-3)
        self.assertEqual(run.config["run"]["steps"], 10_000)
        self.assertEqual(run.config["run"]["name"], 'a "quoted" name')

    def test_mistakes_are_sentences(self):
        for given, said in ((dict(overrides={"run.stepz": 1}), 'did you mean "steps"'),
                            (dict(overrides={"run.steps": object()}), "nothing that a configuration"),
                            (dict(init_from="/nowhere"), "neither a run directory nor a checkpoint")):
            with self.assertRaisesRegex(starling.Mistake, said):
                self.train(**given)
        with self.assertRaisesRegex(starling.Mistake, "overrides is list"):
            starling.train("catch.toml", overrides=["run.steps=1"])
        Path("odd.toml").write_text("run = 3")
        with self.assertRaisesRegex(starling.Mistake, "odd.toml"):
            starling.train("odd.toml")
        with self.assertRaisesRegex(starling.Mistake, "give a config, or a run"):
            starling.train()
        with self.assertRaisesRegex(starling.Mistake, "nowhere.toml"):
            starling.train("nowhere.toml", progress=False)
        with self.assertRaisesRegex(starling.Mistake, "is no run directory"):
            starling.Run("runs")
        with self.assertRaisesRegex(starling.Mistake, "leave run_dir out"):
            starling.train(resume="runs", run_dir="elsewhere")
        with self.assertRaisesRegex(starling.Mistake, "neither a run directory"):
            starling.evaluate("nowhere")

    def test_a_mistake_is_of_this_call_and_not_of_an_earlier_one(self):
        run = self.train()
        summary = run.path / "summary.json"
        summary.write_text(summary.read_text().replace('"error": null', '"error": "an old one"'))
        for given, said in ((dict(config="catch.toml", run_dir=run.path), "is not empty"),
                            (dict(resume=run, overrides={"no.such": 1}), "unknown section")):
            with self.assertRaisesRegex(starling.Mistake, said):
                starling.train(progress=False, **given)

    def test_it_ends_in_order_with_what_interrupts_it(self):
        endless = {"run.steps": 10**12, "actors.count": 1, "run.metrics_s": 0.2}
        for name, raised in (("ctrl-c", KeyboardInterrupt), ("pruned", json.JSONDecodeError),
                             ("elsewhere", starling.Error)):
            def interrupt(_line):
                if raised is json.JSONDecodeError:
                    json.loads("not worth it")
                elif raised is starling.Error:
                    self.stop_child()
                else:
                    os.kill(os.getpid(), signal.SIGINT)

            with self.assertRaises(raised):
                starling.train("catch.toml", overrides=endless, run_dir=name, progress=interrupt)
            run = starling.Run(name)
            self.assertGreater(run.summary["steps"], 0)
            self.assertIsNotNone(run.checkpoint)

    def stop_child(self):
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for child in children:  # none, once the run has ended
            os.kill(int(child), signal.SIGTERM)

    def test_it_does_not_outlive_its_python(self):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
            import starling
            starling.train("catch.toml", overrides={"run.steps": 10**12, "actors.count": 1},
                           run_dir="orphan", progress=lambda line: print("trains", flush=True))
        """)], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "trains\n")
        child.kill()
        child.wait()
        child.stdout.close()
        while starling.Run("orphan").summary is None:  # its last words
            time.sleep(0.05)

    def test_it_goes_where_starling_would_put_it(self):
        run = self.train(run_dir=None, overrides={"run.dir": "there"})
        self.assertEqual(run.path, Path("there"))
        text = (starling.configs() / "catch.toml").read_text()
        Path("mine.toml").write_text(text.replace("[run]\n", '[run]\nname = "named"\n'))
        run = starling.train("mine.toml", overrides={"actors.count": 1}, progress=False)
        self.assertEqual(run.path, Path("runs/named"))

    def test_a_sweep(self):
        Path("grid.toml").write_text(
            f'config = "{starling.configs() / "catch.toml"}"\nseeds = [1, 2]\neval_episodes = 10\n'
            "[set]\nrun.steps = 20_000\nactors.count = 1\n[grid]\nstaleness.bound = [0, 4]\n")
        sweep = starling.sweep("grid.toml", progress=False)
        self.assertEqual(sweep.path, Path("sweeps/grid"))
        self.assertEqual([point.settings["staleness.bound"] for point in sweep.points], ["0", "4"])
        for point, bound in zip(sweep.points, (0, 4)):
            self.assertEqual(len(point.runs), 2)
            self.assertTrue(np.isfinite(point.mean))
            self.assertLessEqual(len(point.runs[0].staleness), bound + 1)


if __name__ == "__main__":
    unittest.main()
