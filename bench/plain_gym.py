"""Steps Gymnasium's envs in plain Python, beside which bench/envs.cc measures the bridge.

Plays ACTIONS actions, each for FRAMES frames, in COUNT envs of one process, one env after the other, as the bridge's
worker does. Prints the seconds. Usage: plain_gym.py ID COUNT FRAMES ACTIONS"""
import sys, time, gymnasium, ale_py
gymnasium.register_envs(ale_py)
count, frames, actions = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
envs = [gymnasium.make(sys.argv[1], obs_type="grayscale", frameskip=1,
                       repeat_action_probability=0.0, disable_env_checker=True)
        for _ in range(count)]
for i, env in enumerate(envs):
    env.reset(seed=i)
begin = time.perf_counter()
for action in range(actions):
    for i, env in enumerate(envs):
        for _ in range(frames):
            _, _, terminated, truncated, _ = env.step((action + i) % 6)
            if terminated or truncated:
                env.reset()
                break
print(time.perf_counter() - begin)
