"""Nets of net.layers in PyTorch: shapes of their parameters, and a forward pass over an unroll."""

import numpy as np
import torch
from torch.nn.utils.stateless import functional_call

STEPS, ENVS, ACTIONS = 4, 3, 5

NETS = {  # the layers below the heads, as in net.layers
    "minatar": ["conv 16 3x3", "relu", "linear 12", "relu"],
    "mlp": ["linear 24", "relu", "linear 16", "relu"],
    "lstm": ["linear 12", "relu", "lstm 16"],
    "norm": ["conv 6 2x3", "layer_norm", "relu", "conv 5 2x2/2", "tanh", "linear 16", "layer_norm",
             "tanh"],
    "gru": ["linear 12", "relu", "gru 16", "gru 5"],
    "residual": ["conv 4 3x3 same", "max_pool 3x3/2 same", "residual 3x3", "residual 3x1", "relu",
                 "conv 3 2x4/2 same", "relu", "max_pool 2x1", "linear 16", "relu"],
    "separate": ["conv 16 3x3", "relu", "linear 12", "tanh", "gru 16"],
    "deep_lstm": ["conv 16 3x3", "relu", "lstm 7", "relu", "lstm 16", "layer_norm", "relu"],
    "entries": ["linear 9", "tanh", "gru 6"],
}

ENTRIES = {  # arrays that are observed together: name, shape, and layers as in net.entries
    "entries": [("camera", (6, 5, 2), ["conv 4 3x3/2 same", "relu", "residual 3x3", "linear 7",
                                       "relu"]),
                ("speed", (1, 1, 3), []), ("touch", (1, 1, 4), ["linear 5", "layer_norm", "tanh"]),
                ("map", (4, 3, 1), ["conv 3 2x2", "relu"]), ("plan", (2, 3, 2), [])],
}


SEPARATE = {"separate"}  # nets whose critic is a second stack


def same(sides, kernel, stride):
    """Zeros before and behind each side for ceil(side / stride) windows, an odd one behind."""
    zeros = [max((-(-side // stride) - 1) * stride + k - side, 0)
             for side, k in zip(sides, kernel)]
    return [(z // 2, z - z // 2) for z in zeros]


def windows(words, sides):
    """The kernel, the stride and the border of "HxW/STRIDE", perhaps with "same" behind it."""
    kernel, _, stride = words[0].partition("/")
    kernel, stride = tuple(map(int, kernel.split("x"))), int(stride or 1)
    border = same(sides, kernel, stride) if words[1:] == ["same"] else [(0, 0), (0, 0)]
    return kernel, stride, border


def shapes_of(layers, height, width, channels):
    """Of the parameters of each layer, in our layout; then of the two heads."""
    shapes, picture = [], (height, width, channels)
    for layer in layers:
        kind, *words = layer.split()
        size = int(np.prod(picture))
        if kind == "conv":
            out, (kernel, stride, border) = int(words[0]), windows(words[1:], picture[:2])
            shapes.append([(*kernel, picture[2], out), (out,)])
            picture = (*((side + sum(b) - k) // stride + 1
                         for side, k, b in zip(picture, kernel, border)), out)
        elif kind == "max_pool":
            kernel, stride, border = windows(words, picture[:2])
            shapes.append([])
            picture = (*((side + sum(b) - k) // stride + 1
                         for side, k, b in zip(picture, kernel, border)), picture[2])
        elif kind == "residual":
            kernel, c = tuple(map(int, words[0].split("x"))), picture[2]
            shapes.append([(*kernel, c, c), (c,)] * 2)
        elif kind == "linear":
            shapes.append([(size, int(words[0])), (int(words[0]),)])
            picture = (int(words[0]),)
        elif kind == "lstm":
            units = int(words[0])
            shapes.append([(size, 4 * units), (units, 4 * units), (4 * units,)])
            picture = (units,)
        elif kind == "gru":
            units = int(words[0])
            shapes.append([(size, 3 * units), (3 * units,), (units, 3 * units), (3 * units,)])
            picture = (units,)
        elif kind == "layer_norm":
            shapes.append([(size,), (size,)])
        else:
            shapes.append([])
    size = int(np.prod(picture))
    return shapes, [(size, ACTIONS), (ACTIONS,)], [(size, 1), (1,)]


def shapes_of_entries(entries):
    """Of the parameters of each layer of each entry; then the width of what they give together."""
    shapes, width = [], 0
    for _, shape, layers in entries:
        own, (out, _), _ = shapes_of(layers, *shape)
        shapes += own
        width += out[0]
    return shapes, width


def convolve(x, weight, bias, stride, border):
    """NHWC; our weight (KH, KW, CIN, COUT)."""
    (top, bottom), (left, right) = border
    x = torch.nn.functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
    x = torch.nn.functional.conv2d(x, weight.permute(3, 2, 0, 1), bias, stride)
    return x.permute(0, 2, 3, 1)


def forward_step(layers, parameters, x, states):
    """One time step of ENVS observations NHWC through PyTorch's own functions and modules, without
    the heads. Our layout in: weights (KH, KW, CIN, COUT) -> (COUT, CIN, KH, KW), (IN, OUT) ->
    (OUT, IN). `states` maps a layer to its (h, c), or its (h,), and is brought up to date."""
    functional = torch.nn.functional
    for i, (layer, own) in enumerate(zip(layers, parameters)):
        kind, *words = layer.split()
        if kind == "conv":
            x = convolve(x, *own, *windows(words[1:], x.shape[1:3])[1:])
        elif kind == "max_pool":
            kernel, stride, ((top, bottom), (left, right)) = windows(words, x.shape[1:3])
            x = functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom), value=-np.inf)
            x = functional.max_pool2d(x, kernel, stride).permute(0, 2, 3, 1)
        elif kind == "residual":
            _, stride, border = windows([words[0], "same"], x.shape[1:3])
            inner = convolve(torch.relu(x), own[0], own[1], stride, border)
            x = x + convolve(torch.relu(inner), own[2], own[3], stride, border)
        elif kind == "linear":
            x = functional.linear(x.flatten(1), own[0].t(), own[1])
        elif kind == "lstm":
            units = int(words[0])
            cell = torch.nn.LSTMCell(own[0].shape[0], units, dtype=torch.float64)
            zero = torch.zeros(4 * units, dtype=torch.float64)  # PyTorch has two: one will do
            weights = {"weight_ih": own[0].t(), "weight_hh": own[1].t(), "bias_ih": own[2],
                       "bias_hh": zero}
            state = states.get(i, (torch.zeros(ENVS, units, dtype=torch.float64),) * 2)
            states[i] = functional_call(cell, weights, (x.flatten(1), state))
            x = states[i][0]
        elif kind == "gru":
            units = int(words[0])
            cell = torch.nn.GRUCell(own[0].shape[0], units, dtype=torch.float64)
            weights = {"weight_ih": own[0].t(), "bias_ih": own[1], "weight_hh": own[2].t(),
                       "bias_hh": own[3]}
            state = states.get(i, (torch.zeros(ENVS, units, dtype=torch.float64),))
            x = functional_call(cell, weights, (x.flatten(1), state[0]))
            states[i] = (x,)
        elif kind == "layer_norm":
            shape = x.shape
            x = functional.layer_norm(x.flatten(1), own[0].shape, own[0], own[1]).reshape(shape)
        else:
            x = {"relu": torch.relu, "tanh": torch.tanh}[kind](x)
    return x.flatten(1)


def join(entries, parameters, rows):
    """Each entry of observations (n, numbers) through its layers, one beside the other."""
    results, column, layer = [], 0, 0
    for _, shape, layers in entries:
        x = rows[:, column:column + int(np.prod(shape))].reshape(-1, *shape)
        results.append(forward_step(layers, parameters[layer:layer + len(layers)], x, {}))
        column, layer = column + int(np.prod(shape)), layer + len(layers)
    return torch.cat(results, 1)


def forward(layers, parameters, observations, terminals):
    """All steps of a stack, the states zero behind the end of an episode."""
    states, outputs = {}, []
    for t in range(STEPS + 1):
        if t > 0:
            kept = torch.tensor(1.0 - terminals[t - 1])[:, None]
            states = {i: tuple(s * kept for s in state) for i, state in states.items()}
        outputs.append(
            forward_step(layers, parameters, observations[t * ENVS:(t + 1) * ENVS], states))
    return torch.cat(outputs)
