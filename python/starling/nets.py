"""Weights as safetensors files: the first ones of an external net, and those of checkpoints."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._library import Mistake
from .runs import Run

_STATE = "optimizer."  # of a checkpoint: what begins so is the optimizer's
_METADATA = "__metadata__"  # of a safetensors file


def as_array(tensor: Any) -> np.ndarray:
    """The numbers of whatever numpy takes as an array, or of a tensor of PyTorch, wherever it is."""
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor)


def save_weights(path: str | os.PathLike[str], tensors: Mapping[str, Any]) -> None:
    """Writes a net for net.initial: the tensors that are trained, by name, float32, in their order.
    Of a net in PyTorch that is dict(net.named_parameters()); its state_dict holds buffers, too."""
    header: dict[str, Any] = {}
    data: list[bytes] = []
    end = 0
    for name, tensor in tensors.items():
        array = as_array(tensor)
        if array.dtype != np.float32:
            raise Mistake(f"{name} is {array.dtype}, not float32")
        if not isinstance(name, str) or not name or name == _METADATA or name.startswith(_STATE):
            raise Mistake(f"{name!r} is no name of a tensor: a text that does not begin with {_STATE}")
        if array.size == 0:
            raise Mistake(f"{name} has no numbers")
        if not np.isfinite(array).all():
            raise Mistake(f"{name} has numbers that are not finite")
        data.append(np.ascontiguousarray(array).tobytes())
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, end]}
    if not header:
        raise Mistake("a net has a tensor at least")
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target = Path(path)
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")  # a full disk costs nothing
    try:
        partial.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def load_weights(path: Any) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file, by name; of a Run or run directory, those of its newest
    checkpoint; without the state of the optimizer. Raises Mistake if there are none. The checksum
    of a checkpoint is not looked at."""
    file = Path(getattr(path, "path", path))
    if (file / "config.toml").exists():
        newest = Run(file).checkpoint
        if newest is None:
            raise Mistake(f"{file} has no checkpoint yet")
        file = newest
    if file.is_dir():
        raise Mistake(f"{file} is no file: the checkpoints of shards do not hold the names of tensors")
    try:
        bytes_ = file.read_bytes()
    except OSError as error:
        raise Mistake(f"{file} cannot be read: {error.strerror}") from error
    try:
        size = struct.unpack("<Q", bytes_[:8])[0]
        header = json.loads(bytes_[8 : 8 + size])
        if not isinstance(header, dict):
            raise ValueError("its header is no table")
        header.pop(_METADATA, None)
        return {name: _tensor(bytes_, 8 + size, entry) for name, entry in header.items()
                if not name.startswith(_STATE)}
    except (struct.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Mistake(f"{file} is no safetensors file of float32: {error}") from error


def _tensor(bytes_: bytes, first: int, entry: dict[str, Any]) -> np.ndarray:
    if entry["dtype"] != "F32":
        raise ValueError(f"a tensor is {entry['dtype']}")
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end:
        raise ValueError(f"a tensor lies at {begin} to {end}")
    return np.frombuffer(bytes_, np.float32, (end - begin) // 4, first + begin).reshape(
        entry["shape"]).copy()
