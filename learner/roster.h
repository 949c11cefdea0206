// Who is with us: one member per slot, each life of a slot a new incarnation.
//
// Invariants: a slot has at most one live member. An incarnation is never given twice: its upper
// half is the learner's term, which no two starts of a learner share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wire/gradient_buffers.h"

namespace starling::learner {

struct Member {
  std::uint32_t slot = 0, incarnation = 0;
  std::string peer;        // the connection it speaks through
  bool asked = false;      // for this slot
  std::string key{};       // that it showed when it joined; "" where none is asked for
  std::string key_name{};  // of its owner
  std::string host{};      // and the process there, as it says
  std::uint32_t pid = 0;
  std::int64_t heard_ms = 0;
  std::uint64_t last_sequence = 0;  // of its gradients
  std::uint64_t accepted = 0;       // gradients of this incarnation that were held or applied
  std::uint64_t steps = 0;          // that are in them
  std::uint64_t wait_us = 0;        // for a grant, as they tell
  std::uint64_t version = 0;        // the base of the newest of them
  std::uint64_t staleness = 0;      // of the last that was applied
  std::unique_ptr<wire::GradientBuffers> buffers{};  // null: its gradients bring a tensor
};

class Roster {
 public:
  explicit Roster(std::uint32_t term) : term_(term) {}

  // The slot a newcomer gets: the one it asks for, or with a negative one the lowest free slot.
  std::uint32_t SlotFor(std::int64_t wanted) const;
  // The slot must be free (whoever had it has left).
  Member& Join(std::uint32_t slot, std::string peer);
  void Leave(std::uint32_t slot, std::string why = "");

  Member* Find(std::uint32_t slot);
  Member* FindPeer(const std::string& peer);
  // Slots of the members that were last heard before `ms`.
  std::vector<std::uint32_t> SilentSince(std::int64_t ms) const;

  // At most `most` members, by slot, from where the last call ended, round and round; if that is
  // everybody, from the first.
  std::vector<const Member*> InTurn(std::size_t most);

  const std::map<std::uint32_t, Member>& members() const { return members_; }
  // Why the last member of a slot left, where there is none now; of slots below kRemembered.
  const std::map<std::uint32_t, std::string>& left() const { return left_; }
  std::size_t size() const { return members_.size(); }

 private:
  static constexpr std::uint32_t kRemembered = 1024;  // peers choose their slots

  std::uint32_t term_;
  std::map<std::uint32_t, Member> members_;
  std::map<std::uint32_t, std::string> left_;
  std::map<std::uint32_t, std::uint32_t> lives_;  // incarnations given so far, by slot
  std::uint32_t turn_ = 0;                        // the slot where InTurn goes on
};

}  // namespace starling::learner
