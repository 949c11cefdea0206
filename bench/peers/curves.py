"""The score of each trainer over the wall clock: the mean return of its last training episodes."""
from statistics import median

from install import python_for
from measure import Failure, Times, run_peer, starling_metrics, tell

SEEDS = (1, 2, 3)
CONFIG = "configs/breakout.toml"


def curve_of_metrics(lines):
    """Starling's metrics as [(seconds, steps, mean return)], from the first ended episodes on."""
    return [
        (round(line["seconds"], 2), line["steps"], line["mean_return"])
        for line in lines
        if line["mean_return"] is not None
    ]


def follow(learner, seed, starling, seconds):
    """Trains once. Returns [(seconds, steps, score)]."""
    times = Times(0, seconds)
    if not learner.program:
        settings = {**learner.settings, "run.seed": seed}
        overrides = [f"{key}={value}" for key, value in settings.items()]
        return curve_of_metrics(starling_metrics(starling, CONFIG, overrides, times))
    python = python_for(learner.packages)
    settings = {**learner.settings, "seed": seed}
    return run_peer(python, learner.program, settings, times)["curve"]


def curves(learners, starling, seconds):
    """Trains each with every seed, in turn. Returns [{name, settings, curves or failed}]."""
    results = [{"name": each.name, "settings": each.settings, "curves": []} for each in learners]
    for seed in SEEDS:
        for learner, result in zip(learners, results):
            if "failed" in result:
                continue
            try:
                curve = follow(learner, seed, starling, seconds)
                result["curves"].append(curve)
                tell(f"{learner.name}, seed {seed}: {curve[-1] if curve else 'no episode ended'}")
            except Failure as failure:
                tell(f"{learner.name}: {failure}")
                result["failed"] = str(failure)
    return results


def ends(results):
    """A table of the last scores: the median of the seeds, and each of them."""
    lines = ["| trainer | last score | each seed | steps |", "|---|---|---|---|"]
    for result in results:
        lasts = [curve[-1] for curve in result["curves"] if curve]
        if "failed" in result or not lasts:
            reason = result.get("failed", "no episode ended").replace("|", "/")
            lines.append(f"| {result['name']} | {reason} | | |")
            continue
        scores = ", ".join(f"{score:.1f}" for _, _, score in lasts)
        middle = median(score for _, _, score in lasts)
        steps = median(steps for _, steps, _ in lasts)
        lines.append(f"| {result['name']} | {middle:.1f} | {scores} | {steps:,.0f} |")
    return "\n".join(lines)
