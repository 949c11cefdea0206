"""scripts/gpu-first-run: what keeps it from beginning, a whole run, and what is wrong."""
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

# This module finds those of bench/first_run.
from first_run_case import AGREES, BENCH, CHECKS, GPU, MACHINE, TOOL, FirstRunCase, check

import cuda_tools
import runner
import stages
from predicted import PREDICTED, WANTED


class FirstRunTest(FirstRunCase):
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


if __name__ == "__main__":
    unittest.main()
