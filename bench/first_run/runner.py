"""Runs stages under a budget and keeps a report, which is whole after every stage.

A stage is a function that takes a Run and returns a Result. Its commands end with it: at the end of
its time they are killed with all their children.
"""
import dataclasses
import json
import os
import signal
import subprocess
import time
from pathlib import Path


class TimedOut(Exception):
    """The stage has no time left."""


class Unavailable(Exception):
    """This machine cannot do the stage; the text says why."""


class Failed(Exception):
    """The stage found something wrong; the text says what."""


@dataclasses.dataclass
class Figure:
    """A measured number as text, beside what was expected; "" where nothing was."""
    what: str
    measured: str
    predicted: str = ""
    wanted: str = ""


@dataclasses.dataclass
class Result:
    figures: list = dataclasses.field(default_factory=list)
    numbers: object = None  # for programs
    wrong: str = ""         # what is wrong although there are figures, or ""


@dataclasses.dataclass
class Stage:
    name: str
    limit_s: float  # at most, of the budget
    run: object     # Run -> Result


class Interrupted(Exception):
    """A signal came; the argument is its number."""


class Run:
    """The programs, the directory of the results, and the time that a stage has left."""

    def __init__(self, root, programs, out):
        self.root, self.programs, self.out = Path(root), Path(programs), Path(out)
        self.deadline = float("inf")
        self.stage = ""

    def left(self):
        return self.deadline - time.monotonic()

    def start(self, *words, env=None):
        """Starts a command as the leader of a group; its output goes to STAGE.log."""
        log = open(self.out / f"{self.stage}.log", "ab")
        with log:
            log.write(("+ " + " ".join(map(str, words)) + "\n").encode())
            log.flush()
            return subprocess.Popen(
                [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log, cwd=self.out, start_new_session=True, env=dict(os.environ, **(env or {})))

    def finish(self, process):
        """Waits for a command of start(). Returns its exit status and standard output. Throws
        TimedOut, and ends the command, if the stage has no time left."""
        try:
            text, _ = process.communicate(timeout=max(0, self.left()))
        except subprocess.TimeoutExpired:
            self.end(process)
            raise TimedOut() from None
        except BaseException:
            self.end(process)
            raise
        with open(self.out / f"{self.stage}.log", "ab") as log:
            log.write(text)
        return process.returncode, text.decode(errors="replace")

    def command(self, *words, env=None):
        return self.finish(self.start(*words, env=env))

    def log_tail(self):
        """The last line that the stage's commands wrote."""
        path = self.out / f"{self.stage}.log"
        text = path.read_text(errors="replace") if path.exists() else ""
        lines = [line for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""

    @staticmethod
    def end(process):
        for number, patience_s in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
            try:
                process.communicate(timeout=patience_s)
                return
            except subprocess.TimeoutExpired:
                continue


def outcome_of(run, stage):
    """Runs a stage. Returns its entry in the report."""
    try:
        result = stage.run(run)
        entry = {"status": "failed" if result.wrong else "ok", "why": result.wrong,
                 "figures": [dataclasses.asdict(figure) for figure in result.figures]}
        if result.numbers is not None:
            entry["numbers"] = result.numbers
        return entry
    except TimedOut:
        return {"status": "timed out", "why": "cut at the end of its time", "figures": []}
    except Unavailable as why:
        return {"status": "unavailable", "why": str(why), "figures": []}
    except (Failed, OSError, ValueError, KeyError, TypeError, AttributeError) as why:
        text = str(why) if isinstance(why, Failed) else f"{type(why).__name__}: {why}"
        return {"status": "failed", "why": text, "figures": []}


def write_atomically(path, text):
    scratch = path.with_name(path.name + ".new")
    with open(scratch, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)


def run_stages(stages, run, budget_s, report, keep, say):
    """Runs the stages in order for `budget_s` in all, and calls keep(report) before and after each.
    A stage without time is skipped. Returns whether none failed or was cut."""
    end = time.monotonic() + budget_s
    for stage in stages:
        entry = {"name": stage.name, "status": "running", "why": "", "figures": []}
        report["stages"].append(entry)
        run.stage = stage.name
        begin = time.monotonic()
        run.deadline = min(end, begin + stage.limit_s)
        if run.left() <= 0:
            entry.update(status="skipped", why="no time was left")
        else:
            try:
                keep(report)
                say(f"== {stage.name}")
                entry.update(outcome_of(run, stage))
            except BaseException:
                entry.update(status="interrupted", seconds=round(time.monotonic() - begin, 1))
                keep(report)
                raise
        entry["seconds"] = round(time.monotonic() - begin, 1)
        say("   " + ": ".join(filter(None, (entry["status"], entry["why"]))))
        for figure in entry["figures"]:
            expected = [f"{name} {figure[name]}" for name in ("predicted", "wanted") if figure[name]]
            say(f"   {figure['what']}: {figure['measured']}" +
                (f" ({', '.join(expected)})" if expected else ""))
        keep(report)
    return all(entry["status"] in ("ok", "unavailable") for entry in report["stages"])
