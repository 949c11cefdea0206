#include "actors/gradient_space.h"

#include <exception>
#include <utility>

#include "core/log.h"

namespace starling::actors {

void GradientSpace::Open(const std::string& shared, std::size_t floats) {
  floats_ = floats;
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
  return {std::move(unshared_), floats_};
}

void GradientSpace::Pushed(std::uint64_t sequence) {
  if (buffer_) buffers_->Pushed(*buffer_, sequence);
}

void GradientSpace::Answered(std::uint64_t sequence) {
  if (buffers_) buffers_->Answered(sequence);
}

}  // namespace starling::actors
