"""Runs the policy in DIR on the steps in DIR/steps.json, and compares the outputs: policy.onnx with
ONNX Runtime, or policy.safetensors with policy.py and PyTorch.

Each step has arrays of floats by name, {"shape": [...], "values": FILE}: inputs, what is expected,
and which rows begin an episode. Prints one line for each output: its name and the largest
difference, for actions the number of rows that differ.
"""
import json
import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])


def array(described):
    return np.fromfile(folder / described["values"], dtype=np.float32).reshape(described["shape"])


class Onnx:
    def __init__(self):
        import onnxruntime
        self.session = onnxruntime.InferenceSession(str(folder / "policy.onnx"),
                                                    providers=["CPUExecutionProvider"])

    def states(self, rows):
        return {given.name[len("state."):]: np.zeros((rows, given.shape[1]), np.float32)
                for given in self.session.get_inputs() if given.name.startswith("state.")}

    def __call__(self, inputs, states):
        """The outputs, and the states after them."""
        outputs = self.session.get_outputs()
        given = {"state." + name: state for name, state in states.items()}
        found = self.session.run([output.name for output in outputs], {**inputs, **given})
        rows = len(next(iter(inputs.values())))
        for output, value in zip(outputs, found):
            assert value.shape == (rows, *output.shape[1:]), (output.name, output.shape)
        found = dict(zip([output.name for output in outputs], found))
        return found, {name: found["next_state." + name] for name in states}


class Torch:
    def __init__(self):
        import torch
        sys.path.insert(0, str(folder))
        import policy
        self.torch, self.net = torch, policy.load(folder / "policy.safetensors")

    def states(self, rows):
        return {}  # the first step tells

    def __call__(self, inputs, states):
        torch = self.torch
        given = {name: torch.from_numpy(value) for name, value in inputs.items()}
        mask = given.pop("action_mask", None)
        observation = given.get("observation")
        if observation is None:
            observation = {name[len("observation."):]: value for name, value in given.items()}
        with torch.no_grad():
            states = {name: torch.from_numpy(state) for name, state in states.items()}
            out = self.net(observation, mask, states or None)
        found = {name: value.numpy() for name, value in out._asdict().items()
                 if name != "states" and value is not None}
        return found, {name: state.numpy() for name, state in out.states.items()}


run = Onnx() if (folder / "policy.onnx").exists() else Torch()
steps = json.loads((folder / "steps.json").read_text())
rows = steps[0]["begins"]["shape"][0]
states = run.states(rows)
worst = {}
for step in steps:
    begins = array(step["begins"]) != 0
    states = {name: np.where(begins[:, None], np.float32(0), state)
              for name, state in states.items()}
    inputs = {name: array(described) for name, described in step["inputs"].items()}
    found, states = run(inputs, states)
    for name, described in step["expected"].items():
        expected = array(described)
        assert found[name].shape == expected.shape, (name, found[name].shape, expected.shape)
        assert np.isfinite(found[name]).all(), name
        difference = np.abs(found[name].astype(np.float64) - expected)
        this = float(np.sum(difference.reshape(rows, -1).max(1) > 0.5)
                     if found[name].dtype == np.int64 else difference.max())
        worst[name] = max(worst.get(name, 0.0), this)
# One environment alone.
first = {name: array(described)[:1] for name, described in steps[0]["inputs"].items()}
assert run(first, run.states(1))[0]["action"].shape[0] == 1
for name, difference in worst.items():
    print(name, difference)
