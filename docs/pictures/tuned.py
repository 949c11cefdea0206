#!/usr/bin/env python3
"""Draws tuned.svg and ale_pong.svg: returns over time, a small chart for each configuration.

    docs/pictures/tuned.py          (at the top of the repository; needs Python alone)

The curves are in docs/results: config, seed, steps, seconds, return.
"""
import bisect
import collections
import csv
import math
import pathlib
import statistics

PICTURES = {
    "tuned": "2026-11-27-continuous-control",
    "ale_pong": "2026-11-27-ale-pong",
}
COLUMNS, WIDTH, HEIGHT = 3, 212, 150  # of a small chart, its margins included
LEFT, RIGHT, TOP, BOTTOM = 40, 16, 22, 20
POINTS = 60  # of a median


def curves(record):
    """{config: {seed: [(seconds, return)]}}, in the order of the file."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(f"docs/results/{record}.csv", newline="") as file:
        for row in csv.DictReader(file):
            point = float(row["seconds"]), float(row["return"])
            found[row["config"]][row["seed"]].append(point)
    return found


def at(curve, second):
    """The return at `second`, on the line between the points around it."""
    after = bisect.bisect_right(curve, (second, math.inf))
    if after == len(curve):
        return curve[-1][1]
    (x0, y0), (x1, y1) = curve[after - 1], curve[after]
    return y0 + (y1 - y0) * (second - x0) / (x1 - x0)


def median(seeds):
    """The median over all seeds, at the seconds that all of them have."""
    first = max(curve[0][0] for curve in seeds)
    last = min(curve[-1][0] for curve in seeds)
    seconds = [first + (last - first) * i / (POINTS - 1) for i in range(POINTS)]
    return [(second, statistics.median(at(curve, second) for curve in seeds)) for second in seconds]


def step_of(span):
    """The distance of two ticks, so that there are three to six."""
    return next(step for size in (1, 10, 100, 1000) for step in (size, 2 * size, 5 * size)
                if span / step <= 5)


def text(x, y, words, anchor="middle", color="#555"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def small_chart(name, seeds, left, top):
    low = min(0, min(value for curve in seeds for _, value in curve))
    high = max(value for curve in seeds for _, value in curve)
    last = max(curve[-1][0] for curve in seeds)

    def x_of(second):
        return left + LEFT + (WIDTH - LEFT - RIGHT) * second / last

    def y_of(value):
        return top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    parts = [text(left + LEFT, top + 14, name, "start", "#222")]
    step = step_of(high - low)
    for tick in range(int(low // step) * step, int(high) + 1, step):
        if tick >= low:
            y = y_of(tick)
            parts.append(f'<path d="M{left + LEFT} {y:.1f}H{left + WIDTH - RIGHT}" stroke="#ddd"/>')
            parts.append(text(left + LEFT - 4, y + 4, f"{tick:,}", "end"))
    for tick in range(0, int(last) + 1, step_of(last)):
        parts.append(text(x_of(tick), top + HEIGHT - 4, f"{tick} s" if tick else "0"))
    for curve, style in [*((curve, 'stroke="#90a4ae"') for curve in seeds),
                         (median(seeds), 'stroke="#c62828" stroke-width="2"')]:
        path = "L".join(f"{x_of(second):.1f} {y_of(value):.1f}" for second, value in curve)
        parts.append(f'<path d="M{path}" fill="none" {style}/>')
    return parts


def draw(picture, charts):
    columns = min(COLUMNS, len(charts))
    width, height = columns * WIDTH, HEIGHT * -(-len(charts) // columns)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for number, (config, seeds) in enumerate(charts.items()):
        row, column = divmod(number, columns)
        parts += small_chart(config, list(seeds.values()), column * WIDTH, row * HEIGHT)
    path = pathlib.Path("docs/pictures") / f"{picture}.svg"
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


for picture, record in PICTURES.items():
    draw(picture, curves(record))
