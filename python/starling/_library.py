"""Where the programs and the C libraries are, and what ctypes must know of the libraries.

api/starling.h and api/starling_seat.h are the reference; the structs here are theirs, member by
member.
"""

from __future__ import annotations

import ctypes as c
import functools
import operator
import os
import sys
from pathlib import Path


class Error(RuntimeError):
    """Something failed: the machine, a run, or Starling. The text is one sentence; `log` has the
    lines that a program has written before it failed."""

    log = ""


class Mistake(Error, ValueError):
    """A mistake of the caller's: a path, a key, an argument, an observation, a gradient."""


class RunOver(Error):
    """A seat has joined a run that has just ended: there is nothing to do."""


OK, FAILED, MISTAKE, LATER, LOST, OVER = range(6)


@functools.cache
def home() -> Path:
    """The directory with bin/ and lib/: this package's, $STARLING_HOME, or the tree's build."""
    package = Path(__file__).resolve().parent
    places = [package, package.parent.parent / "build" / "release"]
    if os.environ.get("STARLING_HOME"):
        places = [Path(os.environ["STARLING_HOME"]).resolve()]
    for place in places:
        if (place / "lib" / "libstarling.so.1").exists():
            return place
    raise Error(f"no lib/libstarling.so.1 in {' or '.join(map(str, places))}: install Starling's "
                "wheel, or build Starling (scripts/build release)")


def program() -> Path:
    """The program `starling`."""
    return home() / "bin" / "starling"


def main() -> None:
    """The command `starling` of an environment in which the package is installed."""
    os.execv(program(), [str(program()), *sys.argv[1:]])


class _Sized(c.Structure):
    """A struct that begins with its size."""

    def __init__(self, **members: object) -> None:
        super().__init__(size=c.sizeof(self), **members)


class PolicyOptions(_Sized):
    _fields_ = [("size", c.c_size_t), ("envs", c.c_int32), ("greedy", c.c_int32),
                ("seed", c.c_uint64)]


class SpacesStruct(_Sized):
    _fields_ = [("size", c.c_size_t), ("env", c.c_char_p), ("envs", c.c_int32),
                ("arrays", c.c_int32), ("numbers", c.c_int32), ("mask", c.c_int32),
                ("box", c.c_int32), ("width", c.c_int32), ("counts", c.POINTER(c.c_int32)),
                ("low", c.POINTER(c.c_float)), ("high", c.POINTER(c.c_float)),
                ("action_names", c.POINTER(c.c_char_p)), ("outputs", c.c_int32),
                ("has_memory", c.c_int32), ("steps", c.c_uint64)]


class ArrayStruct(_Sized):
    _fields_ = [("size", c.c_size_t), ("name", c.c_char_p), ("height", c.c_int32),
                ("width", c.c_int32), ("channels", c.c_int32), ("low", c.c_float),
                ("high", c.c_float), ("reserved", c.c_int32)]


class SeatOptions(_Sized):
    _fields_ = [("size", c.c_size_t), ("secret", c.c_char_p), ("learner_key", c.c_char_p),
                ("connect_timeout", c.c_double), ("slot", c.c_int32), ("reserved", c.c_int32)]


class SeatFacts(_Sized):
    _fields_ = [("size", c.c_size_t), ("numbers", c.c_uint64), ("tensors", c.c_int32),
                ("slot", c.c_uint32), ("seed", c.c_uint64), ("applied", c.c_uint64),
                ("refused", c.c_uint64), ("refusal", c.c_char_p)]


class TensorStruct(_Sized):
    _fields_ = [("size", c.c_size_t), ("name", c.c_char_p), ("shape", c.POINTER(c.c_int64)),
                ("dimensions", c.c_int32), ("reserved", c.c_int32), ("first", c.c_uint64),
                ("count", c.c_uint64)]


class GrantStruct(_Sized):
    _fields_ = [("size", c.c_size_t), ("number", c.c_uint64), ("version", c.c_uint64)]


class WeightsStruct(_Sized):
    _fields_ = [("size", c.c_size_t), ("version", c.c_uint64), ("steps", c.c_uint64),
                ("entropy", c.c_double), ("term", c.c_uint32), ("reserved", c.c_uint32)]


class PushStruct(_Sized):
    _fields_ = [("size", c.c_size_t), ("samples", c.c_uint32), ("episodes", c.c_int32),
                ("returns", c.POINTER(c.c_double)), ("lengths", c.POINTER(c.c_uint64)),
                ("policy_loss", c.c_double), ("value_loss", c.c_double), ("entropy", c.c_double)]


def _declare(library: c.CDLL, result: object, names: dict[str, list[object]]) -> None:
    for name, arguments in names.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


@functools.cache
def policies() -> c.CDLL:
    """libstarling.so."""
    library = c.CDLL(str(home() / "lib" / "libstarling.so.1"))
    handle, floats = c.c_void_p, c.POINTER(c.c_float)
    _declare(library, c.c_char_p, {
        "starling_error": [], "starling_version": [], "starling_policy_checkpoint": [handle],
        "starling_policy_config": [handle]})
    _declare(library, c.c_int32, {
        "starling_policy_open": [c.c_char_p, c.POINTER(PolicyOptions), c.POINTER(handle)],
        "starling_policy_spaces": [handle, c.POINTER(SpacesStruct)],
        "starling_policy_array": [handle, c.c_int32, c.POINTER(ArrayStruct)],
        "starling_policy_act": [handle, floats, c.POINTER(c.c_uint8), c.c_void_p],
        "starling_policy_values": [handle, floats],
        "starling_policy_outputs": [handle, floats],
        "starling_policy_reset": [handle, c.POINTER(c.c_uint8)],
        "starling_policy_seed": [handle, c.c_uint64]})
    _declare(library, None, {"starling_policy_close": [handle]})
    return library


@functools.cache
def seats() -> c.CDLL:
    """libstarling-seat.so, which stands on libstarling.so."""
    policies()
    library = c.CDLL(str(home() / "lib" / "libstarling-seat.so.1"))
    handle, floats = c.c_void_p, c.POINTER(c.c_float)
    _declare(library, c.c_int32, {
        "starling_seat_open": [c.c_char_p, c.POINTER(SeatOptions), c.POINTER(handle)],
        "starling_seat_join": [handle, c.c_double],
        "starling_seat_get_facts": [handle, c.POINTER(SeatFacts)],
        "starling_seat_tensor": [handle, c.c_int32, c.POINTER(TensorStruct)],
        "starling_seat_next": [handle, c.c_double, c.POINTER(GrantStruct)],
        "starling_seat_weights": [handle, floats, c.POINTER(WeightsStruct)],
        "starling_seat_space": [handle, c.POINTER(floats)],
        "starling_seat_push": [handle, floats, c.POINTER(PushStruct)]})
    _declare(library, c.c_char_p, {"starling_seat_config": [handle]})
    _declare(library, None, {"starling_seat_close": [handle]})
    return library


def check(status: int) -> int:
    """Returns a status that is no error. Raises Mistake or Error with the library's sentence."""
    if status not in (FAILED, MISTAKE):
        return status
    sentence = policies().starling_error().decode(errors="replace")
    raise (Mistake if status == MISTAKE else Error)(sentence)


def integer(name: str, value: int, low: int, high: int) -> int:
    """Returns `value` if it is in [low, high]: ctypes would cut off what does not fit."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise Mistake(f"{name} is {value!r}: it is a whole number from {low} to {high}") from error
    if not low <= number <= high:
        raise Mistake(f"{name} is {value}: it is from {low} to {high}")
    return number


class Handle:
    """Holds a handle of a library, which `close` gives back; it cannot be copied."""

    _handle: c.c_void_p

    def _close(self, function: object) -> None:
        handle, self._handle = self._handle, c.c_void_p()
        if handle:
            function(handle)

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied: load or join another")


def version() -> str:
    """The build of the library, as `starling --version` prints it."""
    return policies().starling_version().decode()
