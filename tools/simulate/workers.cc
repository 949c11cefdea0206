#include "tools/simulate/workers.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "actors/gradient_message.h"
#include "core/check.h"
#include "core/denormals.h"

namespace starling::simulate {
namespace {

Computed RunOnce(actors::Rollout& actor, const Weights& weights) {
  Floats values(weights.values.size);
  std::ranges::copy(weights.values.span(), actor.weights().begin());
  const actors::RolloutGradient gradient = actor.Run(weights.entropy, values.span());
  return {.values = values, .message = actors::GradientMessage(gradient, actor.TakeEpisodes())};
}

}  // namespace

Workers::Workers(const Config& config, std::uint32_t incarnation, int threads)
    : config_(config),
      incarnation_(incarnation),
      pool_(static_cast<std::size_t>(std::max(threads, 1))) {
  for (std::int64_t slot = 0; slot < config.actors.count; ++slot) {
    actors_.push_back({.strand = boost::asio::make_strand(pool_), .rollout = nullptr});
  }
}

Workers::~Workers() {
  pool_.stop();
  pool_.join();
}

std::future<Computed> Workers::Compute(std::uint32_t slot, std::shared_ptr<const Weights> weights) {
  CHECK(slot < actors_.size(), "slot {}", slot);
  std::packaged_task<Computed()> unroll([this, slot, weights = std::move(weights)] {
    FlushDenormals();
    auto& rollout = actors_[slot].rollout;
    if (!rollout) rollout = std::make_unique<actors::Rollout>(config_, slot, incarnation_);
    return RunOnce(*rollout, *weights);
  });
  std::future<Computed> result = unroll.get_future();
  boost::asio::post(actors_[slot].strand, [unroll = std::move(unroll)]() mutable { unroll(); });
  return result;
}

}  // namespace starling::simulate
