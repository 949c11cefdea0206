"""The games as Gymnasium envs, as Starling plays them."""
import gymnasium
import minatar
import numpy as np


class Breakout(gymnasium.Env):
    """A MinAtar game with all six actions; channels first, as for PyTorch."""

    metadata = {"render_modes": []}

    def __init__(self):
        self.game = minatar.Environment("breakout", sticky_action_prob=0.1, difficulty_ramping=True)
        height, width, channels = self.game.state_shape()
        shape = (channels, height, width)
        self.observation_space = gymnasium.spaces.Box(0, 1, shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(self.game.num_actions())

    def seen(self):
        return np.ascontiguousarray(self.game.state().transpose(2, 0, 1)).view(np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.game.seed(seed)
        self.game.reset()
        return self.seen(), {}

    def step(self, action):
        reward, ended = self.game.act(int(action))
        return self.seen(), float(reward), bool(ended), False, {}


def pong(**_):
    """ALE Pong, frame by frame: the trainer itself repeats, shrinks and stacks frames."""
    from ale_py import AtariEnv  # not by id: ALE makes its ids known to Gymnasium 1.0 only

    return AtariEnv(game="pong", obs_type="rgb", frameskip=1, repeat_action_probability=0.25)
