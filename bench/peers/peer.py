"""The common parts of the peers' programs: arguments, window of time, report.

A peer is called as `python PEER.py SETTINGS WARM_UP SECONDS`: SETTINGS is a JSON object, the times
are in seconds. It trains without end and counts the work of the SECONDS after WARM_UP. Its last
line on standard output is a JSON object with steps, updates, seconds, packages and the curve of its
score: [seconds, steps, mean return of the last training episodes] of about every second.
"""
import importlib.metadata
import json
import sys
import time


class Window:
    """Counts the work between the end of the warm-up and the end of the time."""

    def __init__(self, warm_up, seconds, clock=time.monotonic):
        self.clock = clock
        self.starts = clock()
        self.opens = self.starts + warm_up
        self.seconds = seconds
        self.first = self.last = None  # (time, steps, updates)
        self.curve = []

    def see(self, steps, updates, score=None):
        """Takes the steps and updates since the start, and the mean return of the last episodes.
        Returns true once time is up."""
        now = self.clock()
        after = now - self.starts
        if score is not None and (not self.curve or after >= self.curve[-1][0] + 1):
            self.curve.append((round(after, 2), steps, round(score, 3)))
        if self.first is None:
            if now >= self.opens:
                self.first = (now, steps, updates)
            return False
        self.last = (now, steps, updates)
        return now >= self.first[0] + self.seconds

    def report(self):
        if self.last is None:
            raise RuntimeError("the training ended before its warm-up was over")
        seconds, steps, updates = (b - a for a, b in zip(self.first, self.last))
        return {"steps": steps, "updates": updates, "seconds": seconds, "curve": self.curve}


def arguments():
    """Returns the settings and the pair of times."""
    settings, warm_up, seconds = sys.argv[1:]
    return json.loads(settings), (float(warm_up), float(seconds))


def tell(report, packages):
    versions = {name: importlib.metadata.version(name) for name in packages}
    print(json.dumps({**report, "packages": versions}), flush=True)
