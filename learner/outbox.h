// Sends the learner's messages to actors: one header for all of them.
//
// Answers wait in their member until SendAnswers, so that all answers of one turn of the loop that
// go to one member travel in one message. If the queue of its connection is full they wait there
// for the next turn: an actor that lets its queue fill up is not lost, only slow.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "learner/engine.h"
#include "wire/codec.h"
#include "wire/socket.h"

namespace starling::learner {

class Outbox {
 public:
  using Deliver =
      std::function<wire::SendStatus(const std::string& peer, const wire::Frames& frames)>;

  Outbox(const Engine& engine, Deliver deliver) : engine_(engine), deliver_(std::move(deliver)) {}

  // ---- at once; what does not fit into the queue of the connection is dropped

  // To a member; the header carries the newest version.
  wire::SendStatus Send(const Member& member, const wire::Body& body) {
    return Send(member.peer, &member, body, {}, engine_.published());
  }
  // To a connection that has no member.
  wire::SendStatus Send(const std::string& peer, const wire::Body& body) {
    return Send(peer, nullptr, body, {}, engine_.published());
  }
  // Weights of `version`.
  wire::SendStatus SendTensor(const Member& member, const wire::Body& body,
                              const wire::SharedTensor& tensor, std::uint64_t version) {
    return Send(member.peer, &member, body, tensor, version);
  }

  // ---- answers

  // Adds to what the next SendAnswers sends to `member`.
  void Add(Member& member, const wire::Answer& more);

  struct Sent {
    std::vector<std::uint32_t> want_weights;  // slots whose answers say that weights follow
    // Slots that never get their answers, and why: they must join again.
    std::vector<std::pair<std::uint32_t, const char*>> lost;
  };
  // Sends every member in `roster` its waiting answer. One with grants says that weights follow if
  // the member wants them. Costs a message for each; members without an answer cost nothing.
  Sent SendAnswers(Roster& roster);
  // An answer waits for room in the queue of its connection.
  bool waiting() const { return !waiting_.empty(); }

 private:
  wire::SendStatus Send(const std::string& peer, const Member* member, const wire::Body& body,
                        const wire::SharedTensor& tensor, std::uint64_t version);

  const Engine& engine_;
  const Deliver deliver_;
  std::uint64_t sent_ = 0;  // messages
  // Slots with answers to send. A slot may be listed twice, or have no member any more.
  std::vector<std::uint32_t> waiting_;
};

}  // namespace starling::learner
