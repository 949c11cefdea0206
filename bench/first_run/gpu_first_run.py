"""scripts/gpu-first-run --out DIR [--budget SECONDS]: checks and measures a GPU in one call.

Checks the GPU and measures it, stage after stage, each under a time limit and all under the budget.
DIR/first-run.json is whole after every stage, so a run that is cut keeps what it has; DIR also has
what the commands of each stage printed. Needs Python 3.9 or newer, nothing else, and the programs
of a package or of a build; compute-sanitizer and ncu are the machine's. Ends with 0 if nothing is
wrong and every stage had its time (one that this machine cannot do is "unavailable"), with 1 if not
(a slow machine needs a larger budget), with 2 if it could not begin, above all without a GPU.
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


def check_room(directory):
    """Writes as much as a run does: a disk that is full is found before anything is measured."""
    probe = directory / "first-run.new"
    try:
        probe.write_bytes(bytes(1 << 20))
    except OSError as why:
        raise CannotBegin(f"{directory} has no room for results ({why.strerror}): choose another "
                          "--out") from None
    finally:
        probe.unlink(missing_ok=True)


def ask_machine(root, programs, signals):
    """Asks doctor for the machine. Throws CannotBegin without a GPU."""
    try:
        place = tempfile.TemporaryDirectory()
    except OSError as why:
        raise CannotBegin(f"there is no place for temporary files ({why.strerror}): set TMPDIR"
                          ) from None
    with place as scratch:
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
    """Standard output, and the report in a file. What cannot be written is said when it happens and
    at the end: the stages go on, and the other of the two may still have their results."""

    def __init__(self, path):
        self.path, self.why = path, ""  # why the last report could not be written
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")  # a terminal may lack the letter µ

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
            self.why = ""
        except OSError as why:
            if not self.why:
                self.say(f"{self.path} cannot be written ({why.strerror}): the stages go on")
            self.why = why.strerror

    def end(self):
        self.say(f"{self.path} lacks the last stages ({self.why})" if self.why else str(self.path))


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="gpu-first-run", description=(__doc__ or "\n\n").split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, metavar="DIR",
                        help="a new or empty directory for the results")
    parser.add_argument("--budget", type=float, default=560, metavar="SECONDS",
                        help="for all stages (560); what has no time left is skipped")
    options = parser.parse_args(words)
    if not 0 < options.budget < float("inf"):
        parser.error(f"--budget {options.budget}: a number of seconds above 0")
    return options


def main(words=None, root=ROOT, stages=None):
    end = time.monotonic()
    options = arguments(words)
    end += options.budget
    signals = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays nohup
            signal.signal(number, lambda its, _: signals.append(its))
    try:
        programs = programs_of(root)
        machine = ask_machine(root, programs, signals)
        out = make_empty(options.out)
        check_room(out)
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
    output.end()
    return 0 if whole and not output.why else 1


if __name__ == "__main__":
    sys.exit(main())
