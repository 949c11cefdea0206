"""The stages of scripts/gpu-first-run."""
import json
import shutil

from cuda_tools import SMALL_UNROLL, profile, sanitizer
from predicted import PREDICTED, WANTED
from runner import Failed, Figure, Result, Stage, Unavailable, how_it_ended, last_line


def figure(stage, what, measured):
    return Figure(what, measured, PREDICTED.get((stage, what), ""), WANTED.get((stage, what), ""))


def millions(steps_per_second):
    return f"{steps_per_second / 1e6:.2f} million steps/s"


def starling(run, *words):
    return run.command(run.programs / "starling", *words)


# ---- The machine, and whether it computes correctly

def machine_of(run):
    """What doctor says about the machine; without a check that takes time."""
    status, text = starling(run, "doctor", "--json", "--only", "ops: cpu: loss")
    try:
        return json.loads(text)["machine"]
    except (ValueError, KeyError):
        raise Failed(f"starling doctor {how_it_ended(status)}: {last_line(run.said())}") from None


def machine(run):
    found = run.machine
    figures = [Figure("processor", f"{found['processor']}, {found['cores']} cores"),
               Figure("program", found["program"]), Figure("driver", found["driver"])]
    for gpu in found["gpus"]:
        figures.append(Figure("GPU", f"{gpu['name']}, {gpu['memory_bytes'] / 1e9:.0f} GB, compute "
                              f"capability {gpu['compute_capability']}"))
    return Result(figures, found)


def clocks(run):
    """Clocks, temperatures and limits: in the stage's .out."""
    if shutil.which("nvidia-smi") is None:
        raise Unavailable("there is no nvidia-smi on PATH")
    status, _ = run.command("nvidia-smi", "-q")
    return Result(wrong="" if status == 0 else f"nvidia-smi {how_it_ended(status)}")


def doctor(limit_s, *words):
    """Every check of the GPUs: one that is not done, or is left out, is wrong."""
    def stage(run):
        status, text = starling(run, "doctor", "--json", "--gpu", "--limit", limit_s, *words)
        if not text.strip():
            raise Failed(f"doctor {how_it_ended(status)}: {last_line(run.said())}")
        checks = json.loads(text)["checks"]
        figures, wrong = [], []
        for kind in ("ops", "games", "rollouts"):
            its = [check for check in checks
                   if check["kind"] == kind and check["device"].startswith("cuda")]
            good = sum(check["ok"] for check in its)
            figures.append(Figure(f"{kind} on the GPU", f"{good} of {len(its)} agree"))
            if not its:
                wrong.append(f"no {kind} were checked on the GPU")
        wrong += [f"{check['kind']}: {check['device']}: {check['what']}: "
                  f"{check['problem'] or check['text']}" for check in checks if not check["ok"]]
        if status != 0 and not wrong:
            wrong.append(f"doctor {how_it_ended(status)}")
        return Result(figures, checks, "; ".join(wrong))
    return stage


# ---- How fast it is

def not_measured(numbers, name=""):
    """What a figure of starling-bench could not measure, in the figure or in a group of it."""
    if not isinstance(numbers, dict):
        return []
    if "not_measured" in numbers:
        return [f"{name}: {numbers['not_measured']}"]
    return [lack for key, row in numbers.items() for lack in not_measured(row, f"{name} {key}")]


def bench(stage_name, name, read):
    """A figure of starling-bench; read(numbers) gives its rows as (what, measured)."""
    def stage(run):
        path = run.out / f"{name}.json"
        status, _ = run.command(run.programs / "starling-bench", name, "--root", run.root,
                                "--json", path)
        numbers = json.loads(path.read_text())["figures"].get(name) if path.exists() else None
        if numbers is None:
            raise Failed(f"starling-bench {name} {how_it_ended(status)}: {last_line(run.said())}")
        lacks = not_measured(numbers)
        if status != 0 and not lacks:
            lacks.append(f"it {how_it_ended(status)}: {last_line(run.said())}")
        return Result([figure(stage_name, *row) for row in read(numbers)], numbers,
                      "; ".join(lacks).strip())
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


# ---- Training

def train(run, name, *settings):
    """Trains configs/breakout_gpu.toml to its end. Returns its summary and its metrics."""
    run_dir = run.out / name
    words = [word for setting in settings for word in ("--set", setting)]
    status, _ = starling(run, "train", run.root / "configs/breakout_gpu.toml", "--run-dir", run_dir,
                         "--progress", "none", *words)
    if status != 0:
        raise Failed(f"training {name} {how_it_ended(status)}: {last_line(run.said())}")
    summary = json.loads((run_dir / "summary.json").read_text())
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    return summary, [json.loads(line) for line in lines]


def training(run):
    summary, metrics = train(run, "training")
    reached = [line["seconds"] for line in metrics if (line["mean_return"] or 0) >= 40]
    figures = [figure("training", "steps/s", millions(summary["steps_per_second"])),
               figure("training", "mean return 40 after",
                      f"{reached[0]:.1f} s" if reached else "never"),
               Figure("mean return at the end", f"{summary['mean_return'] or 0:.1f}"),
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
    gpus = len(run.machine["gpus"])
    if gpus < 2:
        raise Unavailable("there is one GPU")
    summary, _ = train(run, "each-gpu", f"actors.count={gpus}", f"run.steps={40_000_000 * gpus}")
    return Result([Figure(f"steps/s, one actor on each of {gpus}",
                          millions(summary["steps_per_second"]))], summary)


STAGES = [
    Stage("machine", 10, machine),
    Stage("doctor", 90, doctor(30)),
    Stage("limits", 30, bench("limits", "gpu-limits", of_limits)),
    Stage("games", 60, bench("games", "gpu-games", of_games)),
    Stage("actors", 120, bench("actors", "gpu-actors", of_actors)),
    Stage("training", 120, training),
    Stage("same bits", 60, same_bits),
    Stage("two actors", 60, two_actors),
    Stage("each gpu", 60, each_gpu),
    Stage("products", 60, bench("products", "gpu-products", of_products)),
    Stage("memcheck", 60, sanitizer("memcheck", SMALL_UNROLL)),
    Stage("racecheck", 60, sanitizer("racecheck", SMALL_UNROLL)),
    Stage("synccheck", 60, sanitizer("synccheck", SMALL_UNROLL)),
    Stage("initcheck", 60, sanitizer("initcheck", SMALL_UNROLL)),
    Stage("profile", 60, profile),
    Stage("memcheck of ops", 90, sanitizer("memcheck", "ops: cuda: ")),
    Stage("memcheck of games", 90, sanitizer("memcheck", "games: cuda: minatar")),
    Stage("clocks", 15, clocks),
    Stage("doctor, full", 240, doctor(60, "--full")),
]
