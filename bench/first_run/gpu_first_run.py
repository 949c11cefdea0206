"""scripts/gpu-first-run --out DIR [--budget SECONDS]: what a GPU has to be asked, in one call.

Checks the GPU and measures it, stage after stage, each under a time limit and all under the budget.
DIR/first-run.json is whole after every stage, so a run that is cut keeps what it has; DIR has a log
of each stage. Needs Python 3.9 alone, and the programs of a package or of a build. Ends with 0 if
every stage was done and nothing is wrong, with 1 if not, with 2 without a GPU.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import runner
from stages import STAGES

ROOT = Path(__file__).resolve().parents[2]


def programs_of(root):
    """The directory of the programs: a package's, or that of the release build."""
    for directory in (root / "bin", root / "build" / "release" / "bin"):
        if (directory / "starling").exists() and (directory / "starling-bench").exists():
            return directory
    return None


def why_no_gpu(programs):
    """Why no GPU can be used, or ""."""
    done = subprocess.run([programs / "starling", "doctor", "--json", "--only", "ops: cpu: loss"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    try:
        machine = json.loads(done.stdout)["machine"]
    except (ValueError, KeyError):
        return done.stderr.decode(errors="replace").strip() or "starling doctor says nothing"
    return "" if machine["gpus"] else machine["why_no_gpu"]


def say(line):
    print(line, flush=True)


def on_signal(number, _):
    raise runner.Interrupted(number)


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="gpu-first-run", description=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR",
                        help="a new or empty directory for the results")
    parser.add_argument("--budget", type=float, default=560, metavar="SECONDS",
                        help="for all stages (560); what has no time left is skipped")
    return parser.parse_args(words)


def main(words=None, root=ROOT, stages=None):
    options = arguments(words)
    programs = programs_of(root)
    if programs is None:
        print(f"gpu-first-run: there are no programs in {root}/bin or {root}/build/release/bin: "
              "run scripts/build release", file=sys.stderr)
        return 2
    if options.out.exists() and (not options.out.is_dir() or any(options.out.iterdir())):
        print(f"gpu-first-run: {options.out} is not an empty directory: choose another --out, "
              "so that no results are lost", file=sys.stderr)
        return 2
    why = why_no_gpu(programs)
    if why:
        print(f"gpu-first-run: nothing is measured: {why}", file=sys.stderr)
        return 2

    options.out.mkdir(parents=True, exist_ok=True)
    out = options.out.resolve()
    report = {"begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "budget_s": options.budget, "stages": []}

    def keep(report):
        runner.write_atomically(out / "first-run.json", json.dumps(report, indent=1) + "\n")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    try:
        whole = runner.run_stages(STAGES if stages is None else stages,
                                  runner.Run(root, programs, out), options.budget, report, keep,
                                  say)
    except runner.Interrupted as interrupted:
        say(f"interrupted; {out}/first-run.json has what was done")
        return 128 + interrupted.args[0]
    say(f"{out}/first-run.json")
    return 0 if whole else 1


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
