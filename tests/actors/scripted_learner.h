// A learner that follows a script, for an actor's end of the wire.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "wire/codec.h"
#include "wire/socket.h"

namespace starling::actors {

inline constexpr std::uint64_t kFingerprint = 7;

// Answers each hello with the welcome and then with `after` (weights are of version 5), each
// heartbeat with another, and the n-th request for weights with version 10 + n.
class ScriptedLearner {
 public:
  ScriptedLearner(const std::string& endpoint, wire::Welcome welcome,
                  std::vector<wire::Body> after = {}, std::uint64_t fingerprint = kFingerprint)
      : fingerprint_(fingerprint),
        welcome_(std::move(welcome)),
        after_(std::move(after)),
        socket_(context_, endpoint, {.max_elements = 16}),
        thread_([this] { Serve(); }) {}
  ~ScriptedLearner() {
    stop_ = true;
    thread_.join();
  }

  const std::string& endpoint() const { return socket_.endpoint(); }
  std::uint64_t fetches() const { return fetches_; }
  // The state that actors go on from. REQUIRES: set before the first hello.
  void Keep(std::string state) { state_ = std::move(state); }
  // The state that an actor has sent, when it is whole.
  std::optional<std::string> HeardState() {
    const std::lock_guard lock(mutex_);
    return heard_states_ > 0 ? std::optional(heard_state_) : std::nullopt;
  }
  // Sends it to who has said hello last.
  void Say(wire::Body body) {
    const std::lock_guard lock(mutex_);
    said_.push_back(std::move(body));
  }
  // Waits for a gradient; whether it brought a tensor of so many floats.
  bool HeardGradient(std::size_t floats) {
    NextGradient();
    return gradient_floats_ == floats;
  }
  // Waits for the next gradient.
  wire::Gradient NextGradient() {
    heard_gradients_.acquire();
    const std::lock_guard lock(mutex_);
    wire::Gradient next = gradients_.front();
    gradients_.pop_front();
    return next;
  }

 private:
  void Serve() {
    while (!stop_) {
      std::array<wire::PollItem, 1> item{{{.socket = &socket_}}};
      wire::Poll(item, 10);
      for (const wire::Body& body : TakeSaid()) EXPECT_TRUE(Send(newest_, body));
      wire::Envelope envelope;
      while (socket_.Receive(envelope)) {
        const wire::DecodeResult decoded = wire::Decode(envelope.frames(), 16);
        if (!decoded) continue;
        if (decoded.message.header.kind == wire::Kind::kHello) {
          newest_ = envelope.peer();
          EXPECT_TRUE(Send(newest_, welcome_));
          for (const wire::Body& body : after_) {
            std::holds_alternative<wire::Weights>(body)
                ? SendWeights(envelope.peer(), 5)
                : static_cast<void>(Send(envelope.peer(), body));
          }
        } else if (decoded.message.header.kind == wire::Kind::kFetch) {
          SendWeights(envelope.peer(), 10 + ++fetches_);
        } else if (const auto* ask = std::get_if<wire::FetchState>(&decoded.message.body)) {
          const std::string part = state_.substr(ask->offset, wire::kMaxStatePart);
          Send(envelope.peer(), wire::State{ask->offset, state_.size(), part});
        } else if (const auto* part = std::get_if<wire::State>(&decoded.message.body)) {
          const std::lock_guard lock(mutex_);
          heard_state_ += part->bytes;
          heard_states_ += part->offset + part->bytes.size() == part->total ? 1 : 0;
        } else if (decoded.message.header.kind == wire::Kind::kGradient) {
          const std::lock_guard lock(mutex_);
          gradient_floats_ = decoded.message.header.count;
          gradients_.push_back(std::get<wire::Gradient>(decoded.message.body));
          heard_gradients_.release();
        } else if (decoded.message.header.kind == wire::Kind::kHeartbeat) {
          Send(envelope.peer(), wire::Heartbeat{});  // who asked may have gone
        }
      }
    }
  }
  std::vector<wire::Body> TakeSaid() {
    const std::lock_guard lock(mutex_);
    return std::exchange(said_, {});
  }
  bool Send(const std::string& peer, const wire::Body& body, std::uint64_t version = 0,
            std::span<const float> tensor = {}) {
    const wire::Header header{.incarnation = 1,
                              .sequence = ++sent_,
                              .term = 1,
                              .version = version,
                              .fingerprint = fingerprint_};
    return socket_.Send(peer, wire::Encode(header, body, tensor));
  }

  // Of 16 floats, all of which are `version`.
  void SendWeights(const std::string& peer, std::uint64_t version) {
    const std::vector<float> values(16, static_cast<float>(version));
    EXPECT_TRUE(Send(peer, wire::Weights{}, version, values));
  }

  const std::uint64_t fingerprint_;
  const wire::Welcome welcome_;
  const std::vector<wire::Body> after_;
  wire::Context context_;
  wire::ServerSocket socket_;
  std::uint64_t sent_ = 0;
  std::string newest_;  // who has said hello last
  std::string state_;
  std::mutex mutex_;
  std::vector<wire::Body> said_;
  std::string heard_state_;
  int heard_states_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> gradient_floats_ = 0;
  std::deque<wire::Gradient> gradients_;
  std::counting_semaphore<> heard_gradients_{0};
  std::atomic<std::uint64_t> fetches_ = 0;
  std::thread thread_;
};

}  // namespace starling::actors
