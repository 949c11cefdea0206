"""scripts/gpu-first-run under its budget, signals and kills."""
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

# This module finds those of bench/first_run.
from first_run_case import BENCH, FirstRunCase

import gpu_first_run
import runner
import stages


class FirstRunTimeTest(FirstRunCase):
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
