// How a program that plays envs in a process of its own (a worker) and its client (worker.h) speak.
// The same for every language; docs/environments-gym.md tells it with a picture.
//
// A worker is started with
//   0       standard input: empty, or its own program text (interpreters)
//   1, 2    a pipe whose last words are shown to people, never parsed
//   3       the control socket, a stream: lines of JSON while starting, then single bytes
//   4       a memory file without a name, to be mapped shared and writable
// and is killed by the kernel when the thread that started it ends. When the control socket closes
// it ends by itself.
//
// Starting, one line of JSON each, ended by "\n":
//   client  {"protocol": 1, "count": k, "seeds": [k integers in [0, 2^63)], ...}
//           and what the kind of worker takes: "env", "options" (an object), ...
//   worker  {"height": h, "width": w, "channels": c, "bytes": true or false, "low": x, "high": x,
//            "actions": ["NOOP", ...], "lives": true or false}
//           frames are (h, w, c), C order, bytes if "bytes", else float32
//        or {"error": "a sentence"} where a person made a mistake; no new attempt is made
//   client  {"size": n, "commands": o, "rewards": o, "ends": o, "lives": o, "frames": o,
//            "stride": s}: the memory file now has n bytes, which never change; offsets of arrays
//   worker  {"ready": true}: it is mapped
//
// Memory: all numbers little-endian; every offset and the stride a multiple of 64 bytes.
//   commands  int32 (k)     an action in [0, number of actions), kSkip or kReset   client writes
//   rewards   float32 (k)   finite; 0 after kReset                                 worker writes
//   ends      int32 (k)     kRunning, kTerminated or kTruncated of envs/env.h      worker writes
//   lives     int32 (k)     those left; 0 where "lives" is false                   worker writes
//   frames    k of them, `stride` bytes apart; floats are finite                   worker writes
//
// Then, for ever: the client writes the commands and sends one byte, which counts up; the worker
// obeys them, leaves what belongs to envs with kSkip alone, and answers the same byte. Memory
// belongs to the worker between the two bytes and to the client otherwise. An env's first kReset
// uses its seed, later ones go on from there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::envs {

inline constexpr int kWorkerProtocol = 1;
inline constexpr int kWorkerControlFd = 3;
inline constexpr int kWorkerMemoryFd = 4;
inline constexpr std::size_t kWorkerLineLimit = 1 << 20;  // bytes of a line of JSON

// Where the arrays of a worker of `count` envs lie, in bytes.
struct WorkerMemory {
  std::size_t commands = 0, rewards = 0, ends = 0, lives = 0, frames = 0, stride = 0, size = 0;
};

constexpr WorkerMemory LayOut(std::size_t count, std::size_t frame_bytes) {
  constexpr auto up = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t column = up(count * sizeof(std::int32_t));
  WorkerMemory at;
  at.rewards = at.commands + column;
  at.ends = at.rewards + column;
  at.lives = at.ends + column;
  at.frames = at.lives + column;
  at.stride = up(frame_bytes);
  at.size = at.frames + count * at.stride;
  return at;
}

}  // namespace starling::envs
