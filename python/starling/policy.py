"""Trained policies that act."""

from __future__ import annotations

import ctypes as c
import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _library
from ._library import Mistake, check, integer


@dataclasses.dataclass(frozen=True)
class Array:
    """An array of an observation. A picture is (height, width, channels), n numbers are (1, 1, n)."""

    name: str
    shape: tuple[int, int, int]
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Spaces:
    """What a policy sees and does."""

    env: str  #: the environment that it was trained on
    arrays: tuple[Array, ...]  #: of an observation
    counts: tuple[int, ...]  #: values of each choice; () for a box
    low: np.ndarray  #: (width,) bounds of each coordinate of a box; (0,) for choices
    high: np.ndarray
    action_names: tuple[str, ...]  #: of the values, if there is one choice and they have names
    mask: int  #: values of an action mask; 0: there is none
    outputs: int  #: logits, or means and logarithms of deviations, of each environment
    has_memory: bool  #: actions depend on earlier observations of the episode
    steps: int  #: of environments that it has learnt from

    @property
    def box(self) -> bool:
        """Whether an action is a point of a box, not choices."""
        return not self.counts

    @property
    def width(self) -> int:
        """Of an action: the number of choices, or of coordinates."""
        return len(self.counts) or len(self.low)


class Policy(_library.Handle):
    """A trained policy. It acts as `starling eval` does, bit for bit. One thread at a time.

    Policy.load(run).act(observation)
    """

    def __init__(self, path: str | os.PathLike[str], *, envs: int = 1, greedy: bool = False,
                 seed: int = 0) -> None:
        self._handle = c.c_void_p()
        self._library = _library.policies()
        options = _library.PolicyOptions(envs=integer("envs", envs, 1, 2**20), greedy=greedy,
                                         seed=integer("seed", seed, 0, 2**64 - 1))
        check(self._library.starling_policy_open(os.fsencode(path), options,
                                                 c.byref(self._handle)))
        self.envs = envs
        self.spaces = self._read_spaces()
        self._numbers = sum(int(np.prod(array.shape)) for array in self.spaces.arrays)

    @classmethod
    def load(cls, run: Any, *, envs: int = 1, greedy: bool = False, seed: int = 0) -> Policy:
        """The newest policy of a Run, a run directory or a checkpoint.

        envs: environments that act at once. greedy: the likeliest action, else drawn from `seed`.
        Raises Mistake if there is none.
        """
        return cls(getattr(run, "path", run), envs=envs, greedy=greedy, seed=seed)

    def act(self, observation: Any, mask: Any = None) -> Any:
        """Acts once in every environment.

        observation: what the environment gives, behind its wrappers, before normalisation, for each
        of envs environments, or for one alone if envs is 1. Pictures are (height, width, channels);
        rows of numbers may have any shape of as many. uint8 counts from 0 to 255, as in Gymnasium,
        and numbers of other types as the spaces say. An integer is an observation of Discrete (of
        start 0). Dict and Tuple observations are given as they are. mask: (envs, spaces.mask), 0
        where a value is forbidden.

        Returns (envs,) int32 for one choice, counted from 0, (envs, width) int32 for several, (envs,
        width) float32 between the bounds for a box; without the first dimension, and an int for one
        choice, for one observation of one environment. Raises Mistake, and nothing has changed.
        """
        flat, alone = self._flatten(observation)
        allowed = self._mask(mask)
        kind = np.float32 if self.spaces.box else np.int32
        actions = np.empty((self.envs, self.spaces.width), kind)
        check(self._library.starling_policy_act(
            self._handle, _pointer(flat, c.c_float), allowed, actions.ctypes.data_as(c.c_void_p)))
        if len(self.spaces.counts) == 1:
            actions = actions[:, 0]
        if not alone:
            return actions
        return int(actions[0]) if actions.ndim == 1 else actions[0]

    def evaluate(self, observation: Any, mask: Any = None) -> np.ndarray:
        """What the critic expects of observations, (envs,), in discounted rewards as training saw
        them. Draws nothing, and memory stays as it is; `outputs` are those of these observations.
        """
        flat, _ = self._flatten(observation)
        check(self._library.starling_policy_act(self._handle, _pointer(flat, c.c_float),
                                                self._mask(mask), None))
        return self.values()

    def values(self) -> np.ndarray:
        """What the critic expects of the last observations, (envs,)."""
        values = np.empty(self.envs, np.float32)
        check(self._library.starling_policy_values(self._handle, _pointer(values, c.c_float)))
        return values

    def outputs(self) -> np.ndarray:
        """The distribution of the last actions, (envs, spaces.outputs): logits, or means and
        logarithms of deviations before the bounds (docs/actions.md)."""
        outputs = np.empty((self.envs, self.spaces.outputs), np.float32)
        check(self._library.starling_policy_outputs(self._handle, _pointer(outputs, c.c_float)))
        return outputs

    def reset(self, begins: Any = None) -> None:
        """Forgets: the next observation is the first of an episode where `begins`, (envs,), is true;
        everywhere if it is None. Needed only if spaces.has_memory."""
        marks = None
        if begins is not None:
            given = np.ascontiguousarray(np.asarray(begins, bool).astype(np.uint8))
            if given.shape != (self.envs,):
                raise Mistake(f"begins has shape {given.shape}: it is ({self.envs},)")
            marks = _pointer(given, c.c_uint8)
        check(self._library.starling_policy_reset(self._handle, marks))

    def seed(self, seed: int) -> None:
        """Draws as after loading with this seed."""
        check(self._library.starling_policy_seed(self._handle,
                                                 integer("seed", seed, 0, 2**64 - 1)))

    @property
    def checkpoint(self) -> str:
        """The path of the checkpoint that was loaded."""
        return os.fsdecode(self._library.starling_policy_checkpoint(self._handle))

    @property
    def config(self) -> str:
        """The configuration of the run, in TOML."""
        return self._library.starling_policy_config(self._handle).decode()

    def close(self) -> None:
        """Frees the memory; the policy is of no use afterwards."""
        self._close(self._library.starling_policy_close)

    def __repr__(self) -> str:
        return f"<Policy of {self.spaces.env} after {self.spaces.steps:,} steps>"

    def _read_spaces(self) -> Spaces:
        raw = _library.SpacesStruct()
        check(self._library.starling_policy_spaces(self._handle, raw))
        arrays = []
        for index in range(raw.arrays):
            one = _library.ArrayStruct()
            check(self._library.starling_policy_array(self._handle, index, one))
            arrays.append(Array(one.name.decode(), (one.height, one.width, one.channels), one.low,
                                one.high))
        counts = () if raw.box else tuple(raw.counts[: raw.width])
        names: tuple[str, ...] = ()
        if raw.action_names:
            names = tuple(raw.action_names[i].decode() for i in range(counts[0]))
        bounds = raw.width if raw.box else 0
        return Spaces(env=raw.env.decode(), arrays=tuple(arrays), counts=counts,
                      low=np.array(raw.low[:bounds], np.float32),
                      high=np.array(raw.high[:bounds], np.float32), action_names=names,
                      mask=raw.mask, outputs=raw.outputs, has_memory=bool(raw.has_memory),
                      steps=raw.steps)

    def _flatten(self, observation: Any) -> tuple[np.ndarray, bool]:
        """Returns observations as (envs, numbers), and whether it was one without that dimension."""
        arrays, given = self.spaces.arrays, dict(_leaves(observation))
        if len(arrays) == 1 and len(given) == 1:
            return self._rows(next(iter(given.values())), arrays[0])
        for array in arrays:
            if array.name not in given:
                raise Mistake(f"the observation lacks {array.name}")
        parts = [self._rows(given[array.name], array) for array in arrays]
        return np.concatenate([rows for rows, _ in parts], 1), all(alone for _, alone in parts)

    def _rows(self, given: Any, array: Array) -> tuple[np.ndarray, bool]:
        values, size = np.asarray(given), int(np.prod(array.shape))
        if values.dtype.kind in "iu" and size > 1 and values.size == self.envs and values.ndim < 2:
            values = _one_hot(values, size, array.name)
        row = array.shape[:2] == (1, 1)
        allowed = {array.shape, array.shape[:2]} if array.shape[2] == 1 else {array.shape}
        if row:
            allowed |= {array.shape[2:]}
        batched = values.ndim > 0 and values.shape[0] == self.envs and (
            values.shape[1:] in allowed or (row and values.size == self.envs * size))
        alone = self.envs == 1 and (values.shape in allowed
                                    or (row and values.size == size and not batched))
        if not batched and not alone:
            one = array.shape[2:] if row else array.shape
            raise Mistake(f"{array.name} has shape {values.shape}: it is {(self.envs, *one)}"
                          + (f" or {one}" if self.envs == 1 else ""))
        if values.dtype == np.uint8:
            values = np.divide(values, 255, dtype=np.float32)
        rows = np.ascontiguousarray(values, np.float32).reshape(self.envs, size)
        return rows, alone

    def _mask(self, mask: Any) -> Any:
        if mask is None:
            return None
        allowed = np.ascontiguousarray(np.asarray(mask).astype(bool).astype(np.uint8))
        shape = (self.envs, self.spaces.mask)
        if self.spaces.mask and allowed.shape not in {shape, shape[self.envs == 1 :]}:
            raise Mistake(f"mask has shape {allowed.shape}: it is {shape}")
        return _pointer(allowed, c.c_uint8)


def _leaves(observation: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays of Dict and Tuple observations, by their keys joined by "."."""
    if isinstance(observation, Mapping):
        entries = observation.items()
    elif isinstance(observation, tuple):
        entries = enumerate(observation)
    else:
        yield name, observation
        return
    for key, value in entries:
        yield from _leaves(value, f"{name}.{key}" if name else str(key))


def _one_hot(values: np.ndarray, size: int, name: str) -> np.ndarray:
    if values.min() < 0 or values.max() >= size:
        raise Mistake(f"{name} is {values.max() if values.max() >= size else values.min()}: it is an "
                      f"integer from 0 to {size - 1}")
    return np.eye(size, dtype=np.float32)[values]


def _pointer(array: np.ndarray, kind: Any) -> Any:
    return array.ctypes.data_as(c.POINTER(kind))
