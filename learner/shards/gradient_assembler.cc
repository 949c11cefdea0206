#include "learner/shards/gradient_assembler.h"

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

}  // namespace starling::learner
