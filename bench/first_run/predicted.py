"""What was expected before a run, from arithmetic for an NVIDIA H200 or from earlier runs
(docs/results/2026-11-26-h100.md), and what is wanted. Keys: (stage, row of its figure)."""

PREDICTED = {
    ("limits", "copy"): "3,800–4,300 GB/s (H200), 2,700–3,000 (H100)",
    ("limits", "up"): "20–30 µs",
    ("limits", "down"): "20–30 µs",
    ("limits", "node"): "1.0–1.6 µs",
    ("limits", "blocking"): "15–40 µs",
    ("limits", "spinning"): "6–10 µs",
    ("actors", "f32 4096x5"): "9–16 million steps/s",
    ("actors", "f32 16384x8"): "18–26 million steps/s (H100: 19.2)",
    ("actors", "tf32 4096x5"): "11–20 million steps/s",
    ("actors", "tf32 16384x8"): "25–35 million steps/s",
    ("actors", "staged 4096x8"): "4 million steps/s (H100: 4.0)",
    # H100, a gradient at a time: the GPU worked 1.2 of 1.6 ms in f32, so about 0.9 of 1.3 in tf32;
    # now the rest overlaps it.
    ("training", "steps/s"): "10–13 million (H100, a gradient at a time: tf32 7.9, f32 5.9–6.3)",
    ("training", "mean return 40 after"): "5–11 s (H100)",
    ("two actors", "steps/s"): "as one actor (H100, f32, in turn: 6.3 million beside 5.9–6.3)",
}

WANTED = {
    ("actors", "f32 4096x5"): "≥ 10 million",
    ("actors", "f32 16384x8"): "≥ 20 million",
    ("actors", "tf32 16384x8"): "≥ 30 million",
    ("training", "steps/s"): "≥ 10 million",
    ("training", "mean return 40 after"): "≤ 60 s",
}
