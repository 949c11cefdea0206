"""An actor-critic in PyTorch on any environment of Gymnasium with one choice of actions, in a fleet
of Starling: actors play and compute gradients, the learner applies them under its staleness bound.

    python actor_critic.py init                  the first weights: model.safetensors
    starling train cartpole.toml                 starts `python actor_critic.py`, twice
    python actor_critic.py play runs/cartpole    plays with what it has learnt

GYM_ENV=Acrobot-v1 before each of them is another environment.
"""
import os
import sys

import gymnasium
import numpy as np
import starling
import torch
from torch import nn


def make_env():
    env = gymnasium.make(os.environ.get("GYM_ENV", "CartPole-v1"))
    return gymnasium.wrappers.FlattenObservation(env)  # whatever it shows is a row of numbers


class ActorCritic(nn.Module):
    def __init__(self, env):
        super().__init__()
        inputs, actions = env.observation_space.shape[-1], int(env.action_space.n)
        self.body = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, actions), nn.Linear(64, 1)

    def forward(self, seen):
        hidden = self.body(torch.tensor(seen, dtype=torch.float32))
        return torch.distributions.Categorical(logits=self.policy(hidden)), self.value(hidden)[..., 0]


class Actor:
    """Environments, and the gradient of what the net does in them. `config` is the run's."""

    def __init__(self, config, seed):
        self.loss, self.unroll = config["loss"], config["actors"]["unroll"]
        self.envs = [make_env() for _ in range(config["actors"]["envs_per_actor"])]
        self.net = ActorCritic(self.envs[0])
        self.seen = np.stack([env.reset(seed=seed + i)[0] for i, env in enumerate(self.envs)])
        self.returns, self.lengths = np.zeros(len(self.envs)), np.zeros(len(self.envs), int)

    def gradient(self, entropy_weight):
        """Plays an unroll. Returns what a push tells; the gradient is in the net's parameters."""
        ended = []
        steps = [self.step(ended) for _ in range(self.unroll)]
        chance, value, entropy, reward, goes_on = (torch.stack(each) for each in zip(*steps))
        # Generalised advantages, from the last step back.
        gamma, decay = self.loss["gamma"], self.loss["gamma"] * self.loss["gae_lambda"]
        after, ahead = self.net(self.seen)[1].detach(), torch.zeros(len(self.envs))
        advantage = torch.empty_like(reward)
        for t in reversed(range(self.unroll)):
            delta = reward[t] + gamma * goes_on[t] * after - value[t].detach()
            ahead = advantage[t] = delta + decay * goes_on[t] * ahead
            after = value[t].detach()
        policy_loss = -(chance * advantage).mean()
        value_loss = (advantage + value.detach() - value).pow(2).mean()
        self.net.zero_grad()
        (policy_loss + self.loss["value_coef"] * value_loss
         - entropy_weight * entropy.mean()).backward()
        return {"samples": advantage.numel(), "episodes": ended, "policy_loss": policy_loss.item(),
                "value_loss": value_loss.item(), "entropy": entropy.mean().item()}

    def step(self, ended):
        """A step of every environment, as tensors of as many; adds the episodes that end."""
        policy, value = self.net(self.seen)
        actions = policy.sample()
        rewards, goes_on = [], []
        for i, env in enumerate(self.envs):
            after, reward, terminated, truncated, _ = env.step(int(actions[i]))
            self.returns[i] += reward
            self.lengths[i] += 1
            if truncated and not terminated:  # the game would have gone on
                reward += self.loss["gamma"] * float(self.net(after)[1].detach())
            if terminated or truncated:
                ended.append((self.returns[i], self.lengths[i]))
                self.returns[i] = self.lengths[i] = 0
                after = env.reset()[0]
            self.seen[i] = after
            rewards.append(reward)
            goes_on.append(float(not (terminated or truncated)))
        return (policy.log_prob(actions), value, policy.entropy(),
                torch.tensor(rewards, dtype=torch.float32), torch.tensor(goes_on))


def main():
    torch.set_num_threads(1)
    seat = starling.join()
    torch.manual_seed(1000 * seat.seed + seat.slot)
    actor = Actor(seat.config, seed=1000 * (1000 * seat.seed + seat.slot))
    parameters, weights = dict(actor.net.named_parameters()), seat.weights()
    for name, parameter in parameters.items():
        parameter.data = torch.from_numpy(weights[name])  # which seat.weights updates in place
    for _ in seat:
        seat.weights()
        told = actor.gradient(weights.entropy)
        seat.push({name: parameter.grad for name, parameter in parameters.items()}, **told)


def init():
    torch.manual_seed(1)
    starling.save_weights("model.safetensors", dict(ActorCritic(make_env()).named_parameters()))


def play(run):
    env = make_env()
    net = ActorCritic(env)
    weights = starling.load_weights(run)
    net.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
    returns = []
    for episode in range(20):
        seen, total, over = env.reset(seed=episode)[0], 0.0, False
        while not over:
            seen, reward, terminated, truncated, _ = env.step(int(net(seen)[0].probs.argmax()))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    print(f"mean return {np.mean(returns):.1f} in {len(returns)} episodes")


if __name__ == "__main__":
    if sys.argv[1:] == ["init"]:
        init()
    elif sys.argv[1:2] == ["play"]:
        play(sys.argv[2])
    else:
        main()
