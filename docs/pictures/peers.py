#!/usr/bin/env python3
"""Draws peers.svg: the score of each trainer over the wall clock, from a file that
`scripts/bench-peers --curves SECONDS --json FILE` has written.

    docs/pictures/peers.py FILE     (at the top of the repository; needs Python alone)
"""
import bisect
import json
import statistics
import sys

from chart import LEFT, Chart

COLORS = ["#c62828", "#1565c0", "#00838f", "#2e7d32", "#6a1b9a", "#ef6c00"]


def score_at(curve, second):
    """The last score up to `second`; None before the first, or long after the last."""
    place = bisect.bisect_right([point[0] for point in curve], second) - 1
    if place < 0 or second > curve[-1][0] + 5:
        return None
    return curve[place][2]


def across(curves, seconds):
    """[(second, least, median, largest)] of the seconds at which every seed has a score."""
    points = []
    for second in range(seconds + 1):
        scores = [score_at(curve, second) for curve in curves]
        if None not in scores:
            points.append((second, min(scores), statistics.median(scores), max(scores)))
    return points


def main():
    with open(sys.argv[1]) as file:
        results = [result for result in json.load(file)["rows"] if "failed" not in result]
    seconds = int(max(curve[-1][0] for result in results for curve in result["curves"]))
    lines = [(result["name"], across(result["curves"], seconds)) for result in results]
    most = max(point[3] for _, points in lines for point in points)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if most / step <= 6)
    chart = Chart("mean return of training episodes in MinAtar Breakout; median, least and largest of "
                  "three seeds", (most // step + 1) * step, right=440)
    chart.grid(range(0, int(most) + step, step))

    def x_of(second):
        return LEFT + (chart.right - LEFT) * second / seconds

    ticks = range(0, seconds + 1, 20 if seconds > 60 else 10)
    chart.x_axis("seconds", [(x_of(second), second) for second in ticks])
    names = []
    for color, (name, points) in zip(COLORS, lines):
        xs = [x_of(point[0]) for point in points]
        chart.band(list(zip(xs, (p[1] for p in points))), list(zip(xs, (p[3] for p in points))), color)
        chart.line(list(zip(xs, (p[2] for p in points))), color)
        names.append((chart.y(points[-1][2]), name, color))
    free = chart.y(0) + 4  # names keep their distance, the lowest first
    for y, name, color in sorted(names, reverse=True):
        free = min(free, y + 4)
        for place, words in enumerate(reversed(name.split(", "))):
            chart.text(chart.right + 8, free - 13 * place, words, color, "start")
        free -= 13 * len(name.split(", ")) + 3
    chart.write("peers.svg")


main()
