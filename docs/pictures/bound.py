#!/usr/bin/env python3
"""Draws bound.svg from docs/results/staleness.csv: seconds to a return of 10 against the bound.

    docs/pictures/bound.py          (at the top of the repository; needs Python alone)
"""
import collections
import csv
import math
import pathlib
import statistics

BOUNDS = ["0", "1", "2", "4", "8", "16", "unbounded"]
STYLES = {"1": ("#1565c0", "one actor"), "4": ("#2e7d32", "four"), "16": ("#c62828", "sixteen")}
LEFT, RIGHT, TOP, BOTTOM = 46, 540, 26, 240
TOP_SECONDS = 40


def medians():
    """{actors: {bound: median of the seeds, infinite where the median run never got there}}."""
    seconds = collections.defaultdict(list)
    with open("docs/results/staleness.csv", newline="") as file:
        for row in csv.DictReader(file):
            if (row["part"], row["env"]) == ("bound-by-actors", "minatar/breakout"):
                reached = row["reached"] == "true"
                seconds[row["actors.count"], row["staleness.bound"]].append(
                    float(row["seconds_to_score"]) if reached else math.inf)
    return {actors: {bound: statistics.median(seconds[actors, bound]) for bound in BOUNDS}
            for actors in STYLES}


def x_of(bound):
    return LEFT + 25 + BOUNDS.index(bound) * (RIGHT - LEFT - 50) / (len(BOUNDS) - 1)


def y_of(seconds):
    return BOTTOM - (BOTTOM - TOP) * min(seconds, TOP_SECONDS) / TOP_SECONDS


def main():
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 290" '
             'font-family="sans-serif" font-size="12">',
             '<rect width="640" height="290" fill="#fff"/>',
             f'<text x="{LEFT}" y="16" fill="#222">seconds to a mean return of 10 in MinAtar '
             'Breakout, two cores, median of three seeds</text>']
    for seconds in range(0, TOP_SECONDS + 1, 10):
        y = y_of(seconds)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#ddd"/><text x="{LEFT - 6}" '
                     f'y="{y + 4:.1f}" text-anchor="end" fill="#555">{seconds}</text>')
    for bound in BOUNDS:
        parts.append(f'<text x="{x_of(bound):.1f}" y="{BOTTOM + 18}" text-anchor="middle" '
                     f'fill="#555">{bound}</text>')
    parts.append(f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 38}" text-anchor="middle" '
                 'fill="#555">staleness bound</text>')
    for actors, by_bound in medians().items():
        color, name = STYLES[actors]
        pen, line = "M", ""
        for bound, seconds in by_bound.items():
            x, y = x_of(bound), y_of(seconds)
            if seconds == math.inf:
                parts.append(f'<text x="{x:.1f}" y="{TOP + 10}" text-anchor="middle" '
                             f'fill="{color}">never</text>')
                pen = "M"
                continue
            line += f"{pen}{x:.1f} {y:.1f}"
            pen = "L"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>')
        parts.append(f'<path d="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{RIGHT + 8}" y="{y + 4:.1f}" fill="{color}">{name}</text>')
    pathlib.Path("docs/pictures/bound.svg").write_text("\n".join(parts + ["</svg>"]) + "\n")


main()
