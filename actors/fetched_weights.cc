#include "actors/fetched_weights.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace starling::actors {

void FetchedWeights::Expect(std::int64_t again_ms) {
  here_.reset();
  again_ms_ = again_ms;
}

void FetchedWeights::Came(wire::Envelope envelope, const wire::Message& message) {
  const auto& body = std::get<wire::Weights>(message.body);
  here_ = {.envelope = std::move(envelope),
           .meta = {.term = message.header.term,
                    .version = message.header.version,
                    .steps = body.steps,
                    .entropy = body.entropy},
           .values = message.floats()};
}

bool FetchedWeights::Take(std::uint64_t version, std::span<float> weights,
                          wire::SnapshotMeta& meta) {
  if (!here_) return false;
  const Here here = *std::exchange(here_, std::nullopt);
  if (here.meta.version < version || here.values.size() != weights.size()) return false;
  again_ms_ = 0;
  std::ranges::copy(here.values, weights.begin());
  meta = here.meta;
  return true;
}

}  // namespace starling::actors
