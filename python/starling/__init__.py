"""Starling from Python: train, evaluate, sweep, read runs, act, and a seat in the fleet.

    import starling
    run = starling.train("cartpole.toml", overrides={"run.steps": 100_000})
    print(starling.evaluate(run).mean)
    policy = starling.Policy.load(run)
    action = policy.act(observation)

Needs numpy alone. docs/python.md has the guide.
"""

from ._library import Error, Mistake, RunOver, version
from .nets import load_weights, save_weights
from .policy import Array, Policy, Spaces
from .runs import Run
from .seat import Grant, Seat, Weights, join
from .training import Evaluation, Point, Sweep, configs, evaluate, sweep, train

__all__ = [
    "Array", "Error", "Evaluation", "Grant", "Mistake", "Point", "Policy", "Run", "RunOver", "Seat",
    "Spaces", "Sweep", "Weights", "configs", "evaluate", "join", "load_weights", "save_weights",
    "sweep", "train", "version",
]
