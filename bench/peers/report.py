"""The table and the JSON of the measurements."""
import os
import platform
from statistics import median


def rate(report, what):
    return report[what] / report["seconds"]


def figures(row, variant, rounds):
    """One row's medians. rounds: pairs of a peer's report and Starling's, taken in turn."""
    result = {"name": row.name, "trainer": row.trainer, "setting": row.setting, "variant": variant}
    result["starling_setting"] = f"{row.config}: {row.starling}"
    result["packages"] = rounds[0][0].get("packages", {})
    for who, place in (("peer", 0), ("starling", 1)):
        reports = [pair[place] for pair in rounds]
        result[who] = {
            "steps_per_second": median(rate(report, "steps") for report in reports),
            "frames_per_second": median(rate(report, "steps") for report in reports) * row.frames,
            "updates_per_second": median(rate(report, "updates") for report in reports),
            "rounds": reports,
        }
    result["ratio"] = median(rate(ours, "steps") / rate(peer, "steps") for peer, ours in rounds)
    return result


def failed(row, reason):
    return {"name": row.name, "trainer": row.trainer, "setting": row.setting, "failed": reason}


def line(result):
    head = f"| {result['trainer']} | {result['setting']}"
    if "failed" in result:
        return f"{head} | {result['failed'].replace('|', '/')} | | | | |"
    peer, ours = result["peer"], result["starling"]
    speed = "{frames_per_second:,.0f}"
    return (
        f"{head}; {result['variant']} | {speed.format(**peer)} | {peer['updates_per_second']:,.1f}"
        f" | {speed.format(**ours)} | {ours['updates_per_second']:,.1f} | {result['ratio']:.1f} |"
    )


def table(results):
    head = [
        "| trainer | setting | frames/s | updates/s | Starling: frames/s | updates/s | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join(head + [line(result) for result in results])


def hardware():
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            models = [line for line in file if line.startswith("model name")]
        name = models[0].split(":", 1)[1].strip() if models else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"
