#include "learner/bulletin.h"

#include <algorithm>

namespace starling::learner {
namespace {

ActorRow RowOf(const Member& member, std::int64_t now_ms) {
  return {.slot = member.slot,
          .alive = true,
          .host = member.host,
          .pid = member.pid,
          .key = member.key_name,
          .version = member.version,
          .lag = member.staleness,
          .gradients = member.accepted,
          .steps = member.steps,
          .wait_s = static_cast<double>(member.wait_us) / 1e6,
          .silent_s = static_cast<double>(now_ms - member.heard_ms) / 1e3};
}

}  // namespace

std::vector<ActorRow> ActorRows(const Roster& roster, std::size_t expected, std::int64_t now_ms) {
  std::vector<ActorRow> rows;
  std::uint64_t next = 0;  // the first slot without a row
  const auto add_missing = [&](std::uint64_t end) {
    for (; next < end && rows.size() < kMaxRows; ++next) {
      const auto slot = static_cast<std::uint32_t>(next);
      const auto left = roster.left().find(slot);
      rows.push_back({.slot = slot, .left = left == roster.left().end() ? "" : left->second});
    }
  };
  for (const auto& [taken, member] : roster.members()) {
    add_missing(std::min<std::uint64_t>(taken, expected));  // the empty slots before this member
    if (rows.size() == kMaxRows) return rows;
    rows.push_back(RowOf(member, now_ms));
    next = std::uint64_t{taken} + 1;
  }
  add_missing(expected);
  return rows;
}

}  // namespace starling::learner
