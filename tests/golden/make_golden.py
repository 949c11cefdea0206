#!/usr/bin/env python3
"""Makes the golden vectors: what PyTorch computes for our nets, our loss and our optimizers.

Run it beside the files it writes (Debian: python3-torch, python3-numpy):
    /usr/bin/python3 tests/golden/make_golden.py

PyTorch works in float64 on float32 inputs, so the expected values are exact to float32. Advantages
are the textbook's sum in numpy. Read by tests/net/golden_test.cc and by the tests of the
optimizers.
"""

import itertools
import json
import pathlib
import struct

import numpy as np
import torch

from torch_nets import (ACTIONS, ENTRIES, ENVS, NETS, SEPARATE, STEPS, forward, join, shapes_of,
                        shapes_of_entries)

HERE = pathlib.Path(__file__).parent
GAMMA, LAMBDA, VALUE_COEF, ENTROPY = 0.97, 0.8, 0.5, 0.03
ALIGNMENT = 16  # floats: every parameter of the flat vector starts at a multiple of it


def write_safetensors(path, tensors, metadata):
    """tensors: name -> array; the format is an 8-byte header length, a JSON header, raw bytes."""
    kinds = {"float32": "F32", "float64": "F64", "int64": "I64"}
    header, offset = {"__metadata__": {k: str(v) for k, v in metadata.items()}}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": kinds[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
    print(f"{path.name}: {path.stat().st_size} bytes")


def flat(parameters):
    """Our flat vector: the parameters in turn, each at a multiple of ALIGNMENT, gaps zero."""
    parts = []
    for array in parameters:
        parts += [array.reshape(-1), np.zeros(-array.size % ALIGNMENT, array.dtype)]
    return np.concatenate(parts)


def advantages_of(rewards, terminals, values, bootstrap):
    """sum over l of (gamma lambda)^l delta_{t+l}, up to the end of the episode or rollout."""
    following = np.vstack([values[1:], bootstrap[None]])
    delta = rewards + GAMMA * following * (1 - terminals) - values
    advantages = np.zeros_like(values)
    for t in range(STEPS):
        for env in range(ENVS):
            for l in range(STEPS - t):
                advantages[t, env] += (GAMMA * LAMBDA) ** l * delta[t + l, env]
                if terminals[t + l, env]:
                    break
    return advantages


def make_net(name, height, width, channels):
    rng = np.random.default_rng(2024)
    layers, entries = NETS[name], ENTRIES.get(name, [])
    below, joined = shapes_of_entries(entries)  # the layers of entries
    stack, policy, value = shapes_of(layers, *((1, 1, joined) if entries else
                                               (height, width, channels)))
    # In our order: the layers and both heads, or each head behind its own layers.
    shapes = [*stack, policy, *stack, value] if name in SEPARATE else [*below, *stack, policy, value]
    arrays = [[rng.normal(size=s, scale=(1.5 / np.sqrt(np.prod(s[:-1])) if len(s) > 1 else 0.1))
               .astype(np.float32) for s in of_layer] for of_layer in shapes]
    of_entries = [layer for _, _, own in entries for layer in own]
    for layer, own in zip([*of_entries, *layers], arrays):
        if layer == "layer_norm":
            own[0] += 1
    rows = (STEPS + 1) * ENVS  # the last ENVS rows are the states after the rollout
    cells = (rng.random((rows, height, width, channels)) < 0.2).astype(np.float32)
    taken = rng.integers(ACTIONS, size=STEPS * ENVS)
    rewards = rng.normal(size=(STEPS, ENVS)).astype(np.float32)
    terminals = np.zeros((STEPS, ENVS), np.int64)
    terminals[1, 0] = terminals[3, 1] = 1  # in the middle, and before the states after the rollout

    parameters = [[torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in own]
                  for own in arrays]
    observations = torch.tensor(cells, dtype=torch.float64)
    functional, first, count = torch.nn.functional, len(below), len(below) + len(layers)
    if entries:
        observations = join(entries, parameters[:first], observations.flatten(1))
    policy_at = value_at = forward(layers, parameters[first:count], observations, terminals)
    if name in SEPARATE:
        value_at = forward(layers, parameters[count + 1:-1], observations, terminals)
    policy_weight, policy_bias = parameters[count]
    value_weight, value_bias = parameters[-1]
    logits = functional.linear(policy_at, policy_weight.t(), policy_bias)
    values = functional.linear(value_at, value_weight.t(), value_bias)[:, 0]
    n = STEPS * ENVS
    grid = values.detach().numpy().reshape(STEPS + 1, ENVS)
    advantages = advantages_of(rewards.astype(np.float64), terminals, grid[:-1], grid[-1])
    returns = advantages + grid[:-1]

    pi = torch.distributions.Categorical(logits=logits[:n])
    advantage = torch.tensor(advantages.reshape(-1))
    policy_loss = -(advantage * pi.log_prob(torch.tensor(taken))).mean()
    value_loss = torch.nn.functional.mse_loss(values[:n], torch.tensor(returns.reshape(-1)))
    entropy = pi.entropy().mean()
    loss = policy_loss + VALUE_COEF * value_loss - ENTROPY * entropy
    loss.backward()
    write_safetensors(HERE / f"{name}.safetensors", {
        "parameters": flat([a for own in arrays for a in own]),
        "observations": cells,
        "taken": taken,
        "rewards": rewards,
        "terminals": terminals,
        "logits": logits.detach().numpy(),
        "values": values.detach().numpy(),
        "advantages": advantages,
        "returns": returns,
        "losses": np.array([policy_loss.item(), value_loss.item(), entropy.item()]),
        "gradient": flat([p.grad.numpy() for own in parameters for p in own]),
    }, {"layers": ", ".join(layers), "steps": STEPS, "envs": ENVS,
        "actions": ACTIONS, "gamma": GAMMA, "lambda": LAMBDA, "value_coef": VALUE_COEF,
        "entropy": ENTROPY} | ({"critic": "separate"} if name in SEPARATE else {})
        | ({"entries": "; ".join(f"{entry} {h} {w} {c}: " + ", ".join(own)
                                 for entry, (h, w, c), own in entries)} if entries else {}))


CLIP, VALUE_CLIP = 0.2, 0.3
FORMS = {  # of the loss, on a minibatch: which options each has
    "a2c": [], "a2c_normalized": ["normalized"], "ppo": ["ratio"],
    "ppo_normalized": ["ratio", "normalized"], "ppo_values": ["ratio", "values"],
    "ppo_decoupled": ["ratio", "decoupled"],
    "ppo_all": ["ratio", "normalized", "values", "decoupled"],
}


def loss_of(options, logits, values, taken, advantage, returns, old, proximal, old_values):
    """Terms as Stable-Baselines3 and CleanRL write them, and the decoupled objective of Hilton et
    al. 2022: policy, value, entropy, estimated KL, share of clipped ratios."""
    if "normalized" in options:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    pi = torch.distributions.Categorical(logits=logits)
    logp = pi.log_prob(taken)
    against = proximal if "decoupled" in options else old
    log_ratio = logp - against
    ratio = log_ratio.exp()
    if "ratio" in options:
        policy = -((against - old).exp() * torch.min(
            ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)).mean()
        kl = ((logp - old).exp() - 1 - (logp - old)).mean()
        clipped = ((ratio - 1).abs() > CLIP).double().mean()
    else:
        policy, kl, clipped = -(advantage * logp).mean(), torch.zeros(()), torch.zeros(())
    value = (values - returns) ** 2
    if "values" in options:
        limited = old_values + (values - old_values).clamp(-VALUE_CLIP, VALUE_CLIP)
        value = torch.max(value, (limited - returns) ** 2)
    return policy, value.mean(), pi.entropy().mean(), kl, clipped


def make_losses():
    rng = np.random.default_rng(2026)
    samples, n = 48, 30
    inputs = {
        "logits": rng.normal(size=(n, ACTIONS), scale=1.5),
        "values": rng.normal(size=n),
        "advantages": rng.normal(size=samples) + 0.5,
        "returns": rng.normal(size=samples),
        "old_values": rng.normal(size=samples, scale=0.5),
    }
    taken = rng.integers(ACTIONS, size=samples)
    rows = rng.permutation(samples)[:n]
    # Policies near the one of now, so that some ratios are clipped and some are not.
    now = torch.distributions.Categorical(logits=torch.tensor(inputs["logits"])).log_prob(
        torch.tensor(taken[rows])).numpy()
    for name in ("old_logps", "proximal_logps"):
        inputs[name] = -rng.random(samples)
        inputs[name][rows] = now + rng.normal(size=n, scale=0.25)
    inputs = {name: array.astype(np.float32) for name, array in inputs.items()}
    tensors = {**inputs, "taken": taken, "rows": rows}
    exact = {name: torch.tensor(array, dtype=torch.float64) for name, array in inputs.items()}
    for form, options in FORMS.items():
        logits = exact["logits"].clone().requires_grad_()
        values = exact["values"].clone().requires_grad_()
        terms = loss_of(options, logits, values, torch.tensor(taken[rows]),
                        *(exact[name][rows] for name in ("advantages", "returns", "old_logps",
                                                         "proximal_logps", "old_values")))
        (terms[0] + VALUE_COEF * terms[1] - ENTROPY * terms[2]).backward()
        tensors |= {f"{form}.losses": np.array([float(term) for term in terms]),
                    f"{form}.dlogits": logits.grad.numpy(), f"{form}.dvalues": values.grad.numpy()}
    write_safetensors(HERE / "losses.safetensors", tensors, {
        "forms": ", ".join(f"{form}: {' '.join(options)}" for form, options in FORMS.items()),
        "value_coef": VALUE_COEF, "entropy": ENTROPY, "clip": CLIP, "value_clip": VALUE_CLIP})


COUNTS, WIDTH = [3, 1, 4], 3  # several choices; coordinates of a box
POLICIES = ["choice", "masked", "choices", "gaussian", "tanh"]


def tanh_entropy(mean, deviation):
    """The entropy of tanh of a normal variable: 20,000 midpoints of the density of the variable."""
    z = torch.linspace(-9, 9, 20001, dtype=torch.float64)[:-1] + 9 / 20000
    mass = torch.exp(-z * z / 2) * (18 / 20000) / np.sqrt(2 * np.pi)
    u = mean[..., None] + deviation[..., None] * z
    slope = 2 * (np.log(2) - u - torch.nn.functional.softplus(-2 * u))
    return torch.distributions.Normal(mean, deviation).entropy() + (mass * slope).sum(-1)


def policy_terms(kind, outputs, allowed, taken):
    """Log probability and entropy of PyTorch's own distributions."""
    distributions = torch.distributions
    if kind in ("choice", "masked"):
        if kind == "masked":
            outputs = outputs.masked_fill(~allowed, -np.inf)
        pi = distributions.Categorical(logits=outputs)
        # PyTorch's 0 * -inf is a NaN, which a forbidden value would add to the sum.
        plogp = (pi.logits.masked_fill(pi.probs == 0, 0) * pi.probs).sum(-1)
        return pi.log_prob(taken[:, 0]), -plogp
    if kind == "choices":
        parts = [distributions.Categorical(logits=z) for z in outputs.split(COUNTS, dim=1)]
        return (sum(pi.log_prob(taken[:, k]) for k, pi in enumerate(parts)),
                sum(pi.entropy() for pi in parts))
    mean, deviation = outputs[:, :WIDTH], outputs[:, WIDTH:].exp()
    pi = distributions.Normal(mean, deviation)
    if kind == "gaussian":
        return pi.log_prob(taken).sum(-1), pi.entropy().sum(-1)
    squashed = distributions.TransformedDistribution(
        pi, [distributions.transforms.TanhTransform(cache_size=1)])
    return (squashed.log_prob(torch.tanh(taken)).sum(-1),
            tanh_entropy(mean, deviation).sum(-1))


def make_policies():
    """The loss over every kind of policy, A2C and clipped PPO."""
    rng = np.random.default_rng(2027)
    n, tensors = 40, {}
    advantages = rng.normal(size=n).astype(np.float32)
    shifts = rng.normal(size=n, scale=0.25)
    allowed = rng.random((n, ACTIONS)) < 0.6
    allowed[:, 0] = True
    tensors |= {"advantages": advantages, "allowed": allowed.astype(np.int64)}
    for kind in POLICIES:
        box = kind in ("gaussian", "tanh")
        width = {"choice": ACTIONS, "masked": ACTIONS, "choices": sum(COUNTS)}.get(kind, 2 * WIDTH)
        outputs = rng.normal(size=(n, width), scale=0.7).astype(np.float32)
        if kind == "tanh":  # deviations up to 1, for which our sum of 16 points is exact to 1e-4
            outputs[:, WIDTH:] = -np.abs(outputs[:, WIDTH:])
        if box:
            taken = rng.normal(size=(n, WIDTH)).astype(np.float32)
        elif kind == "choices":
            taken = np.stack([rng.integers(count, size=n) for count in COUNTS], axis=1)
        else:
            taken = rng.integers(ACTIONS, size=(n, 1))
        if kind == "masked":
            taken[~np.take_along_axis(allowed, taken, 1)] = 0
        exact = torch.tensor(outputs, dtype=torch.float64)
        played = torch.tensor(taken, dtype=torch.float64 if box else torch.int64)
        mask = torch.tensor(allowed)
        now = policy_terms(kind, exact, mask, played)[0].numpy()
        old = (now + shifts).astype(np.float32)
        tensors |= {f"{kind}.outputs": outputs, f"{kind}.taken": taken, f"{kind}.old_logps": old,
                    f"{kind}.logps": now}
        for form in ("a2c", "ppo"):
            leaf = exact.clone().requires_grad_()
            logp, entropy = policy_terms(kind, leaf, mask, played)
            advantage = torch.tensor(advantages, dtype=torch.float64)
            ratio = (logp - torch.tensor(old, dtype=torch.float64)).exp()
            policy = -(advantage * logp).mean() if form == "a2c" else -torch.min(
                ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            (policy - ENTROPY * entropy.mean()).backward()
            tensors |= {f"{kind}.{form}.losses": np.array([policy.item(), entropy.mean().item()]),
                        f"{kind}.{form}.dlogits": leaf.grad.numpy()}
    write_safetensors(HERE / "policies.safetensors", tensors,
                      {"policies": " ".join(POLICIES), "counts": " ".join(map(str, COUNTS)),
                       "width": WIDTH, "entropy": ENTROPY, "clip": CLIP})


UPDATES, SIZE, KEPT_EVERY = 100, 37, 20
LR, WARMUP, EPSILON, DECAY, MOMENTUM, BETA1, BETA2 = 3e-3, 25, 1e-3, 0.99, 0.8, 0.9, 0.995


def rate(t):
    """The learning rate of update t, counted from 1: another one for each update."""
    return LR * min(1, t / WARMUP) * (1 - (t - 1) / UPDATES)


def trajectory(start, gradients, step):
    """The weights after every KEPT_EVERY updates by step(t, weights, gradient), t from 1."""
    weights, kept = start.astype(np.float64), []
    for t, gradient in enumerate(gradients.astype(np.float64), start=1):
        weights = step(t, weights, gradient)
        if t % KEPT_EVERY == 0:
            kept.append(weights.copy())
    return np.array(kept)


def torch_step(start, make):
    weights = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = make([weights])

    def step(t, _, gradient):
        optimizer.param_groups[0]["lr"] = rate(t)
        weights.grad = torch.tensor(gradient)
        optimizer.step()
        return weights.detach().numpy().copy()
    return step


def rmsprop_step(centered, inside, correct, momentum):
    """With what PyTorch's RMSprop has not: epsilon inside the root, and bias correction."""
    square, mean, velocity = np.zeros(SIZE), np.zeros(SIZE), np.zeros(SIZE)

    def step(t, weights, gradient):
        square[:] = DECAY * square + (1 - DECAY) * gradient ** 2
        mean[:] = DECAY * mean + (1 - DECAY) * gradient
        s = square - mean ** 2 if centered else square
        if correct:
            s = s / (1 - DECAY ** t)
        root = np.sqrt(s + EPSILON) if inside else np.sqrt(s) + EPSILON
        velocity[:] = momentum * velocity + gradient / root
        return weights - rate(t) * velocity
    return step


def make_optimizers():
    rng = np.random.default_rng(2025)
    start = rng.normal(size=SIZE).astype(np.float32)
    # From well above epsilon to well below it, around means of their own, and a weight that never
    # gets a gradient.
    scale = 10.0 ** rng.uniform(-5, 0, size=SIZE)
    gradients = (rng.normal(size=(UPDATES, SIZE)) + rng.normal(size=SIZE)) * scale
    gradients = gradients.astype(np.float32)
    gradients[:, 5] = 0
    by_hand = {}
    for centered, inside, correct, momentum in itertools.product((False, True), repeat=4):
        name = ("rmsprop" + "_centered" * centered + "_inside" * inside + "_corrected" * correct
                + "_momentum" * momentum)
        by_hand[name] = rmsprop_step(centered, inside, correct, MOMENTUM * momentum)
    optim, common = torch.optim, {"alpha": DECAY, "eps": EPSILON}
    by_torch = {
        "sgd": lambda p: optim.SGD(p, lr=LR),
        "sgd_momentum": lambda p: optim.SGD(p, lr=LR, momentum=MOMENTUM),
        "rmsprop": lambda p: optim.RMSprop(p, **common),
        # Adam without momentum is RMSProp with bias correction, epsilon outside.
        "rmsprop_corrected": lambda p: optim.Adam(p, betas=(0.0, DECAY), eps=EPSILON),
        "rmsprop_centered": lambda p: optim.RMSprop(p, centered=True, **common),
        "rmsprop_momentum": lambda p: optim.RMSprop(p, momentum=MOMENTUM, **common),
        "rmsprop_centered_momentum":
            lambda p: optim.RMSprop(p, centered=True, momentum=MOMENTUM, **common),
        "adam": lambda p: optim.Adam(p, betas=(BETA1, BETA2), eps=EPSILON),
    }
    tensors = {"start": start, "gradients": gradients}
    for name, step in by_hand.items():
        tensors[name] = trajectory(start, gradients, step)
    for name, make in by_torch.items():
        expected = trajectory(start, gradients, torch_step(start, make))
        if name in tensors:
            np.testing.assert_allclose(tensors[name], expected, rtol=1e-12, atol=1e-14)
        tensors[name] = expected
    write_safetensors(HERE / "optimizers.safetensors", tensors,
                      {"lr": LR, "warmup": WARMUP, "epsilon": EPSILON, "decay": DECAY,
                       "momentum": MOMENTUM, "beta1": BETA1, "beta2": BETA2, "every": KEPT_EVERY})


if __name__ == "__main__":
    make_net("minatar", height=6, width=5, channels=3)
    make_net("mlp", height=1, width=10, channels=5)
    make_net("lstm", height=1, width=1, channels=9)
    make_net("norm", height=6, width=7, channels=2)
    make_net("deep_lstm", height=5, width=4, channels=2)
    make_net("gru", height=1, width=1, channels=9)
    make_net("residual", height=7, width=6, channels=2)
    make_net("separate", height=5, width=4, channels=2)
    make_net("entries", height=1, width=1, channels=91)
    make_losses()
    make_policies()
    make_optimizers()
