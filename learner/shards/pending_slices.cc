#include "learner/shards/pending_slices.h"

#include <algorithm>
#include <utility>

namespace starling::learner {

std::string PendingSlices::Hold(const GradientName& name, HeldSlice slice) {
  const auto same = held_.find(name);
  const bool twice =
      same != held_.end() &&
      std::ranges::any_of(same->second, [&](const auto& held) { return held.peer == slice.peer; });
  if (twice) return "duplicate";
  std::size_t& count = counts_[slice.peer];
  if (count >= most_) return "too many";
  ++count;
  held_[name].push_back(std::move(slice));
  return "";
}

const HeldSlice* PendingSlices::First(const GradientName& name) const {
  const auto found = held_.find(name);
  return found == held_.end() ? nullptr : &found->second.front();
}

std::optional<HeldSlice> PendingSlices::TakeFirst(const GradientName& name) {
  const auto found = held_.find(name);
  if (found == held_.end()) return std::nullopt;
  HeldSlice first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) held_.erase(found);
  const auto count = counts_.find(first.peer);
  if (--count->second == 0) counts_.erase(count);
  return first;
}

}  // namespace starling::learner
