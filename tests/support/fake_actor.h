// A scripted peer of the learner over a real socket.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "wire/socket.h"

namespace starling {

class FakeActor {
 public:
  static constexpr std::int64_t kPatienceMs = 20'000;  // a test has failed if nothing came by then

  FakeActor(const std::string& endpoint, std::size_t floats,
            const std::optional<wire::Credentials>& keys = {})
      : socket_(context_, endpoint,
                keys ? wire::SocketOptions{.max_elements = floats,
                                           .keys = keys->own,
                                           .server_key = keys->server_key}
                     : wire::SocketOptions{.max_elements = floats}),
        floats_(floats) {}

  // Joins and takes over the identity in the welcome.
  void Join(std::int64_t slot = -1) {
    const wire::Hello hello{.slot = slot, .host = "test", .pid = 1};
    Send(hello);
    confirm_ = hello;  // if the learner asks, because the slot is taken
    ASSERT_TRUE(Wait(wire::Kind::kWelcome)) << "no welcome";
    confirm_.reset();
  }

  // A gradient whose every value is `value`, under `grant`, based on its version.
  void Push(const wire::Grant& grant, float value, std::uint32_t samples = 4) {
    Push(grant, grant.version, std::vector<float>(floats_, value), samples);
  }
  void Push(const wire::Grant& grant, std::uint64_t base, const std::vector<float>& values,
            std::uint32_t samples = 4) {
    header.version = base;
    Send(
        wire::Gradient{
            .grant = grant.number, .weights = wants_weights ? 1u : 0u, .samples = samples},
        values);
  }

  void Send(const wire::Body& body, std::span<const float> tensor = {}) {
    ++header.sequence;
    if (tensor.empty()) return SendFrames(wire::Encode(header, body));
    const auto values = std::make_shared<float[]>(tensor.size());
    std::ranges::copy(tensor, values.get());
    SendFrames(wire::Encode(header, body, wire::SharedTensor(values, tensor.size(), sends)));
  }
  void SendFrames(const wire::Frames& frames) {
    const std::int64_t end = clock_.NowMs() + kPatienceMs;
    while (!socket_.Send(frames)) {
      ASSERT_LT(clock_.NowMs(), end) << "could not send";
      std::array<wire::PollItem, 1> item{{{.socket = &socket_, .want_writable = true}}};
      wire::Poll(item, 20);
    }
  }

  // The next answer; other messages before it are ignored.
  wire::Answer NextAnswer() {
    const auto message = Wait(wire::Kind::kAnswer);
    EXPECT_TRUE(message) << "no answer";
    return message ? std::get<wire::Answer>(message->body) : wire::Answer{};
  }
  // The outcome of the next gradient that is answered; grants with it are kept for NextGrant.
  wire::GradientOutcome NextOutcome() {
    while (next_outcomes_.empty() && !testing::Test::HasFailure()) {
      Keep(NextAnswer());
    }
    if (next_outcomes_.empty()) return {};
    const wire::GradientOutcome next = next_outcomes_.front();
    next_outcomes_.pop_front();
    return next;
  }
  // The learner's farewell.
  wire::Leave NextLeave() {
    const auto message = Wait(wire::Kind::kLeave);
    EXPECT_TRUE(message) << "no leave";
    return message ? std::get<wire::Leave>(message->body) : wire::Leave{};
  }
  // The next grant; the outcomes that came before it or with it are kept in `outcomes`.
  wire::Grant NextGrant() {
    while (grants_.empty() && !testing::Test::HasFailure()) {
      const wire::Answer answer = NextAnswer();
      for (const auto& one : answer.outcomes) outcomes.push_back(one.outcome);
      grants_.insert(grants_.end(), answer.grants.begin(), answer.grants.end());
    }
    if (grants_.empty()) return {};
    const wire::Grant grant = grants_.front();
    grants_.pop_front();
    return grant;
  }

  struct Heard {
    wire::Header header;
    wire::Body body;
    std::vector<float> tensor;
  };
  // The next message of `kind`; beats while it waits, and keeps the outcomes and grants that come
  // before it. Nothing after kPatienceMs.
  std::optional<Heard> Wait(wire::Kind kind) {
    const std::int64_t end = clock_.NowMs() + kPatienceMs;
    while (clock_.NowMs() < end) {
      if (auto heard = TryReceive()) {
        if (heard->header.kind == kind) return heard;
        if (const auto* answer = std::get_if<wire::Answer>(&heard->body)) Keep(*answer);
        continue;
      }
      std::array<wire::PollItem, 1> item{{{.socket = &socket_}}};
      if (!wire::Poll(item, 100) && beats) Beat();
    }
    return std::nullopt;
  }
  void Beat() {
    if (header.incarnation != 0) socket_.Send(wire::Encode(header, wire::Heartbeat{}));
  }
  // Returns when every message that was sent before is handled.
  void Synchronize() {
    Send(wire::Heartbeat{});
    ASSERT_TRUE(Wait(wire::Kind::kHeartbeat)) << "no heartbeat";
  }
  // Synchronizes until `condition` holds; false if that takes too long.
  template <class Condition>
  bool Await(const Condition& condition) {
    for (const std::int64_t end = clock_.NowMs() + kPatienceMs; clock_.NowMs() < end;) {
      if (condition()) return true;
      Synchronize();
    }
    return false;
  }

  wire::Header header;  // slot, incarnation, term, session and fingerprint are the welcome's
  wire::Welcome welcome;
  std::vector<wire::Outcome> outcomes;
  bool beats = true;
  bool wants_weights = false;  // behind the grants that answer its gradients
  wire::ElementType sends = wire::ElementType::kF32, receives = wire::ElementType::kF32;

 private:
  void Keep(const wire::Answer& answer) {
    next_outcomes_.insert(next_outcomes_.end(), answer.outcomes.begin(), answer.outcomes.end());
    grants_.insert(grants_.end(), answer.grants.begin(), answer.grants.end());
  }
  std::optional<Heard> TryReceive() {
    wire::Envelope envelope;
    if (!socket_.Receive(envelope)) return std::nullopt;
    const auto decoded = wire::Decode(envelope.frames(), floats_, receives);
    EXPECT_TRUE(decoded) << wire::RefusalName(decoded.refusal);
    Heard heard{decoded.message.header, decoded.message.body, {}};
    if (heard.header.count > 0) {
      heard.tensor.resize(heard.header.count);
      decoded.message.CopyTo(heard.tensor);
    }
    if (confirm_ && std::holds_alternative<wire::Heartbeat>(heard.body)) Send(*confirm_);
    // A welcome gives this actor its identity.
    if (const auto* body = std::get_if<wire::Welcome>(&heard.body)) {
      welcome = *body;
      header.slot = heard.header.slot;
      header.incarnation = heard.header.incarnation;
      header.term = heard.header.term;
      header.session = heard.header.session;
      header.fingerprint = heard.header.fingerprint;
    }
    return heard;
  }

  SteadyClock clock_;
  wire::Context context_;
  wire::ClientSocket socket_;
  const std::size_t floats_;
  std::optional<wire::Hello> confirm_;
  std::deque<wire::Grant> grants_;
  std::deque<wire::GradientOutcome> next_outcomes_;
};

}  // namespace starling
