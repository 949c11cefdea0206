"""The stages of scripts/gpu-first-run."""
import json
import re
import shutil
from pathlib import Path

from predicted import PREDICTED, WANTED
from runner import Failed, Figure, Result, Stage, Unavailable


def figure(stage, what, measured):
    return Figure(what, measured, PREDICTED.get((stage, what), ""), WANTED.get((stage, what), ""))


def millions(steps_per_second):
    return f"{steps_per_second / 1e6:.2f} million steps/s"


def starling(run, *words, env=None):
    return run.command(run.programs / "starling", *words, env=env)


def checked(run, status, what):
    if status != 0:
        raise Failed(f"{what} ended with {status}: {run.log_tail()}")


# ---- The machine, and whether it computes correctly

def machine(run):
    status, text = starling(run, "doctor", "--json", "--only", "ops: cpu: loss")
    found = json.loads(text)["machine"]
    figures = [Figure("processor", f"{found['processor']}, {found['cores']} cores"),
               Figure("program", found["program"]), Figure("driver", found["driver"])]
    for gpu in found["gpus"]:
        figures.append(Figure("GPU", f"{gpu['name']}, {gpu['memory_bytes'] / 1e9:.0f} GB, compute "
                              f"capability {gpu['compute_capability']}"))
    if shutil.which("nvidia-smi"):
        run.command("nvidia-smi", "-q")  # clocks and limits, for the log
    return Result(figures, found, "" if status == 0 else "an op of the processor is wrong")


def doctor(*words):
    """Every check of the GPU: one that is not done, or is left out, is wrong."""
    def stage(run):
        status, text = starling(run, "doctor", "--json", "--gpu", *words)
        if not text.strip():
            raise Failed(f"doctor ended with {status}: {run.log_tail()}")
        checks = json.loads(text)["checks"]
        bad = [check for check in checks if not check["ok"]]
        figures, missing = [], []
        for kind in ("ops", "games", "rollouts"):
            its = [check for check in checks
                   if check["kind"] == kind and check["device"].startswith("cuda")]
            good = sum(check["ok"] for check in its)
            figures.append(Figure(f"{kind} on the GPU", f"{good} of {len(its)} agree"))
            if not its:
                missing.append(kind)
        names = [f"{check['kind']}: {check['device']}: {check['what']}: "
                 f"{check['problem'] or check['text']}" for check in bad]
        wrong = "; ".join(names + [f"no {kind} were checked on the GPU" for kind in missing])
        if status != 0 and not wrong:
            wrong = f"doctor ended with {status}"
        return Result(figures, checks, wrong)
    return stage


def tool(name):
    """A tool of the CUDA Toolkit."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if found is None:
        raise Unavailable(f"there is no {name} on PATH or in /usr/local/cuda/bin")
    return found


def sanitizer(check, only):
    """`compute-sanitizer --tool check` over the checks of doctor whose name contains `only`."""
    def stage(run):
        status, text = run.command(
            tool("compute-sanitizer"), "--tool", check, run.programs / "starling", "doctor",
            "--gpu", "--limit", 3600, "--only", only)
        summary = re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", text)
        if not summary:
            raise Unavailable(f"compute-sanitizer ended with {status}: {run.log_tail()}")
        found = sum(int(number) for pair in summary for number in pair if number)
        agree = len(re.findall(r"^cuda\S*( \S+)? .* ok ", text, re.MULTILINE))
        wrong = "" if found == 0 and status == 0 else run.log_tail()
        return Result([Figure(f"errors of {check}", f"{found}, {agree} checks agree")],
                      wrong=wrong)
    return stage


# ---- How fast it is

def bench(stage_name, name, read):
    """A figure of starling-bench; read(numbers) gives its rows as (what, measured)."""
    def stage(run):
        path = run.out / f"{name}.json"
        status, _ = run.command(run.programs / "starling-bench", name, "--root", run.root,
                                "--json", path)
        if not path.exists():
            raise Failed(f"starling-bench {name} ended with {status}: {run.log_tail()}")
        numbers = json.loads(path.read_text())["figures"][name]
        rows = read(numbers)
        lacks = [f"{key}: {row['not_measured']}" for key, row in numbers.items()
                 if isinstance(row, dict) and "not_measured" in row]
        wrong = "; ".join(lacks) or ("" if status == 0 else f"it ended with {status}")
        return Result([figure(stage_name, *row) for row in rows], numbers, wrong)
    return stage


def of_limits(numbers):
    for what, row in numbers.items():
        if "gb_s" in row:
            yield what, f"{row['gb_s']:.0f} GB/s"
        elif "us" in row:
            yield what, f"{row['us']:.2f} µs"


def of_games(numbers):
    return [(name, f"{row['ns']:.2f} ns a step, {row['envs']} envs")
            for name, row in numbers.items() if "ns" in row]


def of_actors(numbers):
    for group, cases in numbers.items():
        for shape, speed in cases.items():
            if isinstance(speed, dict) and "steps_per_second" in speed:
                yield (f"{group} {shape}", f"{millions(speed['steps_per_second'])}, "
                       f"the GPU busy {100 * speed['busy']:.0f} %")


def of_products(numbers):
    return [(name, f"{100 * row['share']:.0f} % in products, "
             f"{row['flops'] / row['whole_us'] / 1e6:.1f} TFLOP/s")
            for name, row in numbers.items() if "share" in row]


def profile(run):
    """Time and bound of the kernels of an unroll, as ncu sees them."""
    status, text = run.command(
        tool("ncu"), "--csv", "--launch-skip", 20, "--launch-count", 60, "--metrics",
        "gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        run.programs / "starling", "doctor", "--gpu", "--limit", 3600, "--only",
        "rollouts: cuda: MinAtar net, twice")
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if len(lines) < 2:
        raise Unavailable(f"ncu ended with {status}: {run.log_tail()}")
    return Result([Figure("metrics of kernels", f"{len(lines) - 1} in {run.stage}.log")],
                  numbers=lines)


# ---- Training

def train(run, name, *settings, env=None):
    """Trains configs/breakout_gpu.toml to its end. Returns its summary and its metrics."""
    run_dir = run.out / name
    words = [word for setting in settings for word in ("--set", setting)]
    status, _ = starling(run, "train", run.root / "configs/breakout_gpu.toml", "--run-dir", run_dir,
                         "--progress", "none", *words, env=env)
    checked(run, status, f"training {name}")
    summary = json.loads((run_dir / "summary.json").read_text())
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    return summary, [json.loads(line) for line in lines]


def training(run):
    summary, metrics = train(run, "training")
    reached = [line["seconds"] for line in metrics if (line["mean_return"] or 0) >= 40]
    figures = [figure("training", "steps/s", millions(summary["steps_per_second"])),
               figure("training", "mean return 40 after",
                      f"{reached[0]:.1f} s" if reached else "never"),
               Figure("mean return at the end", f"{summary['mean_return']:.1f}"),
               Figure("bottleneck", summary["bottleneck"])]
    return Result(figures, summary, "" if reached else "it did not learn: no mean return of 40")


def two_actors(run):
    summary, _ = train(run, "two-actors", "actors.count=2", "run.steps=40_000_000")
    return Result([figure("two actors", "steps/s", millions(summary["steps_per_second"]))], summary)


def weights_of(run_dir):
    """The bytes of all tensors of the final checkpoint."""
    name = json.loads((run_dir / "summary.json").read_text())["final_checkpoint"]
    data = (run_dir / name).read_bytes()
    return data[8 + int.from_bytes(data[:8], "little"):]


def same_bits(run):
    """Two runs in lockstep end with the same weights."""
    ends = []
    for name in ("bits-1", "bits-2"):
        train(run, name, "staleness.bound=0", "run.steps=5_000_000")
        ends.append(weights_of(run.out / name))
    same = ends[0] == ends[1]
    return Result([Figure("two runs at bound 0", "the same bits" if same else "other bits")],
                  wrong="" if same else "two equal runs ended with other weights")


def each_gpu(run):
    """With several GPUs: one actor on each."""
    _, text = starling(run, "doctor", "--json", "--only", "ops: cpu: loss")
    gpus = json.loads(text)["machine"]["gpus"]
    if len(gpus) < 2:
        raise Unavailable("there is one GPU")
    summary, _ = train(run, "each-gpu", f"actors.count={len(gpus)}",
                       f"run.steps={40_000_000 * len(gpus)}")
    return Result([Figure(f"steps/s, one actor on each of {len(gpus)}",
                          millions(summary["steps_per_second"]))], summary)


SMALL_UNROLL = "rollouts: cuda: MinAtar net, twice"
STAGES = [
    Stage("machine", 30, machine),
    Stage("doctor", 90, doctor()),
    Stage("limits", 30, bench("limits", "gpu-limits", of_limits)),
    Stage("games", 60, bench("games", "gpu-games", of_games)),
    Stage("actors", 120, bench("actors", "gpu-actors", of_actors)),
    Stage("training", 120, training),
    Stage("same bits", 60, same_bits),
    Stage("two actors", 60, two_actors),
    Stage("each gpu", 60, each_gpu),
    Stage("memcheck", 60, sanitizer("memcheck", SMALL_UNROLL)),
    Stage("racecheck", 60, sanitizer("racecheck", SMALL_UNROLL)),
    Stage("synccheck", 60, sanitizer("synccheck", SMALL_UNROLL)),
    Stage("initcheck", 60, sanitizer("initcheck", SMALL_UNROLL)),
    Stage("memcheck of ops", 90, sanitizer("memcheck", "ops: cuda: ")),
    Stage("memcheck of games", 90, sanitizer("memcheck", "games: cuda: minatar")),
    Stage("products", 60, bench("products", "gpu-products", of_products)),
    Stage("profile", 60, profile),
    Stage("doctor, full", 240, doctor("--full")),
]
