// The protocol between a worker, a program that plays envs in a process of its own, and its client
// (worker.h). The same for every language; docs/environments-gym.md has a picture.
//
// A worker's descriptors:
//   0       standard input: empty, or its own program text (interpreters)
//   1, 2    a pipe whose last words are shown to people, never parsed
//   3       the control socket, a stream: lines of JSON while starting, then single bytes
//   4       a memory file without a name, to be mapped shared and writable
// The kernel kills a worker when the thread that started it ends. A worker ends by itself when the
// control socket closes.
//
// Starting, one line of JSON each, ended by "\n":
//   client  {"protocol": 6, "count": k, "seeds": [k integers in [0, 2^63)], "frames": r,
//            "before": true or false, "lost_life_stops": true or false, ...}
//           and settings for the kind of worker: "env", "name" (of env.name, for its
//           sentences), "options" (an object), ...
//   worker  {"height": h, "width": w, "channels": c, "bytes": true or false, "low": x, "high": x,
//            "actions": a, "entries": [e, ...], "lives": true or false, "saves": true}
//           frames are (h, w, c), C order, bytes if "bytes", else float32; without "saves" its
//           state cannot be saved. Where several arrays are observed together, each is an e,
//           {"name": "image", "height": h, "width": w, "channels": c, "low": x, "high": x}, and
//           the frame is (1, 1, n) floats, theirs one after the other; else "entries" may be left
//           out. a is one of
//             {"counts": [n, ...], "names": ["NOOP", ...], "masked": true or false}
//               an action is m choices, each from 0 to its count - 1; names are those of the
//               values of a single choice, and may be left out: []. If "masked", a frame has a
//               number behind (h, w, c) for each value of all choices, not 0 where it is allowed
//             {"low": [x, ...], "high": [x, ...]}
//               an action is a point of a box of m coordinates; null is an infinite bound
//        or {"error": "a whole sentence"} after a user's mistake; the client does not retry
//   client  {"size": n, "commands": o, "rewards": o, "ends": o, "lives": o, "played": o,
//            "frames": o, "before": o, "stride": s}: the memory file now has n bytes, for good;
//            offsets of arrays ("before" only if requested)
//   worker  {"ready": true}: it is mapped
//
// Memory: all numbers little-endian; every offset and the stride a multiple of 64 bytes.
//   commands  int32 (k, r,  a row: kReset alone, kSkip alone, or the actions of   client writes
//             m)            up to r frames one after the other; kSkip after the last. kReset and
//                           kSkip are the first of m words; a box's words are float32 within it
//   rewards   float64 (k)   of the frames played, added up; finite as float32;    worker writes
//                           0 after kReset
//   ends      int32 (k)     kRunning, kTerminated or kTruncated of envs/env.h     worker writes
//   lives     int32 (k)     those left; 0 if "lives" is false                     worker writes
//   played    int32 (k)     frames played of the row of actions; 0 after kReset   worker writes
//   frames    k of them, `stride` bytes apart: the newest; floats are finite;     worker writes
//             a mask allows a value of each choice, unless the end is kTerminated
//   before    k of them, `stride` bytes apart: those before the newest;           worker writes
//             undefined after kReset or kTerminated; after a kTruncated in the middle of a row of
//             actions they may equal the newest
//
// Then, repeatedly: the client writes the commands and sends one byte, which counts up; the worker
// executes them, leaves all data of envs with kSkip unchanged, and answers with the same byte. A
// row of actions stops early if the episode ends or, with "lost_life_stops", a life is lost. The
// memory belongs to the worker between the two bytes and to the client otherwise. An env's first
// kReset uses its seed; later ones continue from there.
//
// A worker that "saves" obeys two more commands, each in all rows at once. kWorkerSave: behind its
// byte the worker sends the state of all its envs, their newest frames included: a uint64 with its
// size, and that many bytes. kWorkerRestore: behind its byte the client sends such a state; the
// frames are in the memory when the worker answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "envs/frames.h"

namespace starling::envs {

inline constexpr int kWorkerProtocol = 6;
inline constexpr int kWorkerControlFd = 3;
inline constexpr int kWorkerMemoryFd = 4;
inline constexpr std::size_t kWorkerLineLimit = 4 << 20;  // bytes of a line of JSON
inline constexpr int kMaxWorkerActions = 65'536;          // values of all choices, or coordinates
inline constexpr std::int32_t kWorkerSave = -3, kWorkerRestore = -4;
inline constexpr std::uint64_t kWorkerStateLimit = std::uint64_t{1} << 30;  // bytes of a state

// Byte offsets of a worker's arrays.
struct WorkerMemory {
  std::size_t commands = 0, rewards = 0, ends = 0, lives = 0, played = 0, frames = 0, before = 0,
              stride = 0, size = 0;
};

// The layout for `count` envs, each with commands of `words` words. `before` is 0 without
// keep_before.
constexpr WorkerMemory LayOut(std::size_t count, std::size_t words, bool keep_before,
                              std::size_t frame_bytes) {
  constexpr auto up = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  WorkerMemory at;
  at.rewards = at.commands + up(count * words * sizeof(std::int32_t));
  at.ends = at.rewards + up(count * sizeof(double));
  at.lives = at.ends + up(count * sizeof(std::int32_t));
  at.played = at.lives + up(count * sizeof(std::int32_t));
  at.frames = at.played + up(count * sizeof(std::int32_t));
  at.stride = up(frame_bytes);
  at.size = at.frames + count * at.stride;
  if (keep_before) at.before = std::exchange(at.size, at.size + count * at.stride);
  return at;
}

// A worker's description of its envs at the start, written and read. The reader trusts nothing.
// Checkpoints hold this text, too (envs/spaces.h), so that later programs must go on reading it.

// `spec` as one line of JSON, without the line's end. Bytes that are not UTF-8 are replaced.
std::string WorkerSpecLine(const FrameSpec& spec);

// Returns the spec in `line`, of an env called `name`, or nullopt if it is malformed or impossible:
// no or too many actions, no or too large frames, bounds that are not finite or not in order. If
// `line` is {"error": sentence}, returns nullopt and sets `mistake` to the sentence.
std::optional<FrameSpec> ReadWorkerSpec(std::string_view line, const std::string& name,
                                        std::string& mistake);

// Whether `line` is {"ready": true}.
bool SaysReady(std::string_view line);

bool SameSpec(const FrameSpec& a, const FrameSpec& b);

// Text of a plug-in, a worker or Python, made fit for a sentence:
// `text` on one line, cut after `limit` bytes with "...".
inline std::string OneLine(std::string_view text, std::size_t limit) {
  std::string line(text.substr(0, limit));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (text.size() > limit) line += "...";
  return line;
}

}  // namespace starling::envs
