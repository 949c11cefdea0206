"""The actor-critic of examples/torch_a3c in the way of PyTorch programs since 2017: the same net,
loss and environments, but weights in shared memory, which each worker changes itself, without a
lock. Settings: workers, envs, unroll.
"""
import sys
import time
from pathlib import Path

import peer
import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "torch_a3c"), str(ROOT / "python")]
import actor_critic  # noqa: E402

LOSS = {"gamma": 0.99, "gae_lambda": 0.95, "value_coef": 0.5}
ENTROPY, CLIP_NORM, LEARNING_RATE = 0.01, 0.5, 1e-3


def work(shared, counts, number, settings):
    """counts: (workers, 2) of steps and updates; each worker writes its own row."""
    torch.set_num_threads(1)
    torch.manual_seed(number)
    config = {"loss": LOSS,
              "actors": {"envs_per_actor": settings["envs"], "unroll": settings["unroll"]}}
    actor = actor_critic.Actor(config, seed=1000 * number)
    mine, theirs = list(actor.net.parameters()), list(shared.parameters())
    optimizer = torch.optim.Adam(theirs, lr=LEARNING_RATE)
    while True:
        with torch.no_grad():
            for one, other in zip(mine, theirs):
                one.copy_(other)
        told = actor.gradient(ENTROPY)
        nn.utils.clip_grad_norm_(mine, CLIP_NORM)
        for one, other in zip(mine, theirs):
            other.grad = one.grad
        optimizer.step()
        counts[number, 0] += told["samples"]
        counts[number, 1] += 1


def main():
    settings, times = peer.arguments()
    shared = actor_critic.ActorCritic(actor_critic.make_env()).share_memory()
    counts = torch.zeros(settings["workers"], 2, dtype=torch.float64).share_memory_()
    workers = [torch.multiprocessing.Process(target=work, args=(shared, counts, number, settings),
                                             daemon=True) for number in range(settings["workers"])]
    for worker in workers:
        worker.start()
    while bool((counts[:, 1] == 0).any()):  # until all workers play
        check(workers)
        time.sleep(0.01)
    window, over = peer.Window(*times), False
    while not over:
        check(workers)
        over = window.see(*map(int, counts.sum(0).tolist()))
        time.sleep(0.01)
    for worker in workers:
        worker.kill()
        worker.join()
    peer.tell(window.report(), ["torch", "numpy", "gymnasium"])


def check(workers):
    if not all(worker.is_alive() for worker in workers):
        raise RuntimeError("a worker has died")


if __name__ == "__main__":
    main()
