"""Runs on disk: their configuration, numbers and curves."""

from __future__ import annotations

import functools
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ._library import Mistake


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else np.nan


class Run:
    """A run directory. What is read of a run that still trains is as new as the last access."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)  #: its directory
        if not (self.path / "config.toml").exists():
            raise Mistake(f"{self.path} is no run directory: it has no config.toml")

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """Its whole configuration, by section and key."""
        return tomllib.loads((self.path / "config.toml").read_text())

    @property
    def summary(self) -> dict[str, Any] | None:
        """summary.json, of its last end; None before the first."""
        file = self.path / "summary.json"
        return json.loads(file.read_text()) if file.exists() else None

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """The numbers of metrics.jsonl, (lines,) each, by name: "steps", "seconds", "mean_return",
        "losses.policy", "staleness.mean" and so on. NaN where a number was not known."""
        return self._table("metrics.jsonl")

    @property
    def evaluations(self) -> dict[str, np.ndarray]:
        """The numbers of eval.jsonl, (lines,) each: "steps", "mean_return", "std" and so on; {} if
        eval.every_steps is 0."""
        return self._table("eval.jsonl")

    def curve(self, y: str = "mean_return", x: str = "steps") -> tuple[np.ndarray, np.ndarray]:
        """Two of the metrics, where both are known. Empty where nothing is known yet: no episode has
        ended."""
        metrics = self.metrics
        for name in (x, y):
            if name in ("mean_return", "mean_length") or not metrics:
                metrics.setdefault(name, np.full(len(metrics.get("steps", [])), np.nan))
            if name not in metrics:
                raise Mistake(f"{self.path} has no {name}; it has {', '.join(metrics)}")
        known = np.isfinite(metrics[x]) & np.isfinite(metrics[y])
        return metrics[x][known], metrics[y][known]

    @property
    def staleness(self) -> np.ndarray:
        """Applied gradients by their staleness, (largest + 1,) int64; (0,) without a
        summary."""
        summary = self.summary
        return np.array(summary["staleness"]["histogram"] if summary else [], np.int64)

    @property
    def checkpoint(self) -> Path | None:
        """Its newest checkpoint."""
        found = [path for path in (self.path / "checkpoints").glob("t*-v*")
                 if "." not in path.name or path.suffix == ".safetensors"]
        return max(found, key=lambda path: path.stem, default=None)

    def frame(self) -> Any:
        """The metrics as a pandas.DataFrame. Needs pandas."""
        import pandas  # pylint: disable=import-outside-toplevel

        return pandas.DataFrame(self.metrics)

    def __repr__(self) -> str:
        return f"<Run {self.path}>"

    def _table(self, name: str) -> dict[str, np.ndarray]:
        rows = [dict(_flat(line)) for line in self._lines(name)]
        names = dict.fromkeys(key for row in rows for key, value in row.items()
                              if isinstance(value, (int, float)))
        return {key: np.array([_number(row.get(key)) for row in rows]) for key in names}

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        file = self.path / name
        if not file.exists():
            return
        with file.open() as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    continue  # a line that is being written, or was torn
