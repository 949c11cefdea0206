"""Plays an ALE env with Gymnasium's preprocessing and writes the observations.

Arguments: id, seed, a file with actions in decimal, the file to write: for the first reset and then
for every step 84 * 84 bytes (after an end those of the next episode), the reward as float32, and 1
if the episode has ended, else 0, as a byte. Exit status 77: something is not installed.
"""
import struct
import sys

try:
    import ale_py
    import cv2  # noqa: F401, AtariPreprocessing needs it
    import gymnasium
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

name, seed, actions, out = sys.argv[1:]
gymnasium.register_envs(ale_py)
env = gymnasium.make(name, frameskip=1, repeat_action_probability=0.0)
env = gymnasium.wrappers.AtariPreprocessing(env, noop_max=0, frame_skip=4, screen_size=84)
with open(actions) as file:
    actions = [int(word) for word in file.read().split()]
with open(out, "wb") as file:
    seen, _ = env.reset(seed=int(seed))
    file.write(seen.tobytes() + struct.pack("<fB", 0.0, 0))
    for action in actions:
        seen, reward, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            seen, _ = env.reset()
        file.write(seen.tobytes() + struct.pack("<fB", reward, terminated or truncated))
