// The roster of a run: one member per slot; every join of a slot opens a new incarnation.
//
// Invariants: a slot has at most one member. No slot uses an incarnation twice in a term
// (wire/protocol.h), and every start of the learner opens a new term.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/gradient_buffers.h"
#include "wire/protocol.h"

namespace starling::learner {

struct Member {
  std::uint32_t slot = 0, incarnation = 0;
  std::string peer;           // identity of its connection
  std::uint32_t life = 0;     // of its random streams (learner/lives.h)
  bool begun = false;         // a gradient of it has arrived: its life has begun
  bool asked = false;         // its hello named this slot
  std::string key{};          // public key it joined with; "" without keys
  std::string key_name{};     // owner of the key
  std::string host{};         // reported by the actor
  std::uint32_t pid = 0;      // reported by the actor; on its host
  std::int64_t heard_ms = 0;  // its last sign of life, by the membership's clock
  // Received over its connection when it was last looked at; nullopt: a message has come since.
  std::optional<std::uint64_t> bytes{};
  std::uint64_t last_sequence = 0;  // its newest gradient
  std::uint64_t accepted = 0;       // gradients of this incarnation that were held
  std::uint64_t steps = 0;          // of envs that count with those
  std::uint64_t unroll = 0;         // the last one whose steps and sums count (Grant)
  std::uint64_t next_use = 0;       // of its unroll: the use of the grant after the last one sent
  std::uint64_t wait_us = 0;        // time it waited for grants, summed over those
  std::uint64_t version = 0;        // base of the newest of them
  std::uint64_t staleness = 0;      // of the last that was applied
  std::string successor{};          // a connection that has asked for this slot once
  bool welcomed = true;             // its welcome was sent; answers wait for that
  wire::Answer unsent{};            // waits to be sent (learner/outbox.h)
  bool wants_weights = false;       // behind its next grant
  bool weights_due = false;         // it waits for a copy of the newest weights
  // nullptr: its gradients come in messages.
  std::unique_ptr<wire::GradientBuffers> buffers{};
};

class Roster {
 public:
  explicit Roster(std::uint32_t term) : term_(term) {}

  // Returns the slot for a new member: `wanted`, or the lowest free slot if that is negative.
  std::uint32_t SlotFor(std::int64_t wanted) const;
  // Adds a member with a new incarnation. REQUIRES: `slot` is free.
  Member& Join(std::uint32_t slot, std::string peer);
  void Leave(std::uint32_t slot, std::string why = "");

  // Return nullptr if there is no such member.
  Member* Find(std::uint32_t slot);
  Member* FindPeer(const std::string& peer);
  // Returns the slots whose member was last heard before `ms`.
  std::vector<std::uint32_t> SilentSince(std::int64_t ms) const;
  // Returns when the member that has been silent longest was last heard; `ms` if there is none.
  std::int64_t HeardFirst(std::int64_t ms) const;

  // Returns at most `most` members in the order of their slots, continuing after the last one of
  // the previous call and wrapping around. If all fit, the list begins at the lowest slot.
  std::vector<const Member*> InTurn(std::size_t most);

  const std::map<std::uint32_t, Member>& members() const { return members_; }
  // For every free slot below kRemembered that had a member: why the last one left.
  const std::map<std::uint32_t, std::string>& left() const { return left_; }
  std::size_t size() const { return members_.size(); }

 private:
  // A peer may ask for any slot, so memory of the past is bounded: by the largest actors.count.
  static constexpr std::uint32_t kRemembered = 1024;

  std::uint32_t term_;
  std::map<std::uint32_t, Member> members_;
  std::map<std::uint32_t, std::string> left_;
  std::map<std::uint32_t, std::uint32_t> lives_;  // incarnations so far, by slot
  std::uint32_t lives_of_others_ = 0;             // of all slots from kRemembered on
  std::uint32_t turn_ = 0;                        // slot at which InTurn continues
};

}  // namespace starling::learner
