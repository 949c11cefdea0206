"""bench/peers without its measurements, with stand-ins for trainers and for Starling.

Needs Python's standard library only."""
import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "peers"))

import bench_peers
import curves
import install
import measure
import peer
import report
import rows

TIMES = measure.Times(warm_up=0, window=1, limit=60)

STARLING = """#!{python}
import json, pathlib, signal, sys, time
run_dir = pathlib.Path(sys.argv[sys.argv.index("--run-dir") + 1])
run_dir.mkdir()
signal.signal(signal.SIGINT, lambda *_: sys.exit({status}))
with open(run_dir / "metrics.jsonl", "w") as file:
    for second in range({seconds}):  # nothing in the first two
        line = {{"seconds": second, "steps": 1000 * max(0, second - 1), "updates": 10 * second}}
        file.write(json.dumps(line) + "\\n")
print("starling: env.name is no game")
print("go on with nothing", flush=True)
if {seconds} < 2:
    sys.exit(2)
while True:
    time.sleep(60)
"""


def row(**changes):
    fields = dict(
        name="other", trainer="Other", setting="2 envs", program="absent.py", packages=(),
        variants={"only": {}}, config="configs/breakout.toml", overrides=("actors.count=2",),
    )  # fmt: skip
    return rows.Row(**{**fields, **changes})


class WindowTest(unittest.TestCase):
    def test_counts_from_the_end_of_the_warm_up_to_the_end_of_the_time(self):
        now = [100.0]
        window = peer.Window(5, 10, clock=lambda: now[0])
        over = []
        for second in range(100, 117):
            now[0] = float(second)
            over.append(window.see(steps=7 * second, updates=second))
        self.assertEqual(over.index(True), 15)
        report = {"steps": 77, "updates": 11, "seconds": 11.0, "curve": []}
        self.assertEqual(window.report(), report)

    def test_the_curve_has_a_point_of_every_second_with_a_score(self):
        now = [100.0]
        window = peer.Window(0, 10, clock=lambda: now[0])
        for quarter in range(10):
            now[0] = 100 + quarter / 4
            window.see(steps=quarter, updates=0, score=None if quarter < 2 else 3 * quarter)
        self.assertEqual(window.curve, [(0.5, 2, 6), (1.5, 6, 18)])

    def test_a_training_that_ends_early_has_no_report(self):
        window = peer.Window(5, 10, clock=lambda: 0)
        window.see(1, 1)
        with self.assertRaises(RuntimeError):
            window.report()


class ReportTest(unittest.TestCase):
    def test_medians_and_the_ratio_of_runs_that_stood_side_by_side(self):
        def said(steps):
            return {"steps": steps, "updates": steps // 10, "seconds": 2.0}

        rounds = [(said(200), said(2000)), (said(400), said(8000))]
        result = report.figures(row(frames=4), "only", rounds)
        self.assertEqual(result["peer"]["steps_per_second"], 150)
        self.assertEqual(result["peer"]["frames_per_second"], 600)
        self.assertEqual(result["starling"]["updates_per_second"], 250)
        self.assertEqual(result["ratio"], 15)
        self.assertEqual(
            report.line(result), "| Other | 2 envs; only | 600 | 15.0 | 10,000 | 250.0 | 15.0 |"
        )

    def test_a_row_without_figures_says_why(self):
        line = report.line(report.failed(row(), "does not install: no a|b"))
        self.assertEqual(line, "| Other | 2 envs | does not install: no a/b | | | | |")

    def test_every_line_of_the_table_has_as_many_cells(self):
        text = report.table([report.failed(row(), "no")])
        self.assertEqual({line.count("|") for line in text.splitlines()}, {8})


class StarlingTest(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())

    def program(self, **how):
        path = Path(self.dir) / "starling"
        path.write_text(STARLING.format(python=sys.executable, **how))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_is_measured_over_the_window_and_interrupted(self):
        program = self.program(seconds=6, status=130)
        measured = measure.run_starling(program, "python", row(), TIMES)
        self.assertEqual(measured, {"steps": 2000, "updates": 20, "seconds": 2})  # to the next line

    def test_what_it_said_by_name_is_the_reason_if_it_fails(self):
        with self.assertRaisesRegex(measure.Failure, "failed: starling: env.name is no game"):
            measure.run_starling(self.program(seconds=1, status=130), "python", row(), TIMES)

    def test_an_actor_of_its_own_makes_the_first_weights_where_the_run_begins(self):
        actor = Path(self.dir) / "actor.py"
        actor.write_text("import sys\nprint(file=open('model.safetensors', 'w'))")
        program = self.program(seconds=6, status=130)
        program.write_text(program.read_text().replace("run_dir.mkdir()", """
run_dir.mkdir()
words = json.loads(sys.argv[-1].removeprefix("actors.command="))
assert words[1].endswith("actor.py"), words
assert pathlib.Path("model.safetensors").exists()"""))
        measured = measure.run_starling(program, sys.executable, row(actor=str(actor)), TIMES)
        self.assertEqual(measured["steps"], 2000)
        actor.write_text("sys.exit('no net')\nimport sys")
        with self.assertRaisesRegex(measure.Failure, "actor.py init failed: NameError"):
            measure.run_starling(program, sys.executable, row(actor=str(actor)), TIMES)

    def test_a_line_that_is_still_being_written_is_left_out(self):
        path = Path(self.dir) / "metrics.jsonl"
        self.assertEqual(measure.metrics(path), [])
        path.write_text('{"steps": 0}\n{"steps": 7}\n{"ste')
        self.assertEqual(measure.metrics(path), [{"steps": 7}])  # nor lines before the first step

    def test_too_few_lines_are_no_figure(self):
        with self.assertRaisesRegex(measure.Failure, "fewer than two lines"):
            measure.between([{"seconds": 1.0, "steps": 1, "updates": 1}], 0, 5)


class PeerTest(unittest.TestCase):
    def setUp(self):
        self.dir = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_program(self, text, times=TIMES):
        program = self.dir / "peer.py"
        program.write_text(text)
        return measure.run_peer(sys.executable, program, {"envs": 3}, times)

    def test_its_last_line_is_its_report(self):
        said = self.run_program("import sys; print('hello'); print(sys.argv[1])")
        self.assertEqual(said, {"envs": 3})

    def test_its_last_words_are_the_reason_if_it_fails(self):
        with self.assertRaisesRegex(measure.Failure, "failed: no such game"):
            self.run_program("import sys; sys.exit('no such game')")

    def test_one_that_hangs_is_ended(self):
        with self.assertRaisesRegex(measure.Failure, "did not end in time"):
            self.run_program("import time; time.sleep(600)", measure.Times(0, 0, limit=0.2))

    def test_what_it_started_is_ended_with_it(self):
        said = self.run_program(
            "import json, subprocess\n"
            "print(json.dumps({'pid': subprocess.Popen(['sleep', '600']).pid}))"
        )
        deadline = time.monotonic() + 60
        while running(said["pid"]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


def running(pid):
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


class CurvesTest(unittest.TestCase):
    def follow(self, outcomes):
        """The results of learners of these names; an outcome is a curve or a reason."""
        learners = [rows.Learner(name, "a.py", (), {}) for name in outcomes]

        def one(learner, seed, starling, seconds):
            outcome = outcomes[learner.name]
            if isinstance(outcome, str):
                raise measure.Failure(outcome)
            return [(time, steps, score + seed) for time, steps, score in outcome]

        with mock.patch.object(curves, "follow", one), quiet():
            return curves.curves(learners, "starling", 10)

    def test_every_seed_has_a_curve_and_the_table_holds_the_median_of_their_ends(self):
        results = self.follow({"good": [(1, 50, 0.0), (9, 70, 5.0)]})
        self.assertEqual(results[0]["curves"][2], [(1, 50, 3.0), (9, 70, 8.0)])
        table = curves.ends(results)
        self.assertIn("| good | 7.0 | 6.0, 7.0, 8.0 | 70 |", table)

    def test_one_that_fails_or_ends_no_episode_is_a_row_with_its_reason(self):
        table = curves.ends(self.follow({"bad": "a|b", "short": []}))
        self.assertIn("| bad | a/b | | |", table)
        self.assertIn("| short | no episode ended | | |", table)

    def test_the_curve_of_starling_begins_with_its_first_ended_episodes(self):
        lines = [
            {"seconds": 1, "steps": 10, "mean_return": None},
            {"seconds": 2, "steps": 20, "mean_return": 0.5},
        ]
        self.assertEqual(curves.curve_of_metrics(lines), [(2, 20, 0.5)])


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.venv = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.venv / "bin").mkdir()
        (self.venv / "bin" / "python").touch()
        self.asked = []

    def pip(self, said):
        return lambda python, packages: self.asked.append(packages) or said

    def test_asks_once(self):
        for _ in range(2):
            install.python_for(("a==1", "b==2"), self.venv, self.pip(""))
        self.assertEqual(self.asked, [["a==1", "b==2"]])

    def test_what_pip_said_is_the_reason_and_the_next_run_asks_again(self):
        for _ in range(2):
            with self.assertRaisesRegex(measure.Failure, "does not install: no such thing"):
                install.python_for(("a==1",), self.venv, self.pip("no such thing"))
        self.assertEqual(len(self.asked), 2)


class ProgramTest(unittest.TestCase):
    def test_every_row_names_a_program_and_a_config_that_exist(self):
        for each in rows.ROWS:
            self.assertTrue((measure.HERE / each.program).exists(), each.program)
            self.assertTrue((measure.ROOT / each.config).exists(), each.config)
            self.assertTrue((measure.ROOT / each.actor).exists(), each.actor)
        for each in rows.LEARNERS:
            self.assertTrue((measure.HERE / each.program).exists(), each.program)
        self.assertTrue((measure.ROOT / curves.CONFIG).exists())
        names = [each.name for each in rows.ROWS]
        self.assertEqual(len(names), len(set(names)))

    def test_an_unknown_row_is_answered_with_the_names(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as exit:
            bench_peers.main(["--only", "nobody"])
        self.assertEqual(exit.exception.code, 2)
        self.assertIn("hogwild", errors.getvalue())

    def test_the_fastest_variant_is_taken_and_one_that_fails_is_not(self):
        def run(python, program, settings, times):
            if settings["speed"] == 0:
                raise measure.Failure("no")
            return {"steps": settings["speed"], "seconds": 1}

        variants = {name: {"speed": speed} for name, speed in (("a", 2), ("b", 3), ("c", 0))}
        with mock.patch.object(bench_peers, "run_peer", run), quiet():
            self.assertEqual(bench_peers.fastest(row(variants=variants), "python", TIMES), "b")
            with self.assertRaises(measure.Failure):
                dead = {name: {"speed": 0} for name in "ab"}
                bench_peers.fastest(row(variants=dead), "python", TIMES)

    def test_a_peer_that_fails_is_a_row_and_the_others_go_on(self):
        def python_for(packages):
            if "bad" in packages:
                raise measure.Failure("does not install: no wheel")
            return "python"

        said = {"steps": 10, "updates": 1, "seconds": 1.0}
        both = [row(name="bad", packages=("bad",)), row(name="good")]
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as scratch, mock.patch.multiple(
            bench_peers, ROWS=both, python_for=python_for,
            run_peer=lambda *_: said, run_starling=lambda *_: {**said, "steps": 30},
        ), quiet(), contextlib.redirect_stdout(out):  # fmt: skip
            path = os.path.join(scratch, "peers.json")
            self.assertEqual(bench_peers.main(["--starling", "starling", "--json", path]), 0)
            with open(path) as file:
                written = json.load(file)
        self.assertIn("| does not install: no wheel |", out.getvalue())
        self.assertIn("| 10 | 1.0 | 30 | 1.0 | 3.0 |", out.getvalue())
        self.assertEqual([each.get("ratio") for each in written["rows"]], [None, 3])


def quiet():
    return contextlib.redirect_stderr(io.StringIO())


if __name__ == "__main__":
    unittest.main()
