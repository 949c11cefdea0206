"""What is measured: a row for each trainer and setting with Starling's settings beside it, and the
learners whose scores are followed over the time."""
from dataclasses import dataclass, field

# Versions known to work together. Sample Factory needs gymnasium below 1.0 and numpy below 2.
PYTORCH = ("torch==2.15.0", "numpy==1.26.4", "MinAtar==1.0.15", "gymnasium==0.29.1")
SB3 = (*PYTORCH, "stable-baselines3==2.9.2")
SAMPLE_FACTORY = (*PYTORCH, "sample-factory==2.1.1")
ATARI = ("ale-py==0.12.1",)


@dataclass
class Row:
    name: str  # for --only
    trainer: str
    setting: str  # for people
    program: str
    packages: tuple
    variants: dict  # name: settings of the program; the fastest is measured
    config: str  # of Starling
    overrides: tuple  # "section.key=value", of Starling
    frames: int = 1  # of the game in a step
    actor: str = ""  # the program of Starling's actors, in this Python; "": its own
    starling: str = field(init=False)  # its setting, for people

    def __post_init__(self):
        self.starling = ", ".join(override.split(".", 1)[1] for override in self.overrides)


def two_actors(envs, unroll):
    return ("actors.count=2", f"actors.envs_per_actor={envs}", f"actors.unroll={unroll}")


# Emulators start slowly on a busy machine.
TWO_ATARI_ACTORS = (*two_actors(16, 20), "env.timeout_s=60")


def sb3_variants(**settings):
    return {
        f"{'SubprocVecEnv' if processes else 'DummyVecEnv'}, torch threads {threads}": {
            **settings, "processes": processes, "threads": threads,
        }
        for processes in (False, True)
        for threads in (1, 2)
    }  # fmt: skip


def sb3_row(envs):
    variants = sb3_variants(game="breakout", net="minatar", envs=envs, unroll=5)
    return Row(
        f"sb3-{envs}", "Stable-Baselines3 A2C", f"{envs} envs × 5 steps", "sb3_a2c.py", SB3,
        variants, "bench/minatar.toml", two_actors(envs, 5),
    )  # fmt: skip


def sb3_pong_row(name, net, says):
    variants = sb3_variants(game="pong", net=net, envs=16, unroll=20)
    return Row(
        name, "Stable-Baselines3 A2C", f"ALE Pong, {says}, 16 envs × 20 steps", "sb3_a2c.py",
        SB3 + ATARI, variants, "configs/ale_pong_a3c.toml", TWO_ATARI_ACTORS, 4,
    )  # fmt: skip


def sample_factory_row(name, game, setting, packages, config, overrides, frames):
    variants = {f"{envs} envs a worker": {"game": game, "envs": envs} for envs in (8, 16, 32)}
    return Row(
        name, "Sample Factory APPO", setting, "sample_factory_appo.py", packages, variants, config,
        overrides, frames,
    )  # fmt: skip


ROWS = [
    *(sb3_row(envs) for envs in (32, 64, 256)),
    Row(
        "hogwild", "PyTorch Hogwild A3C", "2 workers × 1 env × 5 steps", "hogwild_a3c.py",
        PYTORCH, {"as in the paper": {"workers": 2, "unroll": 5}},
        "bench/minatar.toml", two_actors(1, 5),
    ),
    Row(
        "hogwild-same", "PyTorch Hogwild, the same code", "CartPole, 2 workers × 8 envs × 8 steps",
        "hogwild_actor_critic.py", PYTORCH, {"Adam": {"workers": 2, "envs": 8, "unroll": 8}},
        "examples/torch_a3c/cartpole.toml", (*two_actors(8, 8), "staleness.bound=unbounded"),
        actor="examples/torch_a3c/actor_critic.py",
    ),
    sample_factory_row(
        "sample-factory", "breakout", "2 workers, batches of 1,024", SAMPLE_FACTORY,
        "bench/minatar.toml", two_actors(64, 5), 1,
    ),
    sb3_pong_row("sb3-pong", "atari", "the A3C paper's net"),
    sb3_pong_row("sb3-pong-nature", "own", "its own net (DQN's)"),
    sample_factory_row(
        "sample-factory-pong", "pong", "ALE Pong, its own net (DQN's), 2 workers",
        SAMPLE_FACTORY + ATARI, "configs/ale_pong_a3c.toml", TWO_ATARI_ACTORS, 4,
    ),
]  # fmt: skip


@dataclass
class Learner:
    """A trainer whose score is followed over the wall clock, on MinAtar Breakout."""

    name: str
    program: str  # "" is Starling
    packages: tuple
    settings: dict  # of the program; of Starling: section.key = value


# Starling's numbers where A2C of Stable-Baselines3 has them; its entropy has no schedule.
LIKE_STARLING = {
    "learning_rate": 2e-3, "gamma": 0.98, "gae_lambda": 0.8, "ent_coef": 0.01, "rms_prop_eps": 1e-5,
}  # fmt: skip
SB3_BREAKOUT = {
    "game": "breakout", "net": "minatar", "envs": 32, "unroll": 5, "processes": False, "threads": 1,
}  # fmt: skip

LEARNERS = [
    Learner("Starling", "", (), {"run.steps": 10_000_000}),
    Learner("Stable-Baselines3 A2C, its defaults", "sb3_a2c.py", SB3, SB3_BREAKOUT),
    Learner(
        "Stable-Baselines3 A2C, Starling's numbers", "sb3_a2c.py", SB3,
        {**SB3_BREAKOUT, "arguments": LIKE_STARLING},
    ),
    Learner("PyTorch Hogwild A3C", "hogwild_a3c.py", PYTORCH, {"workers": 2, "unroll": 5}),
    Learner(
        "Sample Factory APPO", "sample_factory_appo.py", SAMPLE_FACTORY,
        {"game": "breakout", "envs": 16},
    ),
]  # fmt: skip
