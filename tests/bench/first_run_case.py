"""A machine with a GPU for tests of scripts/gpu-first-run: stand-ins for the programs.

Needs Python's standard library only."""
import contextlib
import io
import json
import os
import signal
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
BENCH = Path(__file__).resolve().parents[2] / "bench" / "first_run"
sys.path.insert(0, str(BENCH))

import gpu_first_run
import runner

GPU = {"name": "A GPU", "memory_bytes": 80_000_000_000, "compute_capability": "9.0"}
MACHINE = {"processor": "A processor", "cores": 16, "program": "starling 0.1.0", "driver": "13",
           "gpus": [GPU], "why_no_gpu": ""}


def check(kind, what, **more):
    return {"kind": kind, "device": "cuda", "what": what, "ok": True, "text": "", "problem": "",
            **more}


CHECKS = [check("ops", "loss"), check("games", "catch"), check("rollouts", "a net, twice")]
BENCHES = {
    "gpu-limits": {"copy": {"gb_s": 4000}, "up": {"us": 25}, "node": {"us": 1.25}},
    "gpu-games": {"catch": {"ns": 0.5, "envs": 16384}},
    "gpu-actors": {"f32": {"4096x5": {"steps_per_second": 12e6, "busy": 0.7}}},
    "gpu-products": {"atari_f32": {"share": 0.6, "flops": 1e9, "whole_us": 100}},
}

# What it answers is in answers.json beside it.
STARLING = """#!{python}
import json, pathlib, sys
answers = json.loads((pathlib.Path(__file__).parent / "answers.json").read_text())
if "doctor" in sys.argv:
    print(answers["doctor"])
    sys.exit(answers["doctor_status"])
run_dir = pathlib.Path(sys.argv[sys.argv.index("--run-dir") + 1])
run_dir.mkdir()
weights = answers["weights"][run_dir.name == "bits-2"].encode()
(run_dir / "end.safetensors").write_bytes((2).to_bytes(8, "little") + b"{{}}" + weights)
summary = {{"steps_per_second": 6e6, "mean_return": answers["mean_return"],
           "bottleneck": "the host", "final_checkpoint": "end.safetensors"}}
(run_dir / "summary.json").write_text(json.dumps(summary))
(run_dir / "metrics.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in [
    {{"seconds": 1, "mean_return": None}},
    {{"seconds": 5, "mean_return": answers["mean_return"]}}]))
"""

BENCH_PROGRAM = """#!{python}
import json, pathlib, sys
answers = json.loads((pathlib.Path(__file__).parent / "answers.json").read_text())
name, path = sys.argv[1], pathlib.Path(sys.argv[sys.argv.index("--json") + 1])
path.write_text(json.dumps({{"figures": {{name: answers["benches"][name]}}}}))
"""

TOOL = """#!{python}
print('''{text}''')
"""

AGREES = "cuda        MinAtar net, twice  ok 4 gradients, the same bits"


class FirstRunCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.out = self.root / "out"
        self.bin = self.root / "bin"
        self.bin.mkdir()
        self.program("starling", STARLING)
        self.program("starling-bench", BENCH_PROGRAM)
        self.answer()
        # Tools of the machine are not asked: the stand-ins of a test come first.
        path = mock.patch.dict(os.environ, PATH=str(self.bin) + ":" + os.environ["PATH"])
        path.start()
        self.addCleanup(path.stop)

    def program(self, name, source, **values):
        path = self.bin / name
        path.write_text(source.format(python=sys.executable, **values))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def answer(self, machine=None, checks=None, status=0, **more):
        answers = {"doctor": json.dumps({"machine": machine or MACHINE,
                                         "checks": CHECKS if checks is None else checks}),
                   "doctor_status": status, "weights": ["same", "same"], "mean_return": 50.0,
                   "benches": BENCHES}
        (self.bin / "answers.json").write_text(json.dumps({**answers, **more}))

    def main(self, *words, use=None):
        """Returns the exit status, and what was written to standard output and standard error."""
        out, err = io.StringIO(), io.StringIO()
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.getsignal(number) for number in numbers}
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = gpu_first_run.main(["--out", str(self.out), *words], self.root, use)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return status, out.getvalue(), err.getvalue()

    def report(self):
        return json.loads((self.out / "first-run.json").read_text())

    def run_stage(self, run, limit_s=600):
        """The entry of the report of one stage."""
        self.main(use=[runner.Stage("a stage", limit_s, run)])
        return self.report()["stages"][0]
