"""Plays Gymnasium envs for Starling: a worker of envs/bridge/protocol.h.

This text is part of the binary, behind those of worker_common.py and gym_spaces.py, whose names it
uses; the interpreter gets all three on its standard input. Needs gymnasium and numpy, for ids under
"ALE/" also ale_py.
"""
import difflib
import gc
import json
import sys


def known(gymnasium, name):
    return name in gymnasium.registry or ":" in name


def register(gymnasium, name):
    """Makes `name` known to gymnasium, or raises Mistake."""
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


def refuse_huge_boxes(gymnasium, most):
    """Lets a Box fail before it fills its bounds, which takes half a minute for 10^9 numbers."""
    fill = gymnasium.spaces.Box.__init__

    def checked(self, low, high, shape=None, *rest, **options):
        check_size(() if shape is None else shape, most)
        fill(self, low, high, shape, *rest, **options)

    gymnasium.spaces.Box.__init__ = checked


def make(gymnasium, name, options):
    arguments = {"disable_env_checker": True}  # it costs a fifth of a step
    if name.startswith("ALE/"):  # Starling does all of this by itself
        arguments.update(obs_type="grayscale", frameskip=1, repeat_action_probability=0.0)
    arguments.update(options)
    try:
        return gymnasium.make(name, **arguments)
    except Mistake:
        raise
    except Exception as error:
        given = f" with env.options {line(json.dumps(options))}" if options else ""
        raise Mistake(f"gymnasium.make{given} fails: {type(error).__name__}: {line(error)}")


def tells_mask(env):
    """Whether the info of `env` holds a mask of the actions. Resets it, with a seed."""
    try:
        return "action_mask" in env.reset(seed=0)[1]
    except Exception:  # the first episode reports it
        return False


def mask_to_observation(gymnasium, env, counts):
    """Returns `env` with the mask of its info in its observations."""
    none = [0] * sum(counts)  # of an episode that has terminated

    def both(observation, info, terminated):
        if "action_mask" not in info and not terminated:
            raise ValueError("its info holds no 'action_mask', which that of its first reset held")
        return {"observation": observation, "action_mask": info.get("action_mask", none)}

    class MaskToObservation(gymnasium.Wrapper):
        def reset(self, **options):
            observation, info = self.env.reset(**options)
            return both(observation, info, False), info

        def step(self, action):
            observation, reward, terminated, truncated, info = self.env.step(action)
            return both(observation, info, terminated), reward, terminated, truncated, info

    spaces, wrapped = gymnasium.spaces, MaskToObservation(env)
    wrapped.observation_space = spaces.Dict(
        {"observation": env.observation_space, "action_mask": spaces.MultiBinary(sum(counts))}
    )
    return wrapped


def drawer(env):
    """Returns a function that draws ALE's grey picture into an array, or None.

    Drawing is a third of a frame's time. If no wrapper between ALE and us uses the picture, ALE's
    env is changed to draw none by itself; we draw in place, and only the observed pictures.
    """
    bare = env.unwrapped
    if type(bare) is not getattr(sys.modules.get("ale_py"), "AtariEnv", None):
        return None
    while env is not bare:
        if type(env).__name__ not in ("OrderEnforcing", "TimeLimit"):
            return None
        env = env.env
    if getattr(bare, "sound_obs", False) or getattr(bare, "_obs_type", None) != "grayscale":
        return None
    bare._get_obs = lambda: None
    return bare.ale.getScreenGrayscale


def lives_of(env):
    """Returns a function that counts the lives left, or None."""
    ale = getattr(env.unwrapped, "ale", None)
    return getattr(ale, "lives", None)


def player(env, seed, read, observations, row, before, lost_life_stops):
    """Returns the functions of serve() for `env`.

    play() plays a frame for each action that read() returns, writes the newest frame to `row` and
    the one before to `before`, unless that is None.
    """
    step, lives, draw = env.step, lives_of(env), drawer(env)
    write = observations.writer(row, draw)
    write_before = None if before is None else observations.writer(before, draw)
    stops = lost_life_stops and lives is not None

    def play():
        actions = read()
        rewards, last, previous = 0.0, len(actions) - 1, None
        left = lives() if stops else 0
        for frame, action in enumerate(actions):
            observation, reward, terminated, truncated, _ = step(action)
            rewards += reward
            if frame == last or terminated or truncated or (stops and lives() < left):
                break
            # This may be the frame before the newest. If no lost life stops the play, it is known.
            if before is not None and (stops or frame == last - 1):
                write_before(observation)
            previous = observation
        if before is not None:
            if frame == 0:
                before[:] = row
            elif truncated and frame < last and not stops:
                write_before(previous)  # drawn frames: this is the newest, the previous is gone
        write(observation)
        return rewards, 1 if terminated else 2 if truncated else 0, frame + 1

    def begin():
        nonlocal seed
        observation, _ = env.reset(seed=seed)
        seed = None
        write(observation)

    return play, begin, lives


def start(settings):
    numpy, gymnasium = load("numpy"), load("gymnasium")
    name, options, seeds = settings["env"], settings.get("options", {}), settings["seeds"]
    most = settings["most_numbers"]
    refuse_huge_boxes(gymnasium, most)
    register(gymnasium, name)
    envs = [make(gymnasium, name, options)]
    actions = Actions(gymnasium, numpy, envs[0], settings["most_actions"])
    counts, space = actions.counts, envs[0].observation_space
    beside = holds_mask(gymnasium, space, counts)
    told = counts is not None and not beside and tells_mask(envs[0])
    envs += [make(gymnasium, name, options) for _ in seeds[1:]]
    if told:
        envs = [mask_to_observation(gymnasium, env, counts) for env in envs]
    observations = Observations(gymnasium, numpy, envs[0].observation_space, counts, settings)
    send({
        **observations.spec(), "actions": actions.spec(bool(observations.counts)),
        "lives": lives_of(envs[0]) is not None,
    })
    words = settings["frames"] * actions.width
    *shared, rows, before = share(
        numpy, receive(), len(envs), words, observations.size, observations.dtype
    )
    players = [
        player(env, seeds[i], actions.reader(shared[0][i * words:(i + 1) * words]), observations,
               *frame, settings["lost_life_stops"])
        for i, (env, *frame) in enumerate(zip(envs, rows, before))
    ]
    send({"ready": True})
    gc.collect()
    gc.freeze()
    serve(shared, players, words)
    for env in envs:
        env.close()


run(start)
