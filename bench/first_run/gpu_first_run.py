"""scripts/gpu-first-run --out DIR [--budget SECONDS]: checks and measures a GPU in one call.

Checks the GPU and measures it, stage after stage, each under a time limit and all under the budget.
DIR/first-run.json is whole after every stage, so a run that is cut keeps what it has; DIR also has
what the commands of each stage printed. Needs Python 3.9 alone, and the programs of a package or of
a build; compute-sanitizer and ncu are the machine's. Ends with 0 if nothing is wrong and no stage
was cut (one that this machine cannot do is "unavailable"), with 1 if not, with 2 if it could not
begin, above all without a GPU.
"""
import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import runner
from stages import STAGES, machine_of

ROOT = Path(__file__).resolve().parents[2]
START_S = 60  # for the first question


class CannotBegin(Exception):
    """A sentence."""


def programs_of(root):
    """The directory of the programs: a package's, or that of the release build."""
    for directory in (root / "bin", root / "build" / "release" / "bin"):
        if (directory / "starling").exists() and (directory / "starling-bench").exists():
            return directory
    raise CannotBegin(f"there are no programs in {root}/bin or {root}/build/release/bin: "
                      "run scripts/build release")


def make_empty(directory):
    """Makes a directory for the results, so that none are lost."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise CannotBegin(f"{directory} is not empty: choose another --out, so that no results "
                              "are lost")
    except OSError as why:
        raise CannotBegin(f"{directory} cannot be the directory of results ({why.strerror}): "
                          "choose another --out") from None
    return directory.resolve()


def ask_machine(root, programs, signals):
    """Asks doctor for the machine. Throws CannotBegin without a GPU."""
    with tempfile.TemporaryDirectory() as scratch:
        run = runner.Run(root, programs, scratch)
        run.signals = signals
        run.begin("start", time.monotonic() + START_S)
        try:
            machine = machine_of(run)
        except runner.TimedOut:
            raise CannotBegin(f"starling doctor has not found the GPUs in {START_S} s") from None
        except (runner.Failed, OSError) as why:
            raise CannotBegin(str(why)) from None
    if not machine["gpus"]:
        raise CannotBegin(f"nothing is measured: {machine['why_no_gpu']}")
    return machine


class Output:
    """Standard output, and the report in a file. What cannot be written is said once: the stages
    go on, and the other of the two may still have their results."""

    def __init__(self, path):
        self.path, self.told = path, False

    def say(self, line):
        try:
            print(line, flush=True)
        except OSError:  # its reader is gone
            sys.stdout = open(os.devnull, "w")

    def keep(self, report):
        try:
            scratch = self.path.with_suffix(".new")
            with open(scratch, "w") as file:
                file.write(json.dumps(report, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, self.path)
        except OSError as why:
            if not self.told:
                self.say(f"{self.path} cannot be written ({why.strerror}): the stages go on")
            self.told = True


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
    end = time.monotonic()
    options = arguments(words)
    end += options.budget
    signals = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda its, _: signals.append(its))
    try:
        programs = programs_of(root)
        machine = ask_machine(root, programs, signals)
        out = make_empty(options.out)
    except CannotBegin as why:
        print(f"gpu-first-run: {why}", file=sys.stderr)
        return 2
    except runner.Interrupted as interrupted:
        return 128 + interrupted.args[0]

    run = runner.Run(root, programs, out)
    run.signals, run.machine = signals, machine
    report = {"begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "budget_s": options.budget, "stages": []}
    output = Output(out / "first-run.json")
    try:
        whole = runner.run_stages(STAGES if stages is None else stages, run, end, report,
                                  output.keep, output.say)
    except runner.Interrupted as interrupted:
        output.say(f"interrupted; {output.path} has what was done")
        return 128 + interrupted.args[0]
    output.say(str(output.path))
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
