"""A3C in the way of PyTorch programs since 2017: weights and optimizer statistics in shared memory,
a process for each worker, and no lock. Settings: workers, unroll, and
optionally seed.

A worker copies the shared weights, plays `unroll` steps in one env, keeps the graph of each step,
computes the gradient of the A3C paper's loss and applies it to the shared weights itself.
"""
import time

import minatar
import net
import peer
import torch
from torch import nn
from torch.nn.functional import log_softmax

GAMMA, VALUE_COEF, ENTROPY_COEF, CLIP_NORM = 0.97, 0.5, 0.01, 0.5
LEARNING_RATE, DECAY, EPSILON = 1e-3, 0.99, 1e-5


class ActorCritic(nn.Module):
    def __init__(self, channels, actions):
        super().__init__()
        self.body = net.minatar(channels)
        self.policy = nn.Linear(net.WIDTH[net.minatar], actions)
        self.value = nn.Linear(net.WIDTH[net.minatar], 1)

    def forward(self, seen):
        features = self.body(seen)
        return self.policy(features), self.value(features)


class Worker:
    def __init__(self, shared, squares, seed):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.game = minatar.Environment("breakout", sticky_action_prob=0.1, difficulty_ramping=True)
        self.game.seed(seed)
        self.game.reset()
        self.shared, self.squares = list(shared.parameters()), squares
        self.local = ActorCritic(self.game.state_shape()[2], self.game.num_actions())
        self.weights = list(self.local.parameters())
        self.playing, self.returned = 0.0, 0.0  # the return of this episode, and a mean of the last

    def seen(self):
        """(1, channels, height, width)"""
        return torch.from_numpy(self.game.state()).permute(2, 0, 1).float().unsqueeze(0)

    def play(self, unroll):
        """Plays up to `unroll` steps of one episode. Returns [(log p(action), entropy, value,
        reward)] and the value of the state behind them."""
        steps = []
        for _ in range(unroll):
            logits, value = self.local(self.seen())
            log_p = log_softmax(logits, 1)
            p = log_p.exp()
            action = p.multinomial(1)
            reward, ended = self.game.act(action.item())
            steps.append((log_p.gather(1, action), -(p * log_p).sum(), value, float(reward)))
            self.playing += reward
            if ended:
                self.returned += 0.02 * (self.playing - self.returned)
                self.playing = 0.0
                self.game.reset()
                return steps, torch.zeros(1, 1)
        with torch.no_grad():
            return steps, self.local(self.seen())[1]

    def loss(self, steps, after):
        """Mean over the steps of the n-step advantage actor-critic loss (Mnih et al. 2016)."""
        loss, target = 0.0, after
        for log_p, entropy, value, reward in reversed(steps):
            target = reward + GAMMA * target
            advantage = target - value
            loss = loss + VALUE_COEF * advantage.square() - log_p * advantage.detach()
            loss = loss - ENTROPY_COEF * entropy
        return loss.sum() / len(steps)

    def update(self, unroll):
        """Applies one gradient to the shared weights. Returns the number of its steps."""
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.shared)
        steps, after = self.play(unroll)
        self.local.zero_grad()
        self.loss(steps, after).backward()
        nn.utils.clip_grad_norm_(self.weights, CLIP_NORM)
        with torch.no_grad():  # RMSProp with shared statistics
            for weight, square, mine in zip(self.shared, self.squares, self.weights):
                square.mul_(DECAY).addcmul_(mine.grad, mine.grad, value=1 - DECAY)
                weight.addcdiv_(mine.grad, square.sqrt().add_(EPSILON), value=-LEARNING_RATE)
        return len(steps)


def work(shared, squares, counts, number, settings):
    """counts: (workers, 3) of steps, updates, mean return; each worker writes its own row."""
    unroll = settings["unroll"]
    worker = Worker(shared, squares, 1000 * settings.get("seed", 1) + number)
    while True:
        counts[number, 0] += worker.update(unroll)
        counts[number, 1] += 1
        counts[number, 2] = worker.returned


def main():
    settings, times = peer.arguments()
    torch.set_num_threads(1)
    torch.manual_seed(settings.get("seed", 1))
    game = minatar.Environment("breakout")
    shared = ActorCritic(game.state_shape()[2], game.num_actions()).share_memory()
    squares = [torch.zeros_like(weight).share_memory_() for weight in shared.parameters()]
    counts = torch.zeros(settings["workers"], 3, dtype=torch.float64).share_memory_()
    processes = [
        torch.multiprocessing.Process(
            target=work, args=(shared, squares, counts, number, settings), daemon=True
        )
        for number in range(settings["workers"])
    ]
    for process in processes:
        process.start()
    while bool((counts[:, 1] == 0).any()):  # until all workers play
        check(processes)
        time.sleep(0.01)
    window = peer.Window(*times)
    over = False
    while not over:
        check(processes)
        steps, updates, returned = counts.sum(0).tolist()
        over = window.see(int(steps), int(updates), returned / len(counts))
        time.sleep(0.01)
    for process in processes:
        process.kill()
        process.join()
    peer.tell(window.report(), ["torch", "numpy", "MinAtar"])


def check(processes):
    if not all(process.is_alive() for process in processes):
        raise RuntimeError("a worker has died")


if __name__ == "__main__":
    main()
