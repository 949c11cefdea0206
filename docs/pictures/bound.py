#!/usr/bin/env python3
"""Draws bound.svg from docs/results/2026-11-22-staleness.csv: seconds to a return of 10 against the bound.

    docs/pictures/bound.py          (at the top of the repository; needs Python alone)
"""
import collections
import csv
import math
import statistics

from chart import LEFT, TOP, Chart

BOUNDS = ["0", "1", "2", "4", "8", "16", "unbounded"]
STYLES = {"1": ("#1565c0", "one actor"), "4": ("#2e7d32", "four"), "16": ("#c62828", "sixteen")}
TOP_SECONDS = 40


def medians():
    """{actors: {bound: median of the seeds, infinite where the median run never got there}}."""
    seconds = collections.defaultdict(list)
    with open("docs/results/2026-11-22-staleness.csv", newline="") as file:
        for row in csv.DictReader(file):
            if (row["part"], row["env"]) == ("bound-by-actors", "minatar/breakout"):
                reached = row["reached"] == "true"
                seconds[row["actors.count"], row["staleness.bound"]].append(
                    float(row["seconds_to_score"]) if reached else math.inf)
    return {actors: {bound: statistics.median(seconds[actors, bound]) for bound in BOUNDS}
            for actors in STYLES}


def main():
    title = "seconds to a mean return of 10 in MinAtar Breakout, two cores, median of three seeds"
    chart = Chart(title, TOP_SECONDS)
    chart.grid(range(0, TOP_SECONDS + 1, 10))
    step = (chart.right - LEFT - 50) / (len(BOUNDS) - 1)
    x_of = {bound: LEFT + 25 + number * step for number, bound in enumerate(BOUNDS)}
    chart.x_axis("staleness bound", [(x_of[bound], bound) for bound in BOUNDS])
    for actors, by_bound in medians().items():
        color, name = STYLES[actors]
        reached = []  # since the last bound that never got there
        for bound, seconds in by_bound.items():
            if seconds == math.inf:
                chart.text(x_of[bound], TOP + 10, "never", color)
                reached = []
                continue
            reached.append((x_of[bound], seconds))
            chart.dot(x_of[bound], seconds, color)
        chart.line(reached, color)
        chart.text(chart.right + 8, chart.y(reached[-1][1]) + 4, name, color, "start")
    chart.write("bound.svg")


main()
