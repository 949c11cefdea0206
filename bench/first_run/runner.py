"""Runs stages under a budget and keeps a report, which is whole after every stage.

A stage is a function that takes a Run and returns a Result. At the end of its time its command is
ended with its group; the children of `starling` in other groups end with it.
"""
import ctypes
import dataclasses
import os
import re
import signal
import subprocess
import time
from pathlib import Path

LIBC = ctypes.CDLL(None)
PATIENCE_S = 5  # from a signal to the next one, and to giving up
SLICE_S = 0.2   # between two looks at the time and at signals


class TimedOut(Exception):
    """The stage has no time left."""


class Unavailable(Exception):
    """This machine cannot do the stage; the text says why."""


class Failed(Exception):
    """The stage found something wrong; the text says what."""


class Interrupted(Exception):
    """A signal came; the argument is its number."""


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
    wrong: str = ""         # a failed check, in a sentence, or ""; the figures count all the same


@dataclasses.dataclass
class Stage:
    name: str
    limit_s: float  # at most, of the budget
    run: object     # Run -> Result


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def how_it_ended(status):
    """An exit status of a process as text, behind its name."""
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"


def end_with_parent():
    """In a new process: it is asked to end when its parent is killed."""
    pr_set_pdeathsig = 1
    LIBC.prctl(pr_set_pdeathsig, signal.SIGTERM)


class Run:
    """The programs, the directory of the results, and the time that a stage has left."""

    def __init__(self, root, programs, out):
        self.root, self.programs, self.out = Path(root), Path(programs), Path(out)
        self.machine = None  # doctor's
        self.begin("start", float("inf"))
        self.signals = []    # numbers of those that came

    def begin(self, stage, deadline):
        self.stage, self.deadline = stage, deadline

    def left(self):
        return self.deadline - time.monotonic()

    def stop_if_asked(self):
        if self.signals:
            raise Interrupted(self.signals[0])

    def path(self, ending):
        """STAGE.out has what the stage's commands print, STAGE.log what they say on standard
        error."""
        return self.out / (re.sub(r"\W+", "-", self.stage) + ending)

    def start(self, *words, env=None):
        """Starts a command as the leader of a group."""
        with open(self.path(".out"), "ab") as out, open(self.path(".log"), "ab") as log:
            log.write(("+ " + " ".join(map(str, words)) + "\n").encode())
            log.flush()
            begins_at = out.tell()  # before the command may write
            process = subprocess.Popen(
                [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                cwd=self.out, start_new_session=True, env={**os.environ, **(env or {})},
                preexec_fn=end_with_parent)
            process.begins_at = begins_at
            return process

    def finish(self, process):
        """Waits for a command of start(). Returns its exit status and what it printed. Throws
        TimedOut or Interrupted, after it has ended the command."""
        try:
            while True:
                self.stop_if_asked()
                if self.left() <= 0:
                    raise TimedOut()
                try:
                    status = process.wait(min(SLICE_S, max(self.left(), 0)))
                    break
                except subprocess.TimeoutExpired:
                    continue
        except BaseException:
            end_group(process)
            raise
        printed = self.path(".out").read_bytes()[process.begins_at:]
        return status, printed.decode(errors="replace")

    def command(self, *words, env=None):
        return self.finish(self.start(*words, env=env))

    def said(self):
        """What the stage's commands said on standard error."""
        path = self.path(".log")
        text = path.read_text(errors="replace") if path.exists() else ""
        return "".join(line for line in text.splitlines(True) if not line.startswith("+ "))


def end_group(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            pass  # in the driver, it may take its time to die


def outcome_of(run, stage):
    """Runs a stage. Returns its entry in the report."""
    try:
        result = stage.run(run)
    except Interrupted:
        raise
    except TimedOut:
        return {"status": "timed out", "why": "cut at the end of its time"}
    except Unavailable as why:
        return {"status": "unavailable", "why": str(why)}
    except Failed as why:
        return {"status": "failed", "why": str(why)}
    except Exception as why:  # an answer that is not as expected: the other stages go on
        return {"status": "failed", "why": f"{type(why).__name__}: {why}; {last_line(run.said())}"}
    entry = {"status": "failed" if result.wrong else "ok", "why": result.wrong,
             "figures": [dataclasses.asdict(figure) for figure in result.figures]}
    if result.numbers is not None:
        entry["numbers"] = result.numbers
    return entry


def lines_of(entry):
    """A finished stage as text."""
    yield "   " + ": ".join(filter(None, (entry["status"], entry["why"])))
    for figure in entry["figures"]:
        expected = [f"{name} {figure[name]}" for name in ("predicted", "wanted") if figure[name]]
        more = f" ({', '.join(expected)})" if expected else ""
        yield f"   {figure['what']}: {figure['measured']}{more}"


def run_stages(stages, run, end, report, keep, say):
    """Runs the stages in order until `end` (time.monotonic), and calls keep(report) before and
    after each. A stage without time is skipped. Returns whether none failed and none was cut."""
    for stage in stages:
        begin = time.monotonic()
        entry = {"name": stage.name, "status": "running", "why": "", "figures": []}
        report["stages"].append(entry)
        run.begin(stage.name, min(end, begin + stage.limit_s))
        try:
            run.stop_if_asked()
            if run.left() <= 0:
                entry.update(status="skipped", why="no time was left")
            else:
                keep(report)
                say(f"== {stage.name}")
                entry.update(outcome_of(run, stage))
        except Interrupted:
            entry["status"] = "interrupted"
            raise
        finally:
            entry["seconds"] = round(time.monotonic() - begin, 1)
            keep(report)
        for line in lines_of(entry):
            say(line)
    return all(entry["status"] in ("ok", "unavailable") for entry in report["stages"])
