#include "learner/shards/gradient_slices.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace starling::learner {

void GradientAssembler::Arrived(wire::Envelope envelope, const wire::Message& message) {
  const wire::Header& header = message.header;
  const auto at = waiting_.try_emplace({header.slot, header.incarnation, header.sequence}).first;
  at->second.arrived = {.envelope = std::move(envelope), .message = message};
  MoveIfWhole(at);
}

void GradientAssembler::Reported(const GradientName& name, std::size_t shard, double norm) {
  const auto at = waiting_.try_emplace(name).first;
  at->second.squares.emplace(shard, norm * norm);
  MoveIfWhole(at);
}

void GradientAssembler::MoveIfWhole(std::map<GradientName, Waiting>::iterator at) {
  Waiting& waiting = at->second;
  if (!waiting.arrived || waiting.squares.size() < others_) return;
  for (const auto& [shard, square] : waiting.squares) waiting.arrived->other_square += square;
  whole_.push_back(*std::move(waiting.arrived));
  waiting_.erase(at);
}

std::optional<GradientAssembler::Whole> GradientAssembler::TakeWhole() {
  if (whole_.empty()) return std::nullopt;
  Whole whole = std::move(whole_.front());
  whole_.pop_front();
  return whole;
}

std::size_t GradientAssembler::waiting(std::uint32_t slot, std::uint32_t incarnation) const {
  return static_cast<std::size_t>(
      std::distance(waiting_.lower_bound({slot, incarnation, 0}),
                    waiting_.upper_bound({slot, incarnation, UINT64_MAX})));
}

std::vector<GradientAssembler::Slice> GradientAssembler::Discard(std::uint32_t slot,
                                                                 std::uint32_t incarnation) {
  std::vector<Slice> held;
  const auto begin = waiting_.lower_bound({slot, incarnation, 0});
  const auto end = waiting_.upper_bound({slot, incarnation, UINT64_MAX});
  for (auto at = begin; at != end; ++at) {
    for (const auto& [shard, square] : at->second.squares) held.push_back({at->first, shard});
  }
  waiting_.erase(begin, end);
  return held;
}

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
