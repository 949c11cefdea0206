#include "actors/gradient_message.h"

#include <exception>
#include <utility>
#include <vector>

#include "core/log.h"

namespace starling::actors {
namespace {

// Keeps at most wire::kMaxEpisodes, evenly spaced: episodes that end early in an unroll differ from
// later ones.
void KeepWhatFits(std::vector<envs::EpisodeEnd>& ended) {
  const std::size_t all = ended.size(), most = wire::kMaxEpisodes;
  if (all <= most) return;
  static bool warned = false;
  if (!std::exchange(warned, true)) {
    LogWarn("{} episodes ended in one unroll; at most {} of each are counted", all, most);
  }
  for (std::size_t i = 0; i < most; ++i) ended[i] = ended[i * all / most];
  ended.resize(most);
}

}  // namespace

void GradientSpace::Open(const std::string& shared, std::size_t floats, wire::ElementType type) {
  floats_ = floats;
  type_ = type;
  if (shared.empty()) return;
  try {
    buffers_.emplace(shared, floats);
  } catch (const std::exception& error) {
    LogWarn("{}: gradients are sent instead", error.what());
  }
}

std::span<float> GradientSpace::Next() {
  buffer_ = buffers_ ? buffers_->Free() : std::nullopt;
  if (buffer_) return buffers_->floats(*buffer_);
  unshared_ = std::make_shared_for_overwrite<float[]>(floats_);
  return {unshared_.get(), floats_};
}

wire::SharedTensor GradientSpace::TakeUnshared() {
  if (buffer_) return {};
  return {std::move(unshared_), floats_, type_};
}

void GradientSpace::Pushed(std::uint64_t sequence) {
  if (buffer_) buffers_->Pushed(*buffer_, sequence);
}

void GradientSpace::Answered(std::uint64_t sequence) {
  if (buffers_) buffers_->Answered(sequence);
}

wire::Gradient GradientMessage(const RolloutGradient& gradient, RolloutEpisodes episodes) {
  wire::Gradient message{.samples = gradient.samples,
                         .norm = gradient.norm,
                         .policy_loss = gradient.loss.policy_loss,
                         .value_loss = gradient.loss.value_loss,
                         .entropy = gradient.loss.entropy,
                         .kl = gradient.loss.kl,
                         .clipped = gradient.loss.clipped,
                         .act_us = gradient.act_us,
                         .act_wait_us = gradient.act_wait_us,
                         .gradient_us = gradient.gradient_us,
                         .episodes_cut = episodes.cut,
                         .envs_replaced = episodes.replaced};
  KeepWhatFits(episodes.ended);
  for (const envs::EpisodeEnd& end : episodes.ended) {
    message.episodes.push_back(
        {.episode_return = end.episode_return, .length = static_cast<std::uint64_t>(end.length)});
  }
  return message;
}

}  // namespace starling::actors
