// Sends the learner's messages to actors: one header for all of them.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "learner/engine.h"
#include "wire/codec.h"

namespace starling::learner {

class Outbox {
 public:
  // Returns false if the peer is gone or does not read (wire::ServerSocket::Send).
  using Deliver = std::function<bool(const std::string& peer, const wire::Frames& frames)>;

  Outbox(const Engine& engine, Deliver deliver) : engine_(engine), deliver_(std::move(deliver)) {}

  // To a member; the header carries the newest version.
  bool Send(const Member& member, const wire::Body& body) {
    return Send(member.peer, &member, body, {}, engine_.published());
  }
  // To a connection that has no member.
  bool Send(const std::string& peer, const wire::Body& body) {
    return Send(peer, nullptr, body, {}, engine_.published());
  }
  // Weights of `version`.
  bool SendTensor(const Member& member, const wire::Body& body, const wire::SharedTensor& tensor,
                  std::uint64_t version) {
    return Send(member.peer, &member, body, tensor, version);
  }

 private:
  bool Send(const std::string& peer, const Member* member, const wire::Body& body,
            const wire::SharedTensor& tensor, std::uint64_t version) {
    const wire::Header header{.slot = member ? member->slot : 0,
                              .incarnation = member ? member->incarnation : 0,
                              .sequence = ++sent_,
                              .term = engine_.term(),
                              .session = engine_.session(),
                              .version = version,
                              .fingerprint = engine_.fingerprint()};
    return deliver_(peer, wire::Encode(header, body, tensor));
  }

  const Engine& engine_;
  const Deliver deliver_;
  std::uint64_t sent_ = 0;  // messages
};

}  // namespace starling::learner
