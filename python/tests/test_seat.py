"""Seats: fleets whose actors are programs in Python."""
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import starling
from starling._library import OVER

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIRST = {"slope": np.zeros(2, np.float32), "offset": np.zeros(1, np.float32)}
LINE = """
    import numpy as np, os, sys, starling
    seat = starling.join()
    rng = np.random.default_rng([seat.seed, seat.slot])
    def gradient(w):
        x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
        e = x @ w["slope"] + w["offset"] - x @ np.array([3, -2], np.float32) - 1
        return {"slope": 2 * e @ x / 64, "offset": 2 * e.mean(keepdims=True)}
"""


class SeatTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        starling.save_weights(self.folder / "model.safetensors", FIRST)

    def fit(self, loop, name="run", **overrides):
        program = self.folder / f"{name}.py"
        program.write_text(textwrap.dedent(LINE) + textwrap.dedent(loop))
        config = self.folder / "line.toml"
        config.write_text('[net]\nkind = "external"\n[optimizer]\nkind = "sgd"\nlr = 0.05\n'
                          "clip_norm = 0\n[staleness]\nbound = 2\n")
        return starling.train(config, run_dir=self.folder / name, progress=False, overrides={
            "net.initial": str(self.folder / "model.safetensors"), "run.steps": 200_000,
            "actors.count": 2, "actors.command": [sys.executable, str(program)], **overrides})

    def log(self, name="run"):
        return (self.folder / name / "log").read_text()

    def test_a_line_is_fitted_within_the_bound(self):
        run = self.fit("""
            for grant in seat:
                weights = seat.weights()
                assert weights.version >= grant.version and len(weights) == 2
                seat.push(gradient(weights), samples=64, episodes=[(1.5, 3)], value_loss=0.5)
        """)
        weights = starling.load_weights(run)
        np.testing.assert_allclose(weights["slope"], [3, -2], atol=0.05)
        np.testing.assert_allclose(weights["offset"], [1], atol=0.05)
        self.assertLessEqual(len(run.staleness), 3)
        self.assertEqual(run.summary["mean_return"], 1.5)
        self.assertEqual(run.summary["gradients"]["dropped"], {})
        self.assertEqual(run.summary["actors"], {"started": 2, "restarted": 0})
        self.assertIn(0.5, run.metrics["losses.value"])

    def test_without_a_copy_and_in_the_order_of_the_net(self):
        run = self.fit("""
            for grant in seat:
                weights = seat.weights()
                space, made = seat.space(), gradient(weights)
                if grant.number % 2:
                    seat.push(list(made.values()), samples=64)
                    continue
                for name in space:
                    space[name][...] = made[name]
                seat.push(space, samples=64)
        """)
        np.testing.assert_allclose(starling.load_weights(run)["slope"], [3, -2], atol=0.05)

    def test_mistakes_leave_the_grant_and_the_learner_alone(self):
        run = self.fit("""
            import json
            seat.next(), seat.weights()
            good, said = gradient(seat.weights()), []
            def refused(bad, samples=64, **more):
                try:
                    seat.push(bad, samples=samples, **more)
                    said.append("nothing")
                except starling.Mistake as error:
                    said.append(str(error))
            refused({**good, "slope": np.zeros(3, np.float32)})
            refused({**good, "slope": np.zeros(2)})
            refused({**good, "slope": np.array([0, np.nan], np.float32)})
            refused({"slope": good["slope"]})
            refused({**good, "more": good["slope"]})
            refused([good["slope"]])
            refused(good, samples=0)
            refused(good, samples=2.5)
            refused(None)
            refused(good, episodes=[3])
            assert seat.push(good, samples=64)
            refused(good)
            for grant in seat:
                seat.weights()
                seat.push(good, samples=64)
            assert seat.refused == (0, ""), seat.refused
            print(json.dumps(said))
        """, **{"actors.count": 1, "run.steps": 6400})
        said = json.loads(next(line for line in self.log().splitlines() if line.startswith("[")))
        for got, wanted in zip(said, (
                "gradient of slope: its shape is (3,), not (2,)",
                "gradient of slope: its type is float64, not float32",
                "gradient of slope: number 1 of 2 is nan", "the gradient lacks offset",
                "gradient of more: the net has no such tensor",
                "the gradient has 1 arrays, the net 2", "samples is 0", "samples is 2.5",
                "the gradient is NoneType", "episodes are", "there is no grant for it"),
                               strict=True):
            self.assertIn(wanted, got)
        self.assertEqual(run.summary["gradients"]["dropped"], {})

    def test_an_actor_that_dies_is_replaced(self):
        run = self.fit("""
            once = os.path.join(os.environ["STARLING_RUN_DIR"], f"died-{seat.slot}")
            for grant in seat:
                seat.push(gradient(seat.weights()), samples=64)
                if seat.applied > 10 and not os.path.exists(once):
                    open(once, "w").close()
                    if seat.slot == 0:
                        os.kill(os.getpid(), 9)
                    raise RuntimeError("out of luck")
        """)
        self.assertEqual(run.summary["actors"]["restarted"], 2)
        self.assertIn("RuntimeError: out of luck", self.log())
        np.testing.assert_allclose(starling.load_weights(run)["slope"], [3, -2], atol=0.05)

    def test_a_program_that_never_works_ends_the_run_with_its_reason(self):
        with self.assertRaisesRegex(starling.Error, "no such luck"):
            self.fit('raise SystemExit("no such luck")')

    def test_joining_from_outside(self):
        with self.assertRaisesRegex(starling.Mistake, "no run has started this program"):
            starling.join()
        with self.assertRaisesRegex(starling.Error, "no learner within 0.05 s"):
            starling.join(self.folder, connect_timeout=0.05)
        told = {"STARLING_RUN_DIR": str(self.folder), "STARLING_CONNECT_TIMEOUT": "0.04"}
        with mock.patch.dict(os.environ, told):
            with self.assertRaisesRegex(starling.Error, "no learner within 0.04 s"):
                starling.join()

    def test_joining_with_mistakes(self):
        for place, options, said in ((5, {}, "run is int, not a path"),
                                     ("a\0b", {}, "run has a zero byte"),
                                     (self.folder, {"secret": 7}, "secret is int"),
                                     (self.folder, {"connect_timeout": -1}, "connect_timeout is -1"),
                                     (self.folder, {"slot": 1.5}, "slot is 1.5")):
            with self.assertRaisesRegex(starling.Mistake, said):
                starling.join(place, **options)
        (self.folder / "endpoint").write_text("http://x")
        with self.assertRaisesRegex(starling.Mistake, "http://x"):
            starling.join(self.folder / "endpoint")

    def test_a_run_that_is_just_over(self):
        with mock.patch.object(starling.Seat, "_wait", return_value=OVER):
            with self.assertRaisesRegex(starling.RunOver, "the run was over when"):
                starling.join(self.folder)

    def test_weights_survive_their_file(self):
        path = self.folder / "w.safetensors"
        weights = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": Tensor()}
        starling.save_weights(path, weights)
        loaded = starling.load_weights(path)
        self.assertEqual(list(loaded), ["a", "b"])
        np.testing.assert_array_equal(loaded["a"], weights["a"])
        self.assertEqual(loaded["b"].shape, ())
        one = np.ones(1, np.float32)
        for tensors, said in (({"w": np.zeros(1)}, "w is float64, not float32"),
                              ({}, "a tensor at least"), ({"w": one[:0]}, "w has no numbers"),
                              ({"w": one / 0 * np.float32(0)}, "w has numbers that are not finite"),
                              ({1: one}, "1 is no name"), ({"optimizer.w": one}, "is no name"),
                              ({"__metadata__": one}, "is no name")):
            with self.assertRaisesRegex(starling.Mistake, said), np.errstate(all="ignore"):
                starling.save_weights(path, tensors)
        self.assertEqual(list(starling.load_weights(path)), ["a", "b"])  # the earlier file
        self.assertEqual(list(self.folder.glob("*partial*")), [])
        entry = {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}
        for header in ("5", "null", "[" * 100_000, json.dumps({"w": entry})):
            path.write_bytes(struct.pack("<Q", len(header)) + header.encode())
            with self.assertRaisesRegex(starling.Mistake, "no safetensors file"):
                starling.load_weights(path)


class Tensor:
    """As a parameter of PyTorch on a GPU: numpy takes it only from the host and without its history."""

    def detach(self):
        return self

    def cpu(self):
        return np.float32(7)

    def __array__(self, *_):
        raise TypeError("on a GPU")


class ExampleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def call(self, program, *words):
        return subprocess.run([sys.executable, program, *words], cwd=self.folder, check=True,
                              capture_output=True, text=True).stdout

    def train(self, example, program, config, steps):
        shutil.copytree(EXAMPLES / example, self.folder, dirs_exist_ok=True)
        self.call(program, "init")
        # The interpreter that calls, even if another is first in $PATH; Debian's is python3 alone.
        python = "python" if Path(sys.executable).with_name("python").exists() else sys.executable
        run = starling.train(
            self.folder / config, run_dir=self.folder / "run", progress=False, overrides={
                "run.steps": steps, "net.initial": str(self.folder / "model.safetensors"),
                "actors.command": [python, str(self.folder / program)]})
        self.assertLessEqual(len(run.staleness), 5)
        return run

    def test_supervised(self):
        self.train("supervised", "spirals.py", "spirals.toml", 1_000_000)
        self.assertGreater(float(self.call("spirals.py", "score", "run").split()[0]), 90)

    def test_torch_a3c(self):
        for module in ("gymnasium", "torch"):
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"no {module} here")
        run = self.train("torch_a3c", "actor_critic.py", "cartpole.toml", 60_000)
        self.assertGreater(run.summary["mean_return"], 30)
        self.assertIn("mean return", self.call("actor_critic.py", "play", "run"))


if __name__ == "__main__":
    unittest.main()
