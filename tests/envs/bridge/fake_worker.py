"""A worker as envs/bridge/protocol.h describes it, with the standard library only, which misbehaves
on request.

It plays and stops as it should, however many frames are asked for. Its env counts: a frame is the
floats (seed mod 2^20, steps played in this episode, episodes begun), and an episode ends after
"length" steps (truncated if "truncates"). A reward is the action: the sum of its k-th words times
10^k.
Options, all about the env of index "who" (default 0) in the process, when it plays step number "at"
(default 0: a reset) of any episode:
  "crash": a signal's number   "exit": a status   "hang": true or "loudly"
  "nonsense": what to get wrong
  "once": a path; only the process that makes this file misbehaves
  "start": how not to start    "goodbye": a path; made when ending in good order
  "wait_for": a path; no reset ends before it exists    "chats": anything; it prints meanwhile
  "deaf": anything; does not end when its socket closes    "lingers": seconds until its goodbye
  "print": text on standard error at the beginning
  "starts": a path; gets a "+" at the beginning and a "-" before the process is ready
  "state": the hexadecimal bytes that it answers when its state is asked for
  "actions": the actions of its spec, instead of the choice of three
  "mask": the numbers behind every frame, if they are masked
"""
import json
import mmap
import os
import signal
import struct
import sys
import time

settings, options = {}, {}


def say(message):
    os.write(3, json.dumps(message).encode() + b"\n")


def hear():
    line = b""
    while not line.endswith(b"\n"):
        some = os.read(3, 65536)
        if not some:
            sys.exit(0)
        line += some
    return json.loads(line)


def for_ever(loudly=False):
    while loudly:
        print("la" * 1000, file=sys.stderr, flush=True)
    while True:
        signal.pause()


def note_start(sign):
    if "starts" in options:
        with open(options["starts"], "a") as file:
            file.write(sign)


def misbehaves(who, step):
    if step != options.get("at", 0) or who != options.get("who", 0):
        return False
    if not any(key in options for key in ("crash", "exit", "hang", "nonsense")):
        return False
    if "once" in options:
        try:
            os.close(os.open(options["once"], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
    return True


def main():
    global settings, options
    settings = hear()
    options = settings.get("options", {})
    count, seeds, length = settings["count"], settings["seeds"], options.get("length", 4)
    repeat = settings["frames"]
    print(options.get("print", ""), file=sys.stderr, flush=True)
    note_start("+")
    start = options.get("start")
    if start == "dies":
        sys.exit(3)
    if start == "mistake":
        say({"error": "fake: the fake is not in the mood"})
        return
    if start == "option":
        say({"error": 'fake: env.options: "mood" = 9 is none that the fake has: 0, 1'})
        return
    if start == "silent":
        for_ever()
    if start == "noise":
        for_ever(loudly=True)
    if start == "garbage":
        os.write(3, b"hello\n")
        for_ever()
    actions = {"counts": [3], "names": ["stay", "go", "jump"], "masked": False}
    actions, mask = options.get("actions", actions), options.get("mask", [])
    width, number = (len(actions["low"]), "f") if "low" in actions else (len(actions["counts"]), "i")
    if start == "other":  # every process has one more action than the one before
        with open(options["count"], "a+") as file:
            file.write(".")
            file.flush()
            actions["counts"], actions["names"] = [file.tell() + 1], []
    say({"height": 1, "width": 1, "channels": 3, "bytes": False, "low": 0, "high": 1e6,
         "actions": actions, "lives": True, "saves": "state" in options})
    place = hear()
    memory = mmap.mmap(4, place["size"])
    if start == "shrinks":
        try:
            os.ftruncate(4, 0)
        except PermissionError:
            print("sealed", file=sys.stderr)
            sys.exit(4)
    note_start("-")
    say({"ready": True})

    def put(name, width, i, kind, value):
        struct.pack_into(kind, memory, place[name] + width * i, value)

    steps, episodes = [0] * count, [0] * count
    while True:
        turn = os.read(3, 1)
        if not turn:
            break
        if struct.unpack_from("<i", memory, place["commands"])[0] == -3:
            os.write(3, turn + bytes.fromhex(options["state"]))
            continue
        for i in range(count):
            begin = place["commands"] + 4 * repeat * width * i
            total, left = 0, length - steps[i]
            for frame in range(repeat):
                at = begin + 4 * width * frame
                command = struct.unpack_from("<i", memory, at)[0]
                if command == -1:
                    break
                if command == -2:
                    while "wait_for" in options and not os.path.exists(options["wait_for"]):
                        if "chats" in options:
                            print("still waiting", file=sys.stderr, flush=True)
                    steps[i] = 0
                    episodes[i] += 1
                else:
                    steps[i] += 1
                    words = struct.unpack_from(f"<{width}{number}", memory, at)
                    total += sum(word * 10**k for k, word in enumerate(words))
                reward, end, value, value_before = total, 0, seeds[i] % 2**20, 0
                played = 0 if command == -2 else frame + 1
                if steps[i] == length:
                    end = 2 if options.get("truncates") else 1
                if misbehaves(i, steps[i]):
                    if "crash" in options:
                        os.kill(os.getpid(), options["crash"])
                    if "exit" in options:
                        print("fake: I have had enough", file=sys.stderr, flush=True)
                        os._exit(options["exit"])
                    if "hang" in options:
                        for_ever(loudly=options["hang"] == "loudly")
                    wrong = options["nonsense"]
                    if wrong == "reward":
                        reward = options.get("value", float("nan"))
                    elif wrong == "observation":
                        value = float("inf")
                    elif wrong == "before":
                        value_before = float("inf")
                    elif wrong == "played":
                        played = options["value"]
                    elif wrong == "end":
                        end = 3
                    elif wrong == "turn":
                        turn = bytes([turn[0] ^ 1])
                    elif wrong == "twice":
                        turn += turn
                put("rewards", 8, i, "<d", reward)
                put("ends", 4, i, "<i", end)
                put("lives", 4, i, "<i", length - steps[i])
                put("played", 4, i, "<i", played)
                if "before" in place:
                    struct.pack_into("<3f", memory, place["before"] + i * place["stride"],
                                     value + value_before, steps[i] - 1, episodes[i])
                struct.pack_into(f"<{3 + len(mask)}f", memory,
                                 place["frames"] + i * place["stride"], value, steps[i],
                                 episodes[i], *mask)
                if end != 0 or (settings["lost_life_stops"] and length - steps[i] < left):
                    break
        os.write(3, turn)
    time.sleep(options.get("lingers", 0))
    if "goodbye" in options:
        open(options["goodbye"], "w").close()
    if "deaf" in options:
        for_ever()


main()
