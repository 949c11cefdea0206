// Helpers of the wire tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>
#include <zmq.hpp>

#include "tests/support/temp_dir.h"
#include "wire/codec.h"
#include "wire/socket.h"

namespace starling::wire {

// Long enough for any loaded machine; a test ends as soon as its condition holds.
inline constexpr std::int64_t kPatienceMs = 30'000;

// Calls `step` until it returns true; false when patience is at its end. `step` waits by itself, in
// Poll or a receive with a time limit.
inline bool Until(const std::function<bool()>& step) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (std::chrono::steady_clock::now() < end) {
    if (step()) return true;
  }
  return false;
}

inline bool WaitReadable(const Socket& socket, std::int64_t timeout_ms = kPatienceMs) {
  PollItem item{.socket = &socket};
  return Poll({&item, 1}, timeout_ms) && item.readable;
}

inline bool WaitWritable(const Socket& socket, std::int64_t timeout_ms = kPatienceMs) {
  PollItem item{.socket = &socket, .want_readable = false, .want_writable = true};
  return Poll({&item, 1}, timeout_ms) && item.writable;
}

// Waits for the next message; false if none comes.
template <class AnySocket>
bool Next(AnySocket& socket, Envelope& envelope) {
  return Until([&] { return socket.Receive(envelope) || (WaitReadable(socket, 100), false); });
}

// A socket without our protocol, for what a foreign peer sends.
inline zmq::socket_t RawSocket(zmq::context_t& context, zmq::socket_type type) {
  zmq::socket_t socket(context, type);
  socket.set(zmq::sockopt::linger, 0);
  return socket;
}

inline std::vector<float> Ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 0.5f - 3.0f;
  return values;
}

inline std::vector<Body> OneOfEachKind() {
  Gradient gradient = {.grant = 1, .samples = 160, .norm = 0.5};
  gradient.episodes.assign(20, {.episode_return = 3, .length = 1000});
  Answer answer = {.outcomes = {{5, Outcome::kMerged, 2}, {6, Outcome::kNoGrant, 0}}};
  answer.cut = 1'000'000;
  answer.grants.assign(4, {.number = 70'000, .version = 1'000'000});
  ApplyUpdate update = {.lr = 0.5, .optimizer_step = 3, .steps = 900};
  update.items.assign(3,
                      {.slot = 1, .incarnation = 65'537, .gradient = 9, .weight = 0.25, .sums = 0});
  return {Hello{.slot = -1, .host = "node7", .pid = 4'000'000'000},
          Welcome{.config = "[run]\n",
                  .snapshot = "/dev/shm/x",
                  .shards = {{"tcp://127.0.0.1:9", ""}},
                  .life = 65'536,
                  .state = 70'000,
                  .tensors = {{"conv.weight", {3, 3, 4, 16}}, {"scale", {}}}},
          gradient,
          answer,
          Heartbeat{},
          Fetch{.version = UINT64_MAX},
          Weights{.steps = 123'456, .entropy = 0.02},
          Leave{.reason = LeaveReason::kRefused, .text = "another net"},
          GradientSlice{.gradient = 9},
          ShardHello{.shard = 1, .pid = 7},
          ShardWelcome{.checkpoint = "checkpoints/t0001"},
          ShardReady{{.endpoint = "ipc:///x", .snapshot = "/dev/shm/y"}},
          SliceHeld{.gradient = 9, .norm = 0.25, .key = "z85"},
          DiscardSlice{.gradient = 9},
          update,
          ShardApplied{},
          ShardSaved{.error = "no room"},
          ReloadKeys{},
          FetchState{.offset = 70'000},
          State{.offset = 3, .total = 1'000'000, .bytes = std::string("\0\xff x", 4)}};
}

// The tensor that `values` make as elements of `type`.
inline SharedTensor Shared(std::span<const float> values, ElementType type) {
  const auto copy = std::make_shared<float[]>(values.size());
  std::ranges::copy(values, copy.get());
  return {copy, values.size(), type};
}

// A message as owned bytes that a test may spoil; no frame has room beyond its bytes.
struct Raw {
  std::vector<std::byte> header, fields, tensor;

  Raw() = default;
  explicit Raw(const Frames& frames)
      : header(Copy(frames.header_bytes())),
        fields(Copy(frames.field_bytes())),
        tensor(Copy(frames.tensor)) {}
  FrameView view() const { return {kMessageFrames, header, fields, tensor}; }
  // Makes the checksum valid again, so that only the spoilt field is wrong.
  void FixChecksum() {
    if (header.size() == kHeaderBytes) Set(56, Checksum(header, fields, TensorDigest(tensor)));
  }
  template <class T>
  void Set(std::size_t at, T value) {
    std::memcpy(header.data() + at, &value, sizeof value);
  }

 private:
  static std::vector<std::byte> Copy(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
  }
};

// The permissions of a file that is no link.
inline unsigned ModeOf(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

inline FrameView View(const Frames& frames) {
  return {.count = kMessageFrames,
          .header = frames.header_bytes(),
          .fields = frames.field_bytes(),
          .tensor = frames.tensor};
}

}  // namespace starling::wire
