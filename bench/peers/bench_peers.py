"""Measures other trainers and Starling in turn; see README.md. Called by scripts/bench-peers."""
import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from curves import curves, ends
from install import python_for
from measure import ROOT, Failure, Times, run_peer, run_starling, tell
from report import failed, figures, hardware, rate, table
from rows import LEARNERS, ROWS

ROUNDS = 2


def arguments(words):
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(
        prog="scripts/bench-peers",
        description="Measures other trainers and Starling on the same game, net and cores.",
        epilog="NAME: " + ", ".join(names),
    )
    parser.add_argument(
        "--quick", action="store_true", help="windows of 3 s, one variant: shows that it works"
    )
    parser.add_argument("--only", metavar="NAME", action="append", choices=names, help="this row")
    parser.add_argument(
        "--curves", metavar="SECONDS", type=float,
        help="instead: the score of every trainer over so much time, three seeds each",
    )
    parser.add_argument("--json", metavar="FILE", help="also writes all numbers there")
    parser.add_argument(
        "--starling", metavar="PROGRAM", help="is measured; default: builds and takes the release"
    )
    return parser.parse_args(words)


def build():
    programs = ["starling", "starling-learner", "starling-actor", "starling-env-worker",
                "libstarling", "libstarling-seat"]
    subprocess.run([ROOT / "scripts" / "build", "release", *programs], check=True)
    return ROOT / "build" / "release" / "bin" / "starling"


def fastest(row, python, times):
    """Returns the name of the variant with the most steps; variants that fail are skipped."""
    if len(row.variants) == 1:
        return next(iter(row.variants))
    speeds, why = {}, None
    for name, settings in row.variants.items():
        try:
            speeds[name] = rate(run_peer(python, row.program, settings, times), "steps")
            tell(f"{row.name}: {name}: {speeds[name]:,.0f} steps/s")
        except Failure as failure:
            why = failure
            tell(f"{row.name}: {name}: {failure}")
    if not speeds:
        raise why
    return max(speeds, key=speeds.get)


def measure(row, starling, quick):
    trial, times = Times(2, 4), Times(1, 3) if quick else Times(4, 20)
    python = python_for(row.packages)
    variant = next(iter(row.variants)) if quick else fastest(row, python, trial)
    rounds = []
    for number in range(ROUNDS):
        peer = run_peer(python, row.program, row.variants[variant], times)
        ours = run_starling(starling, python, row, times)
        tell(
            f"{row.name}, round {number + 1}: {rate(peer, 'steps'):,.0f} steps/s,"
            f" Starling {rate(ours, 'steps'):,.0f}"
        )
        rounds.append((peer, ours))
    return figures(row, variant, rounds)


def speeds(options, starling):
    """Measures the rows that are asked for. A row that fails holds its reason."""
    results = []
    for row in ROWS:
        if options.only and row.name not in options.only:
            continue
        try:
            results.append(measure(row, starling, options.quick))
        except Failure as failure:
            tell(f"{row.name}: {failure}")
            results.append(failed(row, str(failure)))
    return results


def main(words):
    options = arguments(words)
    starling = Path(options.starling) if options.starling else build()
    load = os.getloadavg()[0]
    if load > 0.3:
        tell(f"the load is {load:.1f}: other work is going on, which the figures will show")
    if options.curves:
        results = curves(LEARNERS, starling, options.curves)
        text = ends(results)
    else:
        results = speeds(options, starling)
        text = table(results)
    where = f"{hardware()}; load before: {load:.2f}{'; quick' if options.quick else ''}"
    print(f"Measured by `scripts/bench-peers {' '.join(words)}` on {where}.\n\n{text}")
    if options.json:
        document = {"hardware": hardware(), "load": load, "quick": options.quick, "rows": results}
        Path(options.json).write_text(json.dumps(document, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    # Both end the running program, also in the background.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
