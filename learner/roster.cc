#include "learner/roster.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace starling::learner {

std::uint32_t Roster::SlotFor(std::int64_t wanted) const {
  if (wanted >= 0) return static_cast<std::uint32_t>(wanted);
  std::uint32_t slot = 0;
  while (members_.contains(slot)) ++slot;
  return slot;
}

Member& Roster::Join(std::uint32_t slot, std::string peer) {
  std::uint32_t& lives = slot < kRemembered ? lives_[slot] : lives_of_others_;
  const std::uint32_t incarnation = wire::MakeIncarnation(term_, lives++);
  const auto [at, inserted] = members_.emplace(
      slot, Member{.slot = slot, .incarnation = incarnation, .peer = std::move(peer)});
  CHECK(inserted, "slot {} already has a member", slot);
  left_.erase(slot);
  return at->second;
}

void Roster::Leave(std::uint32_t slot, std::string why) {
  members_.erase(slot);
  if (slot < kRemembered) left_[slot] = std::move(why);
}

Member* Roster::Find(std::uint32_t slot) {
  const auto found = members_.find(slot);
  return found == members_.end() ? nullptr : &found->second;
}

Member* Roster::FindPeer(const std::string& peer) {
  for (auto& [slot, member] : members_) {
    if (member.peer == peer) return &member;
  }
  return nullptr;
}

std::vector<std::uint32_t> Roster::SilentSince(std::int64_t ms) const {
  std::vector<std::uint32_t> silent;
  for (const auto& [slot, member] : members_) {
    if (member.heard_ms < ms) silent.push_back(slot);
  }
  return silent;
}

std::int64_t Roster::HeardFirst(std::int64_t ms) const {
  for (const auto& [slot, member] : members_) ms = std::min(ms, member.heard_ms);
  return ms;
}

std::vector<const Member*> Roster::InTurn(std::size_t most) {
  std::vector<const Member*> turn;
  const std::size_t count = std::min(most, members_.size());
  if (count == members_.size()) turn_ = 0;
  for (auto at = members_.lower_bound(turn_); turn.size() < count; ++at) {
    if (at == members_.end()) at = members_.begin();
    turn.push_back(&at->second);
    turn_ = at->first + 1;
  }
  return turn;
}

}  // namespace starling::learner
