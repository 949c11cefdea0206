#include "learner/cut_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace starling::learner {

std::vector<std::uint32_t> CutCollector::Begin(CheckpointContent content, const Roster& roster,
                                               std::int64_t now_ms) {
  CHECK(!content_ && content.actors, "version {}", content.state.version);
  content_ = std::move(content);
  deadline_ms_ = now_ms + timeout_ms_;
  why_not_.clear();
  missing_.clear();
  std::vector<std::uint32_t> asked;
  for (const auto& [slot, member] : roster.members()) {
    if (!member.begun) continue;
    missing_[slot] = {.slot = slot, .incarnation = member.incarnation, .life = member.life};
    asked.push_back(slot);
  }
  return asked;
}

void CutCollector::Add(const Member& member, std::uint64_t version, const wire::State& part) {
  // 1. Only what was asked for, in order.
  if (!content_ || version != content_->state.version) return;
  const auto found = missing_.find(member.slot);
  if (found == missing_.end() || found->second.incarnation != member.incarnation) return;
  std::vector<std::byte>& state = found->second.state;
  if (part.total == 0) {
    return GiveUp(fmt::format("actor {} has no state that can be saved", member.slot));
  }
  if (part.total > wire::kMaxStateBytes || part.offset != state.size() ||
      part.bytes.size() > part.total - part.offset) {
    return GiveUp(fmt::format("the state of actor {} came in parts that do not fit", member.slot));
  }
  // 2. The last part completes it.
  const auto* bytes = reinterpret_cast<const std::byte*>(part.bytes.data());
  state.insert(state.end(), bytes, bytes + part.bytes.size());
  if (state.size() < part.total) return;
  content_->actors->actors.push_back(std::move(found->second));
  missing_.erase(found);
}

void CutCollector::Leave(std::uint32_t slot) {
  if (missing_.contains(slot)) GiveUp(fmt::format("actor {} has left without its state", slot));
}

void CutCollector::GiveUp(std::string why) {
  if (content_ && why_not_.empty()) why_not_ = std::move(why);
}

std::optional<CutCollector::Result> CutCollector::Take(std::int64_t now_ms) {
  if (!content_) return std::nullopt;
  if (!missing_.empty() && now_ms >= deadline_ms_) {
    GiveUp(fmt::format("actor {} sent no state within checkpoint.cut_s = {} s",
                       missing_.begin()->first, static_cast<double>(timeout_ms_) / 1000));
  }
  if (!missing_.empty() && why_not_.empty()) return std::nullopt;
  Result result{*std::exchange(content_, std::nullopt), std::exchange(why_not_, {})};
  missing_.clear();
  if (result.why_no_cut.empty()) {
    std::ranges::sort(result.content.actors->actors, {}, &ActorState::slot);
  } else {
    result.content.actors.reset();
  }
  return result;
}

}  // namespace starling::learner
