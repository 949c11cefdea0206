"""Stable-Baselines3's A2C. Settings: game ("breakout" or "pong"), net ("own", "minatar", "atari"),
envs, unroll, processes (whether every env has one: SubprocVecEnv), threads (of PyTorch), and
optionally seed and arguments (of A2C; its defaults without).
"""
import statistics
import sys

import games
import net
import peer
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack, VecMonitor


class Features(BaseFeaturesExtractor):
    def __init__(self, observation_space, body):
        super().__init__(observation_space, net.WIDTH[body])
        self.body = body(observation_space.shape[0])

    def forward(self, observations):
        return self.body(observations)


class Watch(BaseCallback):
    """Ends training at a whole number of updates."""

    def __init__(self, window):
        super().__init__()
        self.window = window
        self.over = False

    def _on_rollout_start(self):
        ended = [episode["r"] for episode in self.model.ep_info_buffer]  # the last 100 at most
        score = statistics.fmean(ended) if ended else None
        self.over = self.window.see(self.num_timesteps, self.model._n_updates, score)

    def _on_step(self):
        return not self.over


def make_envs(settings):
    make = games.Breakout if settings["game"] == "breakout" else lambda: AtariWrapper(games.pong())
    makers = [make] * settings["envs"]
    if settings["processes"]:
        envs = SubprocVecEnv(makers, start_method="fork")
    else:
        envs = DummyVecEnv(makers)
    return VecMonitor(envs) if settings["game"] == "breakout" else VecFrameStack(envs, 4)


def main():
    settings, times = peer.arguments()
    torch.set_num_threads(settings["threads"])
    options = {}
    if settings["net"] != "own":  # its own: the 1,700,000 weights of the DQN paper
        body = getattr(net, settings["net"])
        options = {
            "features_extractor_class": Features,
            "features_extractor_kwargs": {"body": body},
            "net_arch": [],  # the heads sit on the features
        }
    envs = make_envs(settings)
    model = A2C(
        "CnnPolicy" if settings["game"] == "pong" else "MlpPolicy",
        envs, n_steps=settings["unroll"], policy_kwargs=options, device="cpu",
        seed=settings.get("seed", 1), **settings.get("arguments", {}),
    )  # fmt: skip
    model.set_logger(Logger(folder=None, output_formats=[]))  # its own leaves a folder in /tmp
    window = peer.Window(*times)
    model.learn(10**12, callback=Watch(window), log_interval=10**9)
    envs.close()
    peer.tell(window.report(), ["stable-baselines3", "torch", "numpy", "gymnasium"])


if __name__ == "__main__":
    sys.exit(main())
