"""The programs: train, evaluate and sweep."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from . import _library
from ._library import Error, Mistake
from .runs import Run

_DONE, _MISTAKE, _INTERRUPTED = 0, 2, 130  # exit statuses (core/error.h)
_LOGGED = re.compile(r"\d\d:\d\d:\d\d\.\d{3} (info|warn)")  # a line that is no message of a mistake


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What episodes with trained weights came to."""

    mean: float  #: return of an episode
    std: float
    episodes: int
    greedy: bool


@dataclasses.dataclass(frozen=True)
class Point:
    """A point of a grid, with a run for each seed."""

    name: str
    settings: dict[str, Any]  #: by key, in TOML
    runs: list[Run]
    mean: float | None  #: of the runs' returns; None if none is finished
    median: float | None
    interquartile_mean: float | None


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Every point of a grid, trained with every seed."""

    path: Path
    points: list[Point]


def configs() -> Path:
    """The directory of the configurations that come with Starling."""
    for place in (_library.home() / "share" / "starling" / "configs",
                  Path(__file__).resolve().parent.parent.parent / "configs"):
        if place.is_dir():
            return place
    raise Error("the configurations that come with Starling are not there")


def train(config: str | os.PathLike[str] | None = None, *,
          overrides: Mapping[str, Any] | None = None,
          run_dir: str | os.PathLike[str] | None = None,
          init_from: Any = None, resume: Any = None, continues: bool = False,
          progress: bool | Callable[[dict[str, Any]], None] = True) -> Run:
    """Trains, and waits for the end: a learner and a fleet of actors, as `starling train`.

    config: a TOML file, or the name of one in configs(). overrides: {"section.key": value}.
    run_dir: where the run goes, runs/NAME by default. init_from: a Run, run directory or checkpoint
    with the first weights. resume: a Run or run directory that is gone on with, in place of config.
    continues: go on with the run in run_dir if it has a checkpoint, else begin it.
    progress: True shows lines on sys.stderr; a function is called with each new line of
    metrics.jsonl, a dict, in this thread; what it raises stops the run in order and is raised.

    Environments of Gymnasium ("gym:...", "ale:...") run in the interpreter that calls, unless
    env.python or $STARLING_PYTHON says otherwise. Ctrl-C stops the run in order, and raises
    KeyboardInterrupt. The run does not outlive this process.

    Returns the run. Raises Mistake if something is wrong with what is given, Error if it failed.
    """
    words = ["train", "--progress", "lines" if progress is True else "none", *_set(overrides)]
    if (config is None) == (resume is None):
        raise Mistake("give a config, or a run to resume")
    if resume is not None and run_dir is not None:
        raise Mistake("a run that is resumed stays in its directory: leave run_dir out")
    if continues and run_dir is None:
        raise Mistake("continues wants the directory of the run: give run_dir, and not resume")
    if resume is not None:
        run_dir = Path(getattr(resume, "path", resume))
        words += ["--resume", str(run_dir)]
    else:
        file = _config_file(config)
        run_dir = Path(run_dir) if run_dir is not None else _free_dir(file, overrides)
        words += [str(file), "--run-dir", str(run_dir)]
    if continues:
        words.append("--continue")
    if init_from is not None:
        words += ["--init-from", str(getattr(init_from, "path", init_from))]
    follower = _Follower(run_dir / "metrics.jsonl", progress) if callable(progress) else None
    _call(words, show=progress is True, run_dir=run_dir, follower=follower)
    return Run(run_dir)


def evaluate(run: Any, *, episodes: int = 100, greedy: bool = False, seed: int = 1,
             overrides: Mapping[str, Any] | None = None) -> Evaluation:
    """Plays fresh episodes with the newest weights of a Run, a run directory or a checkpoint, as
    `starling eval`. overrides: {"env.key": value} over the run's."""
    words = ["eval", str(getattr(run, "path", run)), "--json", "--episodes", str(episodes), "--seed",
             str(seed)]
    if greedy:
        words.append("--greedy")
    answer = json.loads(_call(words + _set(overrides)).splitlines()[-1])
    return Evaluation(mean=answer["mean_return"], std=answer["std"], episodes=answer["episodes"],
                      greedy=answer["greedy"])


def sweep(grid: str | os.PathLike[str], *, progress: bool = True) -> Sweep:
    """Trains every point of a grid (docs/sweeps-and-reports.md) with every seed, as `starling
    sweep`; called again, it goes on."""
    _call(["sweep", str(grid)], show=progress)
    return _read_sweep(Path(grid))


# ---- arguments


def _config_file(config: Any) -> Path:
    file = Path(config)
    if file.exists() or file.parent != Path("."):
        return file
    bundled = configs() / file
    return bundled if bundled.exists() else file


def _free_dir(file: Path, overrides: Mapping[str, Any] | None) -> Path:
    """Where `starling train` would put the run: run.dir, or runs/NAME, numbered if it is taken."""
    try:
        run = dict(tomllib.loads(file.read_text()).get("run", {}))
    except (OSError, ValueError, TypeError):
        run = {}  # starling says what is wrong with the file
    own = {key: value for key, value in run.items() if key in ("dir", "name") and value}
    own |= {key: value for key in ("dir", "name") if (value := (overrides or {}).get(f"run.{key}"))}
    if "dir" in own:
        return Path(str(own["dir"]))
    first = path = Path("runs") / str(own.get("name", file.stem))
    number = 1
    while path.exists() and (not path.is_dir() or any(path.iterdir())):
        number += 1
        path = first.with_name(f"{first.name}-{number}")
    return path


def _set(overrides: Mapping[str, Any] | None) -> list[str]:
    if not isinstance(overrides, (Mapping, type(None))):
        raise Mistake(f"overrides is {type(overrides).__name__}: it is {{\"section.key\": value}}")
    words = []
    for key, value in (overrides or {}).items():
        words += ["--set", f"{key}={_toml(key, value)}"]
    return words


def _toml(key: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):  # in quotes a text is a text, whatever is in it
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(key, one) for one in value) + "]"
    raise Mistake(f"{key} = {value!r} is nothing that a configuration holds")


# ---- processes


class _Follower:
    """Calls a function with each new line of a file."""

    def __init__(self, file: Path, function: Callable[[dict[str, Any]], None]) -> None:
        self._file, self._function = file, function
        self._at = file.stat().st_size if file.exists() else 0

    def look(self) -> None:
        if not self._file.exists():
            return
        if self._file.stat().st_size < self._at:
            self._at = 0  # the run has begun again
        with self._file.open("rb") as lines:
            lines.seek(self._at)
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # it is being written
                self._at += len(line)
                try:
                    numbers = json.loads(line)
                except json.JSONDecodeError:  # torn by a learner that was killed
                    continue
                self._function(numbers)


def _call(words: list[str], show: bool = False, run_dir: Path | None = None,
          follower: _Follower | None = None) -> str:
    """Runs `starling`; returns what it writes to standard output. Its standard error goes on to
    sys.stderr if `show`. Raises what its exit status says."""
    environment = {**os.environ, "STARLING_PARENT": str(os.getpid())}
    environment.setdefault("STARLING_PYTHON", sys.executable)
    here = Path(sys.executable).parent
    if sys.prefix != sys.base_prefix and (here / "python").exists():
        # So "python" in actors.command is this one, also in an environment that is not activated.
        environment["PATH"] = f"{here}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    before = _summary_of(run_dir)
    # In a session of its own: a Ctrl-C reaches this process alone, which passes it on.
    process = subprocess.Popen([str(_library.program()), *words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True, env=environment)
    try:
        out, errors = _Lines(process.stdout), _Lines(process.stderr, show)
        while process.poll() is None:
            if follower is not None:
                follower.look()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
        if follower is not None:
            follower.look()
    except BaseException:
        _stop(process)
        raise
    out.join()
    errors.join()
    _raise_for(process.returncode, words[0], list(errors.lines), before, _summary_of(run_dir))
    return "\n".join(out.lines)


class _Lines(threading.Thread):
    """Reads a pipe to its end, so that its writer never waits."""

    def __init__(self, pipe: IO[str], show: bool = False) -> None:
        super().__init__(daemon=True)
        self.lines: collections.deque[str] = collections.deque(maxlen=1000)
        self._pipe, self._show = pipe, show
        self.start()

    def run(self) -> None:
        with self._pipe:
            for line in self._pipe:
                self.lines.append(line.rstrip("\n"))
                if self._show:
                    print(line, end="", file=sys.stderr, flush=True)


def _stop(process: subprocess.Popen[str]) -> None:
    """Ends a run in order: it writes its last checkpoint. Another Ctrl-C meanwhile ends it at
    once."""
    process.send_signal(signal.SIGINT)
    while process.poll() is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)


def _raise_for(status: int, command: str, lines: list[str], before: str, after: str) -> None:
    """before, after: the summary of the run when the program began, and when it ended."""
    if status == _DONE:
        return
    said = [line for line in lines if line and not _LOGGED.match(line)]
    why = json.loads(after).get("error") if after not in ("", before) else None
    if status == _INTERRUPTED:  # not by a Ctrl-C here, which is raised where it comes
        error = Error(f"starling {command} was told to stop from elsewhere")
    elif status == _MISTAKE:  # its message may have several lines
        error = Mistake(why or "\n".join(said) or f"starling {command}: a mistake")
    else:
        said = said or lines or [f"starling {command} ended with exit status {status}"]
        error = Error(why or said[-1])
    error.log = "\n".join(lines)
    raise error


def _summary_of(run_dir: Path | None) -> str:
    """The text of summary.json; "" without one."""
    if run_dir is None or not (run_dir / "summary.json").exists():
        return ""
    return (run_dir / "summary.json").read_text()


def _read_sweep(grid: Path) -> Sweep:
    path = Path(tomllib.loads(grid.read_text()).get("dir", Path("sweeps") / grid.stem))
    points = []
    for point in json.loads((path / "sweep.json").read_text())["points"]:
        runs = [Run(path / one["dir"]) if not (Path(one["dir"]) / "config.toml").exists()
                else Run(one["dir"]) for one in point["runs"] if one["state"] == "finished"]
        points.append(Point(name=point["name"], settings=point["settings"], runs=runs,
                            mean=point["mean"], median=point["median"],
                            interquartile_mean=point["interquartile_mean"]))
    return Sweep(path, points)
