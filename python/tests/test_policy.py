"""Policies: shapes, mistakes, and the same actions as `starling eval`."""
import copy
import tempfile
import unittest
from pathlib import Path

import numpy as np
import starling

SHAPE = (10, 5, 1)


class PolicyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trained = starling.train("catch.toml", run_dir=Path(cls.folder.name) / "catch",
                                 overrides={"run.steps": 200_000, "actors.count": 1}, progress=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_one_environment_takes_and_gives_without_a_first_dimension(self):
        with starling.Policy.load(self.trained) as policy:
            self.assertIsInstance(policy.act(np.zeros(SHAPE)), int)
            self.assertEqual(policy.act(np.zeros((1, *SHAPE))).shape, (1,))
            self.assertEqual(policy.act({"observation": np.zeros(SHAPE)}) in (0, 1, 2), True)

    def test_many_environments(self):
        policy = starling.Policy.load(self.trained.path, envs=3)
        actions = policy.act(np.zeros((3, *SHAPE), np.float32))
        self.assertEqual((actions.shape, actions.dtype), ((3,), np.int32))
        self.assertEqual(policy.values().shape, (3,))
        self.assertEqual(policy.outputs().shape, (3, 3))

    def test_spaces(self):
        spaces = starling.Policy.load(self.trained).spaces
        self.assertEqual(spaces.env, "catch")
        self.assertEqual(spaces.arrays, (starling.Array("observation", SHAPE, 0.0, 1.0),))
        self.assertEqual((spaces.counts, spaces.box, spaces.width), ((3,), False, 1))
        self.assertEqual(spaces.action_names, ("stay", "left", "right"))
        self.assertEqual(spaces.steps, self.trained.summary["steps"])

    def test_a_seed_draws_the_same_again(self):
        policy = starling.Policy.load(self.trained, seed=5)
        seen = np.zeros(SHAPE)
        first = [policy.act(seen) for _ in range(30)]
        policy.seed(5)
        self.assertEqual([policy.act(seen) for _ in range(30)], first)
        self.assertEqual([starling.Policy.load(self.trained, seed=5).act(seen)], first[:1])

    def test_it_plays_catch(self):
        policy = starling.Policy.load(self.trained, greedy=True)
        caught = 0
        for column in range(5):
            paddle = 2
            for row in range(10):
                seen = np.zeros(SHAPE)
                seen[row, column] = seen[9, paddle] = 1
                if row < 9:
                    paddle = min(max(paddle + (0, -1, 1)[policy.act(seen)], 0), 4)
            caught += paddle == column
        self.assertGreaterEqual(caught, 4)

    def test_evaluate_draws_nothing(self):
        policy = starling.Policy.load(self.trained, seed=1)
        twin = starling.Policy.load(self.trained, seed=1)
        seen = np.zeros(SHAPE)
        self.assertEqual(policy.evaluate(seen).shape, (1,))
        self.assertEqual([policy.act(seen) for _ in range(20)], [twin.act(seen) for _ in range(20)])

    def test_whatever_gymnasium_gives(self):
        rng = np.random.default_rng(1)
        bits = rng.integers(2, size=SHAPE)
        policy = starling.Policy.load(self.trained)
        policy.act(bits.astype(float))
        wanted = policy.outputs()
        for given in (bits, bits[..., 0], {"seen": bits}, (bits,), (255 * bits).astype(np.uint8),
                      bits[None]):
            policy.act(given)
            np.testing.assert_array_equal(policy.outputs(), wanted)

    def test_it_cannot_be_copied(self):
        with self.assertRaisesRegex(TypeError, "cannot be copied"):
            copy.copy(starling.Policy.load(self.trained))

    def test_mistakes_are_sentences(self):
        policy = starling.Policy.load(self.trained, envs=2)
        for given, said in ((np.zeros(SHAPE), r"has shape \(10, 5, 1\): it is \(2, 10, 5, 1\)"),
                            (np.zeros((2, 1, 10, 5)), "has shape"),
                            (np.zeros((2, 5, 10, 1)), "has shape"),
                            (np.full((2, *SHAPE), np.nan), "number 0 of environment 0 is nan"),
                            ({"left": 1, "right": 2}, "the observation lacks observation")):
            with self.assertRaisesRegex(starling.Mistake, said):
                policy.act(given)
        with self.assertRaisesRegex(starling.Mistake, "trained without masks"):
            policy.act(np.zeros((2, *SHAPE)), mask=np.ones((2, 3)))
        for envs in (0, -1, 2**32 + 1):
            with self.assertRaisesRegex(starling.Mistake, f"envs is {envs}: it is from 1"):
                starling.Policy.load(self.trained, envs=envs)
        with self.assertRaisesRegex(starling.Mistake, r"begins has shape \(3,\)"):
            policy.reset([1, 1, 1])
        with self.assertRaisesRegex(starling.Mistake, "neither a run directory nor a checkpoint"):
            starling.Policy.load("/nowhere")
        self.assertTrue(issubclass(starling.Mistake, ValueError))


if __name__ == "__main__":
    unittest.main()
