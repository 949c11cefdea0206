"""Plays Gymnasium envs for Starling: a worker as envs/bridge/protocol.h describes it.

The program reads this text on its standard input; it is a part of the binary. Needs gymnasium and
numpy, for ids under "ALE/" also ale_py.
"""
import difflib
import gc
import json
import mmap
import os
import sys

CONTROL, MEMORY = 3, 4
SKIP, RESET = -1, -2
LARGEST = 3.4028234663852886e38  # of float32


class Mistake(Exception):
    """What a person has to change, in a sentence."""


def say(message):
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(CONTROL, line):]


def hear():
    """The next line. Nothing can follow it before it is answered."""
    line = b""
    while not line.endswith(b"\n"):
        some = os.read(CONTROL, 65536)
        if not some:
            os._exit(0)
        line += some
    return json.loads(line)


def load(name):
    try:
        return __import__(name)
    except ImportError as error:
        raise Mistake(
            f"{sys.executable} cannot import {name} ({error}); run scripts/setup --gym, or name "
            "another interpreter in env.python"
        )


def known(gymnasium, name):
    return name in gymnasium.registry or ":" in name


def register(gymnasium, name):
    """Makes `name` known, if it can be."""
    if name.startswith("ALE/"):
        gymnasium.register_envs(load("ale_py"))
    elif not known(gymnasium, name):
        try:
            gymnasium.register_envs(__import__("ale_py"))
        except ImportError:
            pass
    if not known(gymnasium, name):
        folded = {each.lower(): each for each in gymnasium.registry}
        near = difflib.get_close_matches(name.lower(), folded, 1)
        hint = f'; did you mean "{folded[near[0]]}"?' if near else ""
        raise Mistake(f'gymnasium {gymnasium.__version__} knows no env "{name}"{hint}')


def make(gymnasium, name, options):
    arguments = {"disable_env_checker": True}  # it costs a fifth of a step
    if name.startswith("ALE/"):  # repeating, sticking and pooling is done outside
        arguments.update(obs_type="grayscale", frameskip=1, repeat_action_probability=0.0)
    arguments.update(options)
    try:
        return gymnasium.make(name, **arguments)
    except Exception as error:
        given = f" with env.options {json.dumps(options)}" if options else ""
        text = " ".join(str(error).split())
        raise Mistake(f"gymnasium.make{given} fails: {type(error).__name__}: {text}")


class Observations:
    """How observations of a space become frames of (H, W, C) bytes or float32."""

    def __init__(self, gymnasium, numpy, space):
        self.numpy, self.one_hot, self.shape = numpy, None, None
        if isinstance(space, gymnasium.spaces.Discrete):
            self.one_hot = int(space.start)
            self.frame, self.dtype, self.low, self.high = (1, 1, int(space.n)), "float32", 0.0, 1.0
            return
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) > 3 or 0 in space.shape:
            raise Mistake(
                f"its observations are {space}; Starling takes Box of up to three dimensions and "
                "Discrete: wrap it into one of them"
            )
        self.shape = tuple(int(n) for n in space.shape)
        if len(self.shape) < 2:
            self.frame = (1, 1) + (self.shape or (1,))
        else:
            self.frame = (self.shape + (1,))[:3]
        self.dtype = "uint8" if space.dtype == numpy.uint8 else "float32"
        self.low = max(float(numpy.min(space.low)), -LARGEST)
        self.high = min(float(numpy.max(space.high)), LARGEST)

    def writer(self, row, env):
        """A function that writes an observation of `env` into `row`, (H * W * C) numbers."""
        if self.one_hot is not None:
            first = self.one_hot

            def write_one_hot(observation):
                row.fill(0)
                row[int(observation) - first] = 1

            return write_one_hot
        view, copyto, asarray = row.reshape(self.shape), self.numpy.copyto, self.numpy.asarray
        shape, casting = self.shape, "same_kind" if self.dtype == "uint8" else "unsafe"
        draw_in_place(env.unwrapped, view)

        def write(observation):
            if observation is view:
                return
            if getattr(observation, "shape", None) != shape:  # it would be spread over the row
                observation = asarray(observation)
                if observation.shape != shape:
                    raise ValueError(f"an observation of shape {observation.shape}, not {shape}")
            copyto(view, observation, casting)

        return write


def draw_in_place(bare, view):
    """Has ALE draw grey pictures into `view` itself, where it can: a copy less."""
    draw = getattr(getattr(bare, "ale", None), "getScreenGrayscale", None)
    if draw is None or not hasattr(bare, "_get_obs") or getattr(bare, "sound_obs", False):
        return
    if getattr(bare, "_obs_type", None) != "grayscale" or view.dtype.name != "uint8":
        return

    def observe():
        draw(view)
        return view

    bare._get_obs = observe


def actions_of(gymnasium, env):
    """The names of the actions, and the number of the first."""
    space = env.action_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise Mistake(f"its actions are {space}; Starling takes Discrete only")
    names = []
    if hasattr(env.unwrapped, "get_action_meanings"):
        names = [str(name) for name in env.unwrapped.get_action_meanings()]
    if len(names) != space.n:
        names = [str(i) for i in range(int(space.n))]
    return names, int(space.start)


def lives_of(env):
    """A function that counts the lives left, or None."""
    ale = getattr(env.unwrapped, "ale", None)
    return getattr(ale, "lives", None)


def share(numpy, place, count, size, dtype):
    """Views of the memory: commands, rewards, ends, lives; rows of `size` numbers."""
    memory = mmap.mmap(MEMORY, place["size"])
    view = memoryview(memory)

    def column(name, kind):
        return view[place[name]:place[name] + 4 * count].cast(kind)

    rows = [
        numpy.frombuffer(memory, dtype, size, place["frames"] + i * place["stride"])
        for i in range(count)
    ]
    return column("commands", "i"), column("rewards", "f"), column("ends", "i"), \
        column("lives", "i"), rows


def play(envs, seeds, first_action, shared, writers):
    """Obeys for ever."""
    commands, rewards, ends, lives, _ = shared
    steps = [env.step for env in envs]
    left = [lives_of(env) for env in envs]
    everyone = range(len(envs))
    read, write = os.read, os.write
    while True:
        turn = read(CONTROL, 1)
        if not turn:
            return
        for i in everyone:
            command = commands[i]
            if command >= 0:
                observation, reward, terminated, truncated, _ = steps[i](command + first_action)
                rewards[i] = reward
                ends[i] = 1 if terminated else 2 if truncated else 0
            elif command == RESET:
                observation, _ = envs[i].reset(seed=seeds[i])
                seeds[i] = None
                rewards[i] = 0.0
                ends[i] = 0
            else:
                continue
            writers[i](observation)
            if left[i] is not None:
                lives[i] = left[i]()
        write(CONTROL, turn)


def start():
    settings = hear()
    numpy, gymnasium = load("numpy"), load("gymnasium")
    name, options, seeds = settings["env"], settings.get("options", {}), settings["seeds"]
    register(gymnasium, name)
    envs = [make(gymnasium, name, options) for _ in seeds]
    observations = Observations(gymnasium, numpy, envs[0].observation_space)
    names, first_action = actions_of(gymnasium, envs[0])
    height, width, channels = observations.frame
    say({
        "height": height, "width": width, "channels": channels,
        "bytes": observations.dtype == "uint8",
        "low": observations.low, "high": observations.high,
        "actions": names, "lives": lives_of(envs[0]) is not None,
    })
    size = height * width * channels
    shared = share(numpy, hear(), len(envs), size, observations.dtype)
    writers = [observations.writer(row, env) for row, env in zip(shared[-1], envs)]
    say({"ready": True})
    gc.collect()
    gc.freeze()
    play(envs, seeds, first_action, shared, writers)
    for env in envs:
        env.close()


try:
    start()
except Mistake as mistake:
    say({"error": str(mistake)})
except (BrokenPipeError, ConnectionResetError):  # the client is gone
    pass
sys.stdout.flush()
sys.stderr.flush()
