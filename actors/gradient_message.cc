#include "actors/gradient_message.h"

#include <exception>
#include <utility>
#include <vector>

#include "core/log.h"

namespace starling::actors {

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

static_assert(envs::kKeptEpisodes == wire::kMaxEpisodes);

wire::Gradient GradientMessage(const RolloutGradient& gradient, const RolloutEpisodes& episodes) {
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
                         .episodes_before = episodes.untold,
                         .episodes_cut = episodes.cut,
                         .envs_replaced = episodes.replaced};
  for (const envs::EpisodeEnd& end : episodes.ended) {
    message.episodes.push_back(
        {.episode_return = end.episode_return, .length = static_cast<std::uint64_t>(end.length)});
  }
  return message;
}

}  // namespace starling::actors
