"""A classifier trained by asynchronous data parallelism: three interleaved spirals, a net of one
hidden layer, in numpy alone. Each actor draws its own batches; the learner applies their gradients
under its staleness bound, which is not only for reinforcement learning.

    python spirals.py init                 the first weights: model.safetensors
    starling train spirals.toml            starts `python spirals.py`, twice
    python spirals.py score runs/spirals   the share of points that it puts right
"""
import sys

import numpy as np
import starling

CLASSES, HIDDEN, BATCH = 3, 64, 256


def points(rng, count):
    """Points (count, 2) of the spirals, and which spiral each is of."""
    kind = rng.integers(CLASSES, size=count)
    radius = rng.uniform(0.1, 1, count)
    angle = 4 * radius + kind * (2 * np.pi / CLASSES) + 0.1 * rng.normal(size=count)
    where = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return where.astype(np.float32), kind


def first_weights():
    rng = np.random.default_rng(1)
    return {"hidden.weight": 2 * rng.normal(size=(2, HIDDEN)).astype(np.float32),
            "hidden.bias": np.zeros(HIDDEN, np.float32),
            "output.weight": rng.normal(size=(HIDDEN, CLASSES)).astype(np.float32) / 8,
            "output.bias": np.zeros(CLASSES, np.float32)}


def forward(weights, where):
    hidden = np.tanh(where @ weights["hidden.weight"] + weights["hidden.bias"])
    return hidden, hidden @ weights["output.weight"] + weights["output.bias"]


def gradient_of(weights, where, kind):
    """The gradient of the mean cross entropy, and that."""
    hidden, logits = forward(weights, where)
    chance = np.exp(logits - logits.max(1, keepdims=True))
    chance /= chance.sum(1, keepdims=True)
    rows = np.arange(len(kind))
    loss = -np.log(chance[rows, kind]).mean()
    chance[rows, kind] -= 1
    chance /= len(kind)
    back = chance @ weights["output.weight"].T * (1 - hidden**2)
    return {"hidden.weight": where.T @ back, "hidden.bias": back.sum(0),
            "output.weight": hidden.T @ chance, "output.bias": chance.sum(0)}, loss


def main():
    seat = starling.join()
    rng = np.random.default_rng([seat.seed, seat.slot])
    for _ in seat:
        gradient, loss = gradient_of(seat.weights(), *points(rng, BATCH))
        seat.push(gradient, samples=BATCH, value_loss=loss)


def score(run):
    where, kind = points(np.random.default_rng(0), 10_000)
    right = (forward(starling.load_weights(run), where)[1].argmax(1) == kind).mean()
    print(f"{100 * right:.1f} % of 10,000 points are right")


if __name__ == "__main__":
    if sys.argv[1:] == ["init"]:
        starling.save_weights("model.safetensors", first_weights())
    elif sys.argv[1:2] == ["score"]:
        score(sys.argv[2])
    else:
        main()
