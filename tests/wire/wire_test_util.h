// Helpers of the wire tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "tests/support/temp_dir.h"
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

inline FrameView View(const Frames& frames) {
  return {.count = kMessageFrames,
          .header = frames.header_bytes(),
          .fields = frames.field_bytes(),
          .tensor = frames.tensor_bytes()};
}

}  // namespace starling::wire
