"""scripts/gpu-first-run on a machine without a GPU: stand-ins for the programs.

Needs Python's standard library only."""
import contextlib
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
BENCH = Path(__file__).resolve().parents[2] / "bench" / "first_run"
sys.path.insert(0, str(BENCH))

import cuda_tools
import gpu_first_run
import runner
import stages
from predicted import PREDICTED, WANTED

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


class FirstRunTest(unittest.TestCase):
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

    # ---- What keeps it from beginning

    def test_without_a_gpu_it_says_so_and_ends_with_2(self):
        self.answer(machine={**MACHINE, "gpus": [], "why_no_gpu": "no driver: install one"})
        status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("no driver: install one", err)
        self.assertFalse(self.out.exists())

    def test_without_programs_it_names_the_build(self):
        (self.bin / "starling-bench").unlink()
        status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("run scripts/build release", err)

    def test_it_overwrites_no_results(self):
        self.out.mkdir()
        (self.out / "first-run.json").write_text("{}")
        status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("is not empty: choose another --out", err)
        self.assertEqual((self.out / "first-run.json").read_text(), "{}")

    def test_a_place_that_cannot_be_is_named(self):
        self.out.write_text("a file")
        status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("cannot be the directory of results", err)

    def test_a_full_disk_is_named(self):
        with mock.patch.object(Path, "write_bytes", side_effect=OSError(28, "No space left")):
            status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("has no room for results (No space left): choose another --out", err)

    def test_without_a_place_for_temporary_files_it_says_so(self):
        with mock.patch("tempfile.TemporaryDirectory", side_effect=OSError(2, "No such place")):
            status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("temporary files (No such place): set TMPDIR", err)

    def test_a_budget_is_a_number_of_seconds(self):
        for budget in ("0", "-5", "nan", "inf", "much"):
            with self.assertRaises(SystemExit) as ended:
                self.main("--budget", budget)
            self.assertEqual(ended.exception.code, 2)
            self.assertFalse(self.out.exists())

    def test_a_program_that_does_not_start_is_named(self):
        self.program("starling", "#!{python}\nimport sys\nsys.exit('no libzmq')\n")
        status, _, err = self.main()
        self.assertEqual(status, 2)
        self.assertIn("no libzmq", err)

    # ---- A whole run

    def test_every_stage_has_an_entry_and_predictions_stand_beside_figures(self):
        self.program("compute-sanitizer", TOOL, text=f"{AGREES}\n========= ERROR SUMMARY: 0 errors")
        self.program("ncu", TOOL, text='==PROF== Connected\n"ID","Kernel"\n"1","Step"')
        self.program("nvidia-smi", TOOL, text="clocks")
        status, out, _ = self.main()
        report = self.report()
        entries = {entry["name"]: entry for entry in report["stages"]}
        self.assertEqual(list(entries), [stage.name for stage in stages.STAGES])
        self.assertEqual({name: entry["status"] for name, entry in entries.items()},
                         {name: "unavailable" if name == "each gpu" else "ok" for name in entries})
        self.assertEqual(status, 0)
        f32 = entries["actors"]["figures"][0]
        self.assertEqual(f32["measured"], "12.00 million steps/s, the GPU busy 70 %")
        self.assertEqual(f32["predicted"], PREDICTED["actors", "f32 4096x5"])
        self.assertEqual(f32["wanted"], WANTED["actors", "f32 4096x5"])
        self.assertIn("(predicted 9–16 million steps/s, wanted ≥ 10 million)", out)
        self.assertIn("mean return 40 after: 5.0 s", out)

    def test_what_is_predicted_is_a_row_of_a_stage(self):
        source = {name: (BENCH.parent / f"gpu_{name}.cc").read_text() for name in ("limits",)}
        source["actors"] = (BENCH.parent / "actor_speed.cc").read_text()
        for name in ("training", "two actors"):
            source[name] = (BENCH / "stages.py").read_text()
        for stage, row in list(PREDICTED) + list(WANTED):
            named = f'"{row}"'
            if stage == "actors":
                group, envs, steps = re.fullmatch(r"(\w+) (\d+)x(\d+)", row).groups()
                self.assertIn(group, ("f32", "tf32", "bf16", "staged"))
                named = f"{{{envs}, {steps}}}" if group != "staged" else envs
            self.assertIn(named, source[stage])

    # ---- What is wrong

    def test_a_check_that_disagrees_is_named(self):
        bad = check("games", "minatar/asterix", ok=False, text="step 3: env 7")
        self.answer(checks=CHECKS + [bad], status=1)
        entry = self.run_stage(stages.doctor(30))
        self.assertEqual(entry["status"], "failed")
        self.assertEqual(entry["why"], "games: cuda: minatar/asterix: step 3: env 7")
        self.assertEqual(entry["figures"][1]["measured"], "1 of 2 agree")

    def test_checks_that_left_the_gpu_out_are_a_failure(self):
        self.answer(checks=CHECKS[:2] + [check("rollouts", "a net, twice", device="cpu")])
        entry = self.run_stage(stages.doctor(30))
        self.assertEqual(entry["status"], "failed")
        self.assertEqual(entry["why"], "no rollouts were checked on the GPU")

    def test_a_doctor_that_aborts_is_a_failure(self):
        self.program("starling", "#!{python}\nimport sys\n"
                     "if '--gpu' in sys.argv: sys.exit('CHECK failed')\n"
                     "print('" + json.dumps({"machine": MACHINE}).replace("{", "{{")
                     .replace("}", "}}") + "')\n")
        entry = self.run_stage(stages.doctor(30))
        self.assertEqual(entry["status"], "failed")
        self.assertIn("CHECK failed", entry["why"])

    def test_a_figure_that_was_not_measured_is_a_failure(self):
        self.answer(benches={"gpu-games": {"catch": {"not_measured": "it failed"}}})
        entry = self.run_stage(stages.bench("games", "gpu-games", stages.of_games))
        self.assertEqual(entry["status"], "failed")
        self.assertEqual(entry["why"], "catch: it failed")

    def test_other_bits_are_a_failure(self):
        self.answer(weights=["these", "those"])
        entry = self.run_stage(stages.same_bits)
        self.assertEqual(entry["status"], "failed")
        self.assertIn("other weights", entry["why"])

    def test_training_that_learns_nothing_is_a_failure(self):
        self.answer(mean_return=3.0)
        self.assertEqual(self.run_stage(stages.training)["status"], "failed")

    def test_what_a_sanitizer_says(self):
        for text, status, why in (
                (f"{AGREES}\n========= ERROR SUMMARY: 0 errors", "ok", ""),
                (f"{AGREES}\n========= ERROR SUMMARY: 257 errors\n"
                 "========= ERROR SUMMARY: 157 errors were not printed", "failed", "257 errors"),
                (f"{AGREES}\n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)",
                 "failed", "1 errors"),
                ("cuda        loss  WRONG 1 of 0\n========= ERROR SUMMARY: 0 errors", "failed",
                 "WRONG 1 of 0"),
                ("========= ERROR SUMMARY: 0 errors", "failed", "no check was done"),
                ("========= Error: not permitted here\nbye", "unavailable", "not permitted here"),
                ("========= Error: process didn't terminate successfully", "failed", "didn't"),
                ("it broke", "failed", "it broke")):
            self.program("compute-sanitizer", TOOL, text=text)
            with self.subTest(text), tempfile.TemporaryDirectory() as out:
                self.out = Path(out) / "out"
                entry = self.run_stage(cuda_tools.sanitizer("memcheck", "ops"))
                self.assertEqual(entry["status"], status)
                self.assertIn(why, entry["why"])

    def test_checks_under_a_tool_see_one_gpu(self):
        self.program("compute-sanitizer", "#!{python}\nimport os\n"
                     "print('CUDA_VISIBLE_DEVICES', os.environ['CUDA_VISIBLE_DEVICES'])\n")
        for visible, first in (({}, "0"), ({"CUDA_VISIBLE_DEVICES": "3,5"}, "3")):
            with mock.patch.dict(os.environ, visible), tempfile.TemporaryDirectory() as out:
                self.out = Path(out) / "out"
                entry = self.run_stage(cuda_tools.sanitizer("memcheck", "ops"))
                self.assertIn(f"CUDA_VISIBLE_DEVICES {first}", entry["why"])

    def test_a_tool_that_is_not_there_is_unavailable(self):
        with mock.patch("shutil.which", return_value=None):
            entry = self.run_stage(cuda_tools.profile)
        self.assertEqual(entry["status"], "unavailable")
        self.assertIn("there is no ncu", entry["why"])

    def test_counters_that_are_forbidden_are_unavailable(self):
        self.program("ncu", TOOL, text="==ERROR== ERR_NVGPUCTRPERM - no permission\n"
                     "==WARNING== No kernels were profiled.")
        entry = self.run_stage(cuda_tools.profile)
        self.assertEqual(entry["status"], "unavailable")
        self.assertIn("ERR_NVGPUCTRPERM", entry["why"])

    def test_one_actor_on_each_of_two_gpus(self):
        self.answer(machine={**MACHINE, "gpus": [GPU, GPU]})
        entry = self.run_stage(stages.each_gpu)
        self.assertEqual(entry["figures"][0]["what"], "steps/s, one actor on each of 2")

    def test_a_stage_that_breaks_leaves_the_others(self):
        def breaks(_):
            raise ZeroDivisionError("1 / 0")

        status, _, _ = self.main(use=[runner.Stage("breaks", 600, breaks),
                                      runner.Stage("next", 600, lambda run: runner.Result())])
        self.assertEqual([entry["status"] for entry in self.report()["stages"]], ["failed", "ok"])
        self.assertEqual(status, 1)

    def test_a_report_that_cannot_be_written_does_not_end_it(self):
        use = [runner.Stage(name, 600, lambda run: runner.Result()) for name in ("a", "b")]
        with mock.patch("os.replace", side_effect=OSError(28, "No space left on device")):
            status, out, _ = self.main(use=use)
        self.assertEqual(out.count("cannot be written (No space left on device)"), 1)
        self.assertIn("== b", out)
        self.assertIn("first-run.json lacks the last stages (No space left on device)", out)
        self.assertEqual(status, 1)

    # ---- Time

    def test_a_stage_is_cut_with_all_its_processes(self):
        # The command ignores SIGTERM, has a child, and has printed a line.
        child = f"{sys.executable} -c 'import time; time.sleep(600)'"

        def hangs(run):
            process = run.start("sh", "-c", f"trap '' TERM; echo begun; {child} & "
                                f"echo $! > {self.root}/pid; wait")
            give_up = time.monotonic() + 120
            while not (self.root / "pid").exists() or not (self.root / "pid").read_text():
                self.assertLess(time.monotonic(), give_up)
                time.sleep(0.01)
            run.deadline = time.monotonic()
            run.finish(process)

        with mock.patch.object(runner, "PATIENCE_S", 0.1):
            self.main(use=[runner.Stage("hangs", 600, hangs),
                           runner.Stage("next", 600, lambda run: runner.Result())])
        first, second = self.report()["stages"]
        self.assertEqual((first["status"], second["status"]), ("timed out", "ok"))
        self.assertEqual((self.out / "hangs.out").read_text(), "begun\n")
        self.assertFalse(is_running(int((self.root / "pid").read_text())))

    def test_without_budget_the_rest_is_skipped(self):
        status, _, _ = self.main("--budget", "1e-9")
        self.assertEqual({entry["status"] for entry in self.report()["stages"]}, {"skipped"})
        self.assertEqual(status, 1)

    def test_the_report_is_whole_before_a_stage_ends(self):
        seen = []

        def looks(_):
            seen.extend(self.report()["stages"])
            return runner.Result()

        self.main(use=[runner.Stage("first", 600, lambda run: runner.Result()),
                       runner.Stage("looks", 600, looks)])
        self.assertEqual([entry["status"] for entry in seen], ["ok", "running"])

    def start(self, **more):
        """Starts doctor's stage and one that lasts until it is ended, as a process, and waits for
        the second."""
        self.program("starling-bench", "#!{python}\nimport os, pathlib, time\n"
                     "(pathlib.Path(__file__).parent / 'pid').write_text(str(os.getpid()))\n"
                     "time.sleep(600)\n")
        script = (f"import sys; sys.path.insert(0, {str(BENCH)!r})\n"
                  "import gpu_first_run, stages, pathlib\n"
                  "use = [stage for stage in stages.STAGES if stage.name in ('doctor', 'limits')]\n"
                  f"sys.exit(gpu_first_run.main(['--out', {str(self.out)!r}], "
                  f"pathlib.Path({str(self.root)!r}), use))\n")
        process = subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE,
                                   text=True, **more)
        self.addCleanup(process.stdout.close)
        for line in process.stdout:
            if "== limits" in line:
                break
        return process

    def pid_of_bench(self):
        give_up = time.monotonic() + 120
        path = self.bin / "pid"
        while not path.exists() or not path.read_text():
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.01)
        return int(path.read_text())

    def test_killed_it_leaves_no_command_behind(self):
        process = self.start()
        pid = self.pid_of_bench()
        process.kill()
        process.wait()
        self.assertFalse(is_running(pid))
        self.assertEqual([entry["status"] for entry in self.report()["stages"]], ["ok", "running"])

    def test_nohup_stays_nohup(self):
        process = self.start(
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        os.kill(self.pid_of_bench(), signal.SIGKILL)
        process.wait()
        self.assertEqual(process.returncode, 1)  # of the stage
        self.assertEqual([entry["status"] for entry in self.report()["stages"]], ["ok", "failed"])
        self.assertIn("was killed by SIGKILL", self.report()["stages"][1]["why"])

    def test_a_signal_ends_it_and_keeps_the_report(self):
        process = self.start()
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        process.wait()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("first-run.json has what was done", rest)
        self.assertEqual([entry["status"] for entry in self.report()["stages"]],
                         ["ok", "interrupted"])


def is_running(pid):
    """Whether the process is there and is no zombie; a killed one may take a moment to go."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.01)
    return True


if __name__ == "__main__":
    unittest.main()
