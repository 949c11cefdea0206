"""Runs DIR/policy.onnx with ONNX Runtime on the steps in DIR/steps.json, and compares the outputs.

Each step has arrays of floats by name, {"shape": [...], "values": FILE}: inputs, what is expected,
and which rows begin an episode. Prints one line for each output: its name and the largest
difference, for actions the number of rows that differ.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

folder = Path(sys.argv[1])


def array(described):
    return np.fromfile(folder / described["values"], dtype=np.float32).reshape(described["shape"])


def outputs(session, step, states):
    inputs = {name: array(described) for name, described in step["inputs"].items()}
    begins = array(step["begins"]) != 0
    for name, state in states.items():
        inputs[name] = np.where(begins[:, None], np.float32(0), state)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


session = onnxruntime.InferenceSession(str(folder / "policy.onnx"),
                                       providers=["CPUExecutionProvider"])
steps = json.loads((folder / "steps.json").read_text())
rows = steps[0]["begins"]["shape"][0]
states = {given.name: np.zeros((rows, given.shape[1]), np.float32)
          for given in session.get_inputs() if given.name.startswith("state.")}
worst = {}
for step in steps:
    found = outputs(session, step, states)
    for output in session.get_outputs():
        declared = (rows, *output.shape[1:])
        assert found[output.name].shape == declared, (output.name, declared)
    for name, described in step["expected"].items():
        expected = array(described)
        assert found[name].shape == expected.shape, (name, found[name].shape, expected.shape)
        assert np.isfinite(found[name]).all(), name
        difference = np.abs(found[name].astype(np.float64) - expected)
        this = float(np.sum(difference.reshape(rows, -1).max(1) > 0.5)
                     if found[name].dtype == np.int64 else difference.max())
        worst[name] = max(worst.get(name, 0.0), this)
    states = {name: found["next_" + name] for name in states}
# One environment alone.
first = {name: array(described)[:1] for name, described in steps[0]["inputs"].items()}
first.update({name: np.zeros((1, state.shape[1]), np.float32) for name, state in states.items()})
assert session.run(["action"], first)[0].shape[0] == 1
for name, difference in worst.items():
    print(name, difference)
