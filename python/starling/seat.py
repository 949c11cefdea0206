"""A seat in a run that is being trained: gradients of a net of your own (docs/external-nets.md)."""

from __future__ import annotations

import ctypes as c
import dataclasses
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _library
from ._library import LATER, LOST, OVER, Mistake, RunOver, check, integer
from .nets import as_array

_SLICE_S = 0.1  # a wait is made of such, so that Ctrl-C is heard


@dataclasses.dataclass(frozen=True)
class Grant:
    """The permission to compute one gradient, on weights of `version` or newer."""

    number: int
    version: int


class Weights(Mapping[str, np.ndarray]):
    """The weights by name, as views of `flat`, which Seat.weights updates in place: a net whose
    parameters are these arrays is always up to date. Not to be changed otherwise."""

    def __init__(self, flat: np.ndarray, views: dict[str, np.ndarray]) -> None:
        self.flat = flat  #: (numbers,) float32: all tensors, with gaps of zeros
        self.version = self.steps = 0  #: updates behind them; samples that they have learnt from
        self.entropy = 0.0  #: the entropy coefficient of [loss] at these steps
        self._views = views

    def __getitem__(self, name: str) -> np.ndarray:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


class Seat(_library.Handle):
    """An actor of the caller's in a run. One thread at a time; of no use in a forked child.

    for grant in seat:
        weights = seat.weights()
        seat.push(gradient, samples=n)
    """

    def __init__(self, place: str | os.PathLike[str] | None = None, *, slot: int | None = None,
                 secret: str | os.PathLike[str] | None = None,
                 learner_key: str | os.PathLike[str] | None = None,
                 connect_timeout: float | None = None) -> None:
        self._handle = c.c_void_p()
        self._library = _library.seats()
        options = _library.SeatOptions(
            secret=None if secret is None else _path("secret", secret),
            learner_key=None if learner_key is None else _path("learner_key", learner_key),
            connect_timeout=0 if connect_timeout is None else _positive(connect_timeout),
            slot=0 if slot is None else integer("slot", slot, 0, 65_535) + 1)
        where = None if place is None else _path("run", place)
        check(self._library.starling_seat_open(where, options, c.byref(self._handle)))
        if self._wait(self._library.starling_seat_join) == OVER:
            self.close()
            raise RunOver("the run was over when this seat joined")
        self._over = False
        facts = self._facts()
        self.slot: int = facts.slot  #: of this actor
        self.seed: int = facts.seed  #: run.seed; from both, random numbers may derive
        #: the configuration of the run, by section and key
        self.config: dict[str, Any] = tomllib.loads(
            self._library.starling_seat_config(self._handle).decode())
        self._numbers = facts.numbers
        self._places = self._read_tensors(facts.tensors)
        #: of the tensors, by name, in the order of the net
        self.shapes: dict[str, tuple[int, ...]] = {
            name: shape for name, (shape, _, _) in self._places.items()}
        flat = np.zeros(self._numbers, np.float32)
        self._weights = Weights(flat, self._views(flat))
        self._spaces: dict[int, tuple[np.ndarray, dict[str, np.ndarray]]] = {}  # by address
        self._held = _library.WeightsStruct()

    # ---- the loop

    def __iter__(self) -> Iterator[Grant]:
        """A grant for each gradient, until the run is over."""
        while (grant := self.next()) is not None:
            yield grant

    def next(self, timeout: float = math.inf) -> Grant | None:
        """Waits for the next grant; joins again if the learner was lost. A grant that no gradient
        has spent is returned again. None: the run is over. Raises TimeoutError after `timeout`
        seconds."""
        if self._over:
            return None
        raw = _library.GrantStruct()
        status = self._wait(
            lambda handle, seconds: self._library.starling_seat_next(handle, seconds, raw), timeout)
        if status == LATER:
            raise TimeoutError(f"no grant within {timeout} s")
        self._over = status == OVER
        return None if self._over else Grant(raw.number, raw.version)

    def weights(self) -> Weights:
        """The newest weights, at least of the version of the grant: the same object every time,
        updated in place. If the learner is lost they stay as they are; the push then says so."""
        raw = self._held
        check(self._library.starling_seat_weights(
            self._handle, self._weights.flat.ctypes.data_as(c.POINTER(c.c_float)), raw))
        weights = self._weights
        weights.version, weights.steps, weights.entropy = raw.version, raw.steps, raw.entropy
        return weights

    def space(self) -> dict[str, np.ndarray] | None:
        """Where the next gradient can be made without a copy, by name: memory of the learner, whose
        content is undefined; push it as it is. None if the learner was lost. Not to be touched
        after the next push or next."""
        space = self._space()
        return None if space is None else dict(space[1])

    def push(self, gradient: Any, *, samples: int, episodes: Sequence[tuple[float, int]] = (),
             policy_loss: float = 0, value_loss: float = 0, entropy: float = 0) -> bool:
        """Pushes a gradient of the last weights() under the last grant.

        gradient: that of the mean loss over the samples, float32: a mapping of arrays by name, a
        sequence of them in the order of `shapes`, or the dict of space(). Whatever numpy takes as an
        array, and PyTorch's tensors, also those of a GPU. It is clipped to optimizer.clip_norm.
        samples: environment steps, or examples. episodes: (return, length) of those that have ended
        since the last push. The losses and the entropy are means, for the run's metrics.

        Returns False if the learner was lost: it counts nowhere, and next() joins again. Raises
        Mistake, and the grant is there as before: a tensor of another name, shape or type, a number
        that is not finite, no grant, weights older than the grant.
        """
        space = self._space()
        if space is None:
            return False
        flat, views = space
        self._fill(views, gradient)
        ended = _pairs(episodes)
        count = len(ended)
        returns = (c.c_double * count)(*(one[0] for one in ended))
        lengths = (c.c_uint64 * count)(*(one[1] for one in ended))
        raw = _library.PushStruct(samples=integer("samples", samples, 1, 10**6), episodes=count,
                                  returns=returns, lengths=lengths, policy_loss=policy_loss,
                                  value_loss=value_loss, entropy=entropy)
        return check(self._library.starling_seat_push(
            self._handle, flat.ctypes.data_as(c.POINTER(c.c_float)), raw)) != LOST

    # ---- the rest

    @property
    def applied(self) -> int:
        """Gradients of this seat that were applied, as far as it has heard."""
        return self._facts().applied

    @property
    def refused(self) -> tuple[int, str]:
        """Gradients that were refused, and why the last was ("stale"); (0, "")."""
        facts = self._facts()
        return facts.refused, facts.refusal.decode()

    def close(self) -> None:
        """Leaves the run."""
        self._over = True
        self._close(self._library.starling_seat_close)

    def _wait(self, call: Any, timeout: float = math.inf) -> int:
        while True:
            seconds = min(_SLICE_S, timeout)
            status = check(call(self._handle, max(seconds, 0)))
            timeout -= seconds
            if status != LATER or timeout <= 0:
                return status

    def _facts(self) -> _library.SeatFacts:
        facts = _library.SeatFacts()
        check(self._library.starling_seat_get_facts(self._handle, facts))
        return facts

    def _read_tensors(self, count: int) -> dict[str, tuple[tuple[int, ...], int, int]]:
        places = {}
        for index in range(count):
            one = _library.TensorStruct()
            check(self._library.starling_seat_tensor(self._handle, index, one))
            shape = tuple(one.shape[i] for i in range(one.dimensions))
            places[one.name.decode()] = (shape, one.first, one.first + one.count)
        return places

    def _views(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        return {name: flat[begin:end].reshape(shape)
                for name, (shape, begin, end) in self._places.items()}

    def _space(self) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        pointer = c.POINTER(c.c_float)()
        if check(self._library.starling_seat_space(self._handle, c.byref(pointer))) == LOST:
            return None
        address = c.addressof(pointer.contents)
        if address not in self._spaces:  # there are as many as grants at a time
            flat = np.ctypeslib.as_array(pointer, (self._numbers,))
            self._spaces[address] = flat, self._views(flat)
        return self._spaces[address]

    def _fill(self, views: dict[str, np.ndarray], gradient: Any) -> None:
        if not isinstance(gradient, Mapping):
            if not isinstance(gradient, Sequence):
                raise Mistake(f"the gradient is {type(gradient).__name__}: it is a dict of arrays by "
                              "name, or a list of them in the order of the net")
            if len(gradient) != len(views):
                raise Mistake(f"the gradient has {len(gradient)} arrays, the net {len(views)}")
            gradient = dict(zip(views, gradient))
        for name in gradient:
            if name not in views:
                raise Mistake(f"gradient of {name}: the net has no such tensor")
        for name, view in views.items():
            if name not in gradient:
                raise Mistake(f"the gradient lacks {name}")
            if gradient[name] is None:
                raise Mistake(f"gradient of {name}: it is None: the loss does not depend on it")
            one = as_array(gradient[name])
            if one.shape != view.shape:
                raise Mistake(f"gradient of {name}: its shape is {one.shape}, not {view.shape}")
            if one.dtype != np.float32:
                raise Mistake(f"gradient of {name}: its type is {one.dtype}, not float32")
            if one is not view:  # as those of space() are
                np.copyto(view, one)


def _positive(seconds: float) -> float:
    if not isinstance(seconds, (int, float)) or not 0 < seconds <= 86_400:
        raise Mistake(f"connect_timeout is {seconds!r}: seconds, from 0.001 to 86,400")
    return max(float(seconds), 1e-3)


def _path(name: str, path: str | os.PathLike[str]) -> bytes:
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise Mistake(f"{name} is {type(path).__name__}, not a path")
    text = os.fsencode(path)
    if b"\0" in text:
        raise Mistake(f"{name} has a zero byte in it")
    return text


def _pairs(episodes: Any) -> list[tuple[float, int]]:
    try:
        pairs = [(float(one), length) for one, length in episodes]
    except (TypeError, ValueError) as error:
        raise Mistake("episodes are (return, length) each") from error
    return [(one, integer("the length of an episode", length, 0, 2**53)) for one, length in pairs]


def join(run: Any = None, **options: Any) -> Seat:
    """Joins a run of an external net, and waits until it is a member.

    run: a Run, a run directory of this host, an endpoint ("tcp://HOST:PORT") or a file with one.
    None: the run that has started this program by actors.command. options: slot; secret and
    learner_key, files, for a learner with keys; connect_timeout in seconds (60, or what the run
    says).

    Raises Mistake if the learner refuses it, RunOver if it has just ended the run, Error if there is
    none.
    """
    return Seat(getattr(run, "path", run), **options)
