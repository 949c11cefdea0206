"""Sample Factory's asynchronous PPO with two rollout workers: its defaults, for a CPU and with a
feed-forward net. Settings: game ("breakout" or "pong"), envs (of one worker), optionally seed.
"""
import os
import statistics
import sys
import tempfile

os.environ.setdefault("WANDB_MODE", "disabled")  # it is imported, not used

import games
import gymnasium
import net
import peer
from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.algo.utils.misc import ExperimentStatus
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.encoder import Encoder
from sample_factory.train import make_runner
from sf_examples.atari.atari_utils import make_atari_env


class MinAtarEncoder(Encoder):
    def __init__(self, cfg, observation_space):
        super().__init__(cfg)
        self.body = net.minatar(observation_space["obs"].shape[0])

    def forward(self, observations):
        return self.body(observations["obs"].float())

    def get_out_size(self):
        return net.WIDTH[net.minatar]


def make_pong(name, cfg, env_config, render_mode=None):
    """Its own Atari wrappers over the game that Starling plays."""
    gymnasium.register("PongNoFrameskip-v4", games.pong)
    return make_atari_env(name, cfg, env_config, render_mode)


def make_breakout(name, cfg, env_config, render_mode=None):
    return games.Breakout()


class Watch(AlgoObserver):
    def __init__(self, times):
        self.times = times
        self.window = None

    def on_training_step(self, runner, training_iteration_since_resume):
        if self.window is None:  # its processes are up
            self.window = peer.Window(*self.times)
        steps = runner.env_steps.get(0, 0)  # of the learner
        ended = runner.policy_avg_stats.get("reward", [()])[0]  # the last 100 episodes at most
        score = statistics.fmean(ended) if ended else None
        if self.window.see(steps, training_iteration_since_resume, score):
            runner.cfg.train_for_env_steps = 0  # ends training


def options(settings, train_dir):
    words = {
        "algo": "APPO", "train_dir": train_dir, "experiment": "peers", "device": "cpu",
        "num_workers": 2, "num_envs_per_worker": settings["envs"], "use_rnn": False,
        "nonlinearity": "relu", "summaries_use_frameskip": False,
        "seed": settings.get("seed", 1),
    }  # fmt: skip
    if settings["game"] == "pong":
        words |= {
            "env": "atari_pong", "env_frameskip": 4, "env_framestack": 4, "obs_scale": 255.0,
            "encoder_conv_architecture": "convnet_atari",
        }  # fmt: skip
    else:
        words |= {"env": "breakout", "normalize_input": False}  # it is 0 or 1
    return [f"--{key}={value}" for key, value in words.items()]


def main():
    settings, times = peer.arguments()
    register_env("atari_pong", make_pong)
    register_env("breakout", make_breakout)
    if settings["game"] == "breakout":
        global_model_factory().register_encoder_factory(MinAtarEncoder)
    with tempfile.TemporaryDirectory() as train_dir:
        words = options(settings, train_dir)
        parser, _ = parse_sf_args(words)
        _, runner = make_runner(parse_full_cfg(parser, words))
        watch = Watch(times)
        runner.register_observer(watch)
        status = runner.init()
        if status == ExperimentStatus.SUCCESS:
            status = runner.run()
    if status != ExperimentStatus.SUCCESS or watch.window is None:
        sys.exit("Sample Factory did not train; what it said stands above")
    peer.tell(watch.window.report(), ["sample-factory", "torch", "numpy", "gymnasium"])


if __name__ == "__main__":
    main()
