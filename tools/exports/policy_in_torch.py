"""A policy that Starling has trained, in plain PyTorch. Written by `starling export`.

    import breakout                              # this file
    net = breakout.load("breakout.safetensors")  # a torch.nn.Module
    out = net(torch.zeros(1, 10, 10, 4))         # N observations, as the environment gives them
    out.action                                   # (N, width): the likeliest

Several arrays are a dict by name. If the policy has memory, `out.states` goes into the next step,
net(observation, states=out.states), with zeros in the rows where an episode begins. `net.spec` has
the names and shapes. Needs nothing but PyTorch.
"""
import json
from typing import Dict, NamedTuple, Optional

import torch
from torch import nn
from torch.nn import functional


def check(name, x, shape, n="N"):
    """Raises ValueError unless `x` is a tensor (n, *shape)."""
    found = tuple(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
    if found != (n, *shape) and (n != "N" or len(found) == 0 or found[1:] != (*shape,)):
        raise ValueError(f"{name} is {found}, not a tensor {(n, *shape)}")


def rows(x):
    """Pictures (N, C, H, W) as rows (N, H * W * C)."""
    return x if x.dim() == 2 else x.permute(0, 2, 3, 1).flatten(1)


class Output(NamedTuple):
    action: torch.Tensor                    # (N, width): integers; of a box floats in its bounds
    value: torch.Tensor                     # (N): what the critic expects
    logits: Optional[torch.Tensor]          # (N, values) of choices, one after the other
    mean: Optional[torch.Tensor]            # (N, width) of a box, before its bounds,
    log_std: Optional[torch.Tensor]         # and the logarithms of its deviations
    states: Dict[str, torch.Tensor]         # (N, width) of each layer with memory, by name


class Conv(nn.Conv2d):
    def __init__(self, spec):
        super().__init__(spec["in"], spec["out"], spec["kernel"], spec["stride"])
        self.pad = spec["pad"]

    def forward(self, x):
        return super().forward(functional.pad(x, self.pad))


class MaxPool(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.spec = spec

    def forward(self, x):
        padded = functional.pad(x, self.spec["pad"], value=-float("inf"))
        return functional.max_pool2d(padded, self.spec["kernel"], self.spec["stride"])


class Residual(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.conv1, self.conv2 = Conv(spec), Conv(spec)

    def forward(self, x):
        return x + self.conv2(torch.relu(self.conv1(torch.relu(x))))


KINDS = {
    "conv": Conv,
    "max_pool": MaxPool,
    "residual": Residual,
    "linear": lambda spec: nn.Linear(spec["in"], spec["out"]),
    "lstm": lambda spec: nn.LSTMCell(spec["in"], spec["out"]),
    "gru": lambda spec: nn.GRUCell(spec["in"], spec["out"]),
    "layer_norm": lambda spec: nn.LayerNorm(spec["shape"]),
    "relu": lambda spec: nn.ReLU(),
    "tanh": lambda spec: nn.Tanh(),
}


class Layers(nn.Module):
    """Layers bottom up, on pictures (N, C, H, W) and rows (N, n)."""

    def __init__(self, specs):
        super().__init__()
        self.specs = specs
        for spec in specs:
            self.add_module(spec["name"], KINDS[spec["kind"]](spec))

    def climb(self, x, states, after, prefix=""):
        for spec in self.specs:
            layer, kind, name = getattr(self, spec["name"]), spec["kind"], prefix + spec["name"]
            if kind in ("conv", "max_pool", "residual"):
                x = layer(x if x.dim() == 4 else x[:, :, None, None])
            elif kind in ("relu", "tanh"):
                x = layer(x)
            elif kind == "layer_norm":
                x = layer(x if len(spec["shape"]) == 3 else x.flatten(1))
            elif kind == "linear":
                x = layer(x.flatten(1))
            else:
                x, h = x.flatten(1), states[name + ".h"]
                if kind == "lstm":
                    x, after[name + ".c"] = layer(x, (h, states[name + ".c"]))
                else:
                    x = layer(x, h)
                after[name + ".h"] = x
            if spec["relu"]:
                x = torch.relu(x)
        return x


class Net(Layers):
    """The layers of each array, if they have any; those above all arrays; perhaps heads."""

    def __init__(self, spec):
        super().__init__(spec["layers"])
        self.entries = nn.ModuleList(Layers(specs) for specs in spec["entries"])

    def top(self, arrays, states, after, prefix=""):
        arrays = [layers.climb(x, states, after) for layers, x in zip(self.entries, arrays)]
        joined = arrays[0] if len(arrays) == 1 else torch.cat([rows(x) for x in arrays], 1)
        return self.climb(joined, states, after, prefix).flatten(1)

    def memory(self, prefix=""):
        """The names and widths of the states."""
        return {f"{prefix}{spec['name']}.{part}": spec["out"] for spec in self.specs
                for part in {"lstm": "hc", "gru": "h"}.get(spec["kind"], "")}


class Policy(Net):
    def __init__(self, spec):
        super().__init__(spec)
        self.spec, actions = spec, spec["actions"]
        self.critic = Net(spec) if spec["separate_critic"] else None
        self.policy = nn.Linear(spec["top"], actions["outputs"])
        self.value = nn.Linear(spec["top"], 1)
        if actions["box"]:
            if not actions["predicted"]:
                self.log_std = nn.Parameter(torch.zeros(len(actions["low"])))
            bounds = [[sign * float("inf") if x is None else x for x in actions[name]]
                      for sign, name in ((-1, "low"), (1, "high"))]
            self.register_buffer("low", torch.tensor(bounds[0]), persistent=False)
            self.register_buffer("high", torch.tensor(bounds[1]), persistent=False)
        for i, array in enumerate(spec["observations"]):
            if array["normalize"] == "running":
                size = array["height"] * array["width"] * array["channels"]
                for name in ("mean", "scale"):
                    self.register_buffer(f"observation{i}_{name}",
                                         torch.zeros(size, dtype=torch.float64))

    def forward(self, observation, action_mask=None, states=None):
        """observation: (N, H, W, C) of a picture, (N, n) of numbers, float32; a dict of several.
        action_mask: (N, values), 0 where a value is forbidden; where it has learnt with masks.
        states: those of the last step, or None: zeros."""
        # 1. The layers.
        arrays = [self.standardized(i, x) for i, x in enumerate(self.arrays(observation))]
        after, states = {}, self.states(states, arrays[0])
        top = self.top(arrays, states, after)
        seen = top if self.critic is None else self.critic.top(arrays, states, after, "critic.")
        # 2. The heads.
        out, value = self.policy(top), self.value(seen).flatten()
        if self.spec["actions"]["box"]:
            return self.point(out, value, after)
        return self.choice(out, value, action_mask, after)

    def arrays(self, observation):
        """The arrays of an observation, in order."""
        names = [array["name"] for array in self.spec["observations"]]
        if len(names) == 1:
            return [observation]
        if not isinstance(observation, dict) or set(observation) != set(names):
            raise ValueError(f"observation is not a dict of {names}")
        return [observation[name] for name in names]

    def states(self, given, x):
        widths = {**self.memory(), **(self.critic.memory("critic.") if self.critic else {})}
        if given is None:
            return {name: x.new_zeros(len(x), width) for name, width in widths.items()}
        if set(given) != set(widths):
            raise ValueError(f"states has {sorted(given)}, not {sorted(widths)}")
        for name, width in widths.items():
            check(f"states[{name!r}]", given[name], [width], len(x))
        return given

    def standardized(self, i, x):
        """Array i as the layers take it: (N, C, H, W) or (N, n)."""
        array = self.spec["observations"][i]
        shape = array["height"], array["width"], array["channels"]
        picture = shape[0] * shape[1] > 1
        check(array["name"], x, shape if picture else shape[2:])
        if array["normalize"] == "running":
            mean, scale = (getattr(self, f"observation{i}_{name}") for name in ("mean", "scale"))
            x = (x.flatten(1).double() - mean) * scale
        elif array["normalize"] == "picture":
            x = x.reshape(len(x), -1, shape[2]).double()
            mean = x.mean(1, keepdim=True)
            variance = (x * x).mean(1, keepdim=True) - mean * mean
            least = self.spec["least_variance"] * mean * mean
            x = (x - mean) / torch.sqrt(torch.maximum(variance, least) + self.spec["more_variance"])
        if array["normalize"]:
            x = x.clamp(-self.spec["most_standard"], self.spec["most_standard"])
        x = x.to(self.value.weight.dtype).reshape(len(x), *shape)
        return x.permute(0, 3, 1, 2) if picture else x.flatten(1)

    def choice(self, logits, value, action_mask, after):
        if self.spec["actions"]["masked"]:
            check("action_mask", action_mask, logits.shape[1:], len(logits))
            logits = logits.masked_fill(action_mask == 0, self.spec["forbidden"])
        choices = logits.split(self.spec["actions"]["counts"], 1)
        action = torch.stack([choice.argmax(1) for choice in choices], 1)
        return Output(action, value, logits, None, None, after)

    def point(self, out, value, after):
        actions, low, high = self.spec["actions"], self.low, self.high
        if actions["predicted"]:
            mean, log_std = out.chunk(2, 1)
        else:
            mean, log_std = out, self.log_std.expand_as(out)
        most = self.spec["most_log_std"]
        # Between two bounds, -1 is the lower and 1 the upper one.
        scaled = (low.abs() <= 1e30) & (high.abs() <= 1e30)
        inner = torch.tanh(mean) if actions["tanh"] else mean.clamp(-1, 1)
        between = inner * (high / 2 - low / 2) + (low / 2 + high / 2)
        action = torch.minimum(torch.maximum(torch.where(scaled, between, mean), low), high)
        return Output(action, value, None, mean, log_std.clamp(-most, most), after)


def read(path):
    """Returns the metadata and the tensors of a safetensors file."""
    types = {"F32": (torch.float32, 4), "F64": (torch.float64, 8)}
    with open(path, "rb") as file:
        data = bytearray(file.read())
    begins = 8 + int.from_bytes(data[:8], "little")
    if not 8 < begins <= len(data):
        raise ValueError(f"{path} is no file of safetensors")
    header, data = json.loads(data[8:begins]), data[begins:]
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, told in header.items():
        (begin, end), (dtype, width) = told["data_offsets"], types[told["dtype"]]
        flat = torch.frombuffer(data, dtype=dtype, offset=begin, count=(end - begin) // width)
        tensors[name] = flat.reshape(told["shape"]).clone()
    return metadata, tensors


def load(path):
    """Returns the policy of a file that `starling export --safetensors` has written."""
    metadata, tensors = read(path)
    if "starling.policy" not in metadata:
        raise ValueError(f"{path} is no policy: write it with starling export --safetensors")
    net = Policy(json.loads(metadata["starling.policy"]))
    net.load_state_dict(tensors)
    return net.eval()
