"""Runs peers and Starling as their users do, for a window of time each."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Failure(Exception):
    """The reason why there is no figure, in a sentence."""


@dataclass
class Times:
    warm_up: float  # seconds
    window: float
    limit: float = 180  # for starting and ending


def end(process):
    """Kills a program that was started in a session of its own, and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def last_line(text):
    """Returns the last line of a program's output, without colours."""
    lines = [line.strip() for line in re.sub("\x1b\\[[0-9;]*m", "", text).splitlines()]
    lines = [line for line in lines if line] or ["it printed nothing"]
    # Messages of Starling's programs begin with the program's name; a summary may follow.
    return ([line for line in lines if re.match(r"starling[a-z-]*: ", line)] or lines)[-1][:300]


def run_peer(python, program, settings, times):
    """Returns the report of the peer's program: steps, updates, seconds, packages, curve."""
    command = [python, "-B", HERE / program, json.dumps(settings), times.warm_up, times.window]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(times.warm_up + times.window + times.limit)
        except subprocess.TimeoutExpired:
            raise Failure(f"{program} did not end in time") from None
        finally:
            end(process)
        out.seek(0)
        errors.seek(0)
        said = out.read().splitlines()
        if process.returncode != 0 or not said:
            raise Failure(f"{program} failed: {last_line(errors.read())}")
        return json.loads(said[-1])


def between(lines, warm_up, window):
    """Steps, updates and seconds between the first line of `metrics` after the warm-up and the last
    one of the window."""
    if lines:
        opens = lines[0]["seconds"] + warm_up
        lines = [line for line in lines if opens <= line["seconds"] <= opens + window + 1]
    if len(lines) < 2:
        raise Failure("Starling wrote fewer than two lines of metrics in the window")
    first, last = lines[0], lines[-1]
    return {key: last[key] - first[key] for key in ("steps", "updates", "seconds")}


def metrics(path):
    """Returns the complete lines of a metrics.jsonl, which may still be growing, from the first
    steps on: the start of a trainer is not measured."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    return [line for line in lines if line["steps"] > 0]


def run_starling(starling, python, row, times):
    """The same of `starling train`, interrupted at the end of the window. python: of row.actor."""
    settings = [*row.overrides, "run.steps=1_000_000_000_000"]
    actor = [str(python), str(ROOT / row.actor)] if row.actor else []
    lines = starling_metrics(starling, row.config, settings, times, actor)
    return between(lines, times.warm_up, times.window)


def starling_metrics(starling, config, settings, times, actor=()):
    """Returns the lines of metrics of `starling train`, which is interrupted at the end of the
    window if it has not ended before. actor: the words of a program that computes the gradients
    of an external net, and with `init` writes its first weights to model.safetensors."""
    with tempfile.TemporaryDirectory(prefix="starling-peers-") as scratch:
        run_dir = Path(scratch) / "run"
        more = {}
        if actor:
            home = Path(starling).resolve().parent.parent
            more = {"cwd": scratch, "env": {**os.environ, "PYTHONPATH": str(ROOT / "python"),
                                            "STARLING_HOME": str(home)}}
            init = subprocess.run([*actor, "init"], capture_output=True, text=True, **more)
            if init.returncode != 0:
                raise Failure(f"{Path(actor[-1]).name} init failed: {last_line(init.stderr)}")
            settings = [*settings, f"actors.command={json.dumps(actor)}"]
        command = [starling, "train", ROOT / config, "--run-dir", run_dir]
        command += [word for setting in settings for word in ("--set", setting)]
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, **more,
            )  # fmt: skip
            try:
                wait_for(process, run_dir / "metrics.jsonl", times)
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                process.wait(times.limit)
            except subprocess.TimeoutExpired:
                raise Failure("Starling did not end in time") from None
            finally:
                end(process)
            if process.returncode not in (0, 130):  # trained, or interrupted with a summary
                said.seek(0)
                raise Failure(f"Starling failed: {last_line(said.read())}")
        return metrics(run_dir / "metrics.jsonl")


def wait_for(process, path, times):
    """Waits until the window is over or the program has ended."""
    deadline = time.monotonic() + times.warm_up + times.window + times.limit
    while process.poll() is None:
        lines = metrics(path)
        if lines and lines[-1]["seconds"] - lines[0]["seconds"] >= times.warm_up + times.window:
            return
        if time.monotonic() > deadline:
            raise Failure("Starling did not get through the window in time")
        time.sleep(0.1)


def tell(line):
    print(f"bench-peers: {line}", file=sys.stderr, flush=True)
