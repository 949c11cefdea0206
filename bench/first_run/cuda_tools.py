"""Stages that run small checks of `starling doctor` under a tool of the CUDA Toolkit."""
import os
import re
import shutil

from runner import Failed, Figure, Result, Unavailable, how_it_ended, last_line

SMALL_UNROLL = "rollouts: cuda: MinAtar net, twice"


def tool(name):
    """A tool of the CUDA Toolkit."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if found is None:
        raise Unavailable(f"there is no {name} on PATH or in /usr/local/cuda/bin")
    return found


def small_checks(run, words, only):
    """A tool over the checks of doctor, on one GPU, whose name contains `only`. Returns its exit
    status and what both printed."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    status, text = run.command(*words, run.programs / "starling", "doctor", "--gpu", "--limit",
                               3600, "--only", only, env={"CUDA_VISIBLE_DEVICES": first})
    return status, text + run.said()


def why_tool_failed(name, status, text):
    """An exception: a tool says why a machine forbids it in a line of its own."""
    errors = re.findall(r"^=+ *(?:ERROR==|Error:?)(.*)", text, re.MULTILINE)
    for error in errors:
        if re.search("permi|support|inject|privilege|ERR_NV", error):
            return Unavailable(f"{name}: {error.strip(' -')}")
    if errors:
        return Failed(f"{name} {how_it_ended(status)}: {errors[0].strip(' -')}")
    return Failed(f"{name} {how_it_ended(status)}: {last_line(text)}")


def sanitizer(check, only):
    """`compute-sanitizer --tool check` over small checks."""
    def stage(run):
        words = [tool("compute-sanitizer"), "--tool", check]
        status, text = small_checks(run, words, only)
        summary = re.findall(r"(?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards?"
                             r" displayed.*)$", text, re.MULTILINE)
        if not summary:
            raise why_tool_failed(words[0], status, text)
        found = sum(int(number) for pair in summary for number in pair if number)
        lines = re.findall(r"^cuda .*", text, re.MULTILINE)
        agree = sum(" ok " in line for line in lines if not line.startswith("cuda        start"))
        wrong = [line for line in lines if " ok " not in line]
        if found:
            wrong.insert(0, f"{found} errors, see {run.path('.out').name}")
        if status != 0 and not wrong:
            wrong.append(f"it {how_it_ended(status)}")
        if not agree:
            wrong.append("no check was done")
        return Result([Figure(f"errors of {check}", f"{found}, {agree} checks agree")],
                      wrong="; ".join(wrong))
    return stage


def profile(run):
    """Time and bound of the kernels of an unroll, as ncu sees them. It leaves the clocks alone."""
    words = [tool("ncu"), "--csv", "--clock-control", "none", "--launch-skip", 20,
             "--launch-count", 60, "--metrics",
             "gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
             "dram__throughput.avg.pct_of_peak_sustained_elapsed"]
    status, text = small_checks(run, words, SMALL_UNROLL)
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if len(lines) < 2:
        raise why_tool_failed(words[0], status, text)
    return Result([Figure("metrics of kernels", f"{len(lines) - 1}, in {run.path('.out').name}")],
                  lines)
