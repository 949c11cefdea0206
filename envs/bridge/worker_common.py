"""What the workers in Python share (envs/bridge/protocol.h): the socket, the memory, mistakes.

The build puts this text before that of a worker, which ends with run(start).
"""
import json
import mmap
import os
import struct
import sys

CONTROL, MEMORY = 3, 4
SKIP, RESET = -1, -2  # in the place of an action


class Mistake(Exception):
    """A user's mistake, in a sentence with the remedy."""


def line(value):
    """`value` for an error message: one line, of bounded length."""
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else text[:200] + "..."


def send(message):
    rest = json.dumps(message).encode() + b"\n"
    while rest:
        rest = rest[os.write(CONTROL, rest):]


def receive():
    """The next line. The client sends nothing more before the answer."""
    received = b""
    while not received.endswith(b"\n"):
        some = os.read(CONTROL, 65536)
        if not some:
            os._exit(0)
        received += some
    return json.loads(received)


def load(name):
    try:
        return __import__(name)
    except ImportError as error:
        raise Mistake(
            f"{sys.executable} cannot import {name} ({line(error)}); run scripts/setup --gym, or "
            "name another interpreter in env.python"
        )


def share(numpy, place, count, words, size, dtype):
    """Returns views of the memory: commands, `words` for each env, rewards, ends, lives, frames
    played, then rows of `size` numbers: the newest frames, and those before them (or None)."""
    memory = mmap.mmap(MEMORY, place["size"])
    view = memoryview(memory)

    def column(name, kind, length):
        begin = place[name]
        return view[begin:begin + length * struct.calcsize(kind)].cast(kind)

    def rows(name):
        if name not in place:
            return [None] * count
        return [
            numpy.frombuffer(memory, dtype, size, place[name] + i * place["stride"])
            for i in range(count)
        ]

    return column("commands", "i", count * words), column("rewards", "d", count), \
        column("ends", "i", count), column("lives", "i", count), column("played", "i", count), \
        rows("frames"), rows("before")


def serve(shared, players, words):
    """Plays turn by turn until the client closes the socket.

    players: for each env three functions. play() plays its row of commands, shows the newest frame
    and returns rewards, end and the number of frames played; begin() begins an episode and shows
    it; lives() counts those left, or is None.
    """
    commands, rewards, ends, lives, played = shared
    everyone = [(i, i * words, *player) for i, player in enumerate(players)]
    read, write = os.read, os.write
    while True:
        turn = read(CONTROL, 1)
        if not turn:
            return
        for i, first, play, begin, left in everyone:
            command = commands[first]
            if command == SKIP:
                continue
            if command != RESET:
                rewards[i], ends[i], played[i] = play()
            else:
                begin()
                rewards[i], ends[i], played[i] = 0.0, 0, 0
            if left is not None:
                lives[i] = left()
        write(CONTROL, turn)


def run(start):
    """Calls start(settings), which plays until the client closes the socket."""
    settings = receive()
    try:
        start(settings)
    except Mistake as mistake:
        send({"error": f"{settings['name']}: {mistake}"})
    except (BrokenPipeError, ConnectionResetError):  # the client is gone
        pass
    sys.stdout.flush()
    sys.stderr.flush()
