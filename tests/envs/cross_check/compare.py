"""compare.py: reads a recording of record-games from standard input, has the MinAtar package play
the same actions with the same draws, and says whether rewards, ends and pictures agree.

The package is used as a black box: its public interface, and its random generator replaced.
Exit status 1 if anything differs; the first differences are printed.
"""

import json
import sys

import minatar
import numpy as np

MAX_REPORTS = 5
sys.tracebacklimit = 0  # a traceback would quote the package's source


class Script:
    """Stands in for numpy's RandomState: answers with recorded draws, in order."""

    def __init__(self):
        self.load([])

    def load(self, draws):
        self.draws, self.next, self.wrong = draws, 0, ""

    def mismatch(self):
        if not self.wrong and self.next < len(self.draws):
            self.wrong = f"{len(self.draws) - self.next} draws not asked for"
        return self.wrong

    def _take(self, low, high):
        """One element; (None, None): a real."""
        default = 0.0 if low is None else low
        if self.next == len(self.draws):
            self.wrong = self.wrong or f"a draw in [{low}, {high}) too many"
            return default
        name, arguments, value = self.draws[self.next]
        self.next += 1
        bounds = (None, None) if name == "rand" else (0, *arguments)[-2:]
        if bounds != (low, high):
            self.wrong = self.wrong or f"asked for [{low}, {high}), recorded {name}{arguments}"
            return default
        return value

    def _fill(self, shape, low, high):
        if shape is None or shape == ():
            return self._take(low, high)
        count = int(np.prod(shape))
        return np.array([self._take(low, high) for _ in range(count)]).reshape(shape)

    def rand(self, *shape):
        return self._fill(shape, None, None)

    def randint(self, low, high=None, size=None):
        return self._fill(size, *((0, low) if high is None else (low, high)))

    def choice(self, a, size=None):
        if size is not None:
            self.wrong = self.wrong or "choice of several"
        items = range(a) if np.isscalar(a) else a
        return items[self._take(0, len(items))]

    def __getattr__(self, name):
        raise AttributeError(f"the package asks its generator for {name}")


def bits_of(state):
    return np.packbits(np.asarray(state, dtype=bool).ravel()).tobytes().hex()


def main():
    header = json.loads(sys.stdin.readline())
    game = minatar.Environment(
        header["game"],
        sticky_action_prob=header["sticky_action_prob"],
        difficulty_ramping=header["difficulty_ramping"],
    )
    script = Script()
    game.random = game.env.random = script
    steps = episodes = different = 0
    in_step = True  # has everything agreed since the last reset?
    for line_number, line in enumerate(sys.stdin, 2):
        event = json.loads(line)
        script.load(event["d"])
        what = []
        try:
            if "reset" in event:
                game.reset()
                episodes += 1
                in_step = True
            else:
                steps += 1
                reward, end = game.act(event["a"])
                if reward != event["r"]:
                    what.append(f"reward {reward}, ours {event['r']}")
                if bool(end) != event["t"]:
                    what.append(f"end {end}, ours {event['t']}")
            seen = bits_of(game.state())
            if seen != event["s"]:
                what.append("picture")
        except Exception as error:
            what.append(f"{type(error).__name__}: {error}")
        if script.mismatch():
            what.append("draws: " + script.mismatch())
        if not what or not in_step:
            continue
        in_step = False
        different += 1
        if different <= MAX_REPORTS:
            print(f"line {line_number}: {'; '.join(what)}")
    verdict = f"{different} episodes differ" if different else "all agree"
    print(
        f"{header['game']}, sticky {header['sticky_action_prob']}, ramping"
        f" {header['difficulty_ramping']}: {steps} steps, {episodes} episodes: {verdict}"
    )
    sys.exit(different > 0)


main()
