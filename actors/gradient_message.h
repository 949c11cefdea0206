// A gradient on its way to the learner: the memory of its values and the message that describes it.
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "actors/rollout.h"
#include "wire/codec.h"
#include "wire/gradient_buffers.h"

namespace starling::actors {

// The memory for an actor's gradients: shared with the learner, so that nothing is copied, or its
// own, from which they are sent.
class GradientSpace {
 public:
  // Gradients have `floats` floats. `shared` is the learner's file, "" if there is none; if it
  // cannot be opened, gradients are sent as elements of `type`, which is slower.
  void Open(const std::string& shared, std::size_t floats, wire::ElementType type);

  // Returns the memory for the next gradient.
  std::span<float> Next();
  // The learner's buffer that Next returned, from 1; 0: none, the gradient must be sent.
  std::uint32_t buffer() const { return static_cast<std::uint32_t>(buffer_ ? *buffer_ + 1 : 0); }
  // Returns the values to send with the message: none if they are in the learner's buffer.
  wire::SharedTensor TakeUnshared();
  // The same for a gradient whose slices go to several shards. REQUIRES: the space is not shared.
  std::shared_ptr<const float[]> TakeValues() { return std::move(unshared_); }

  // The gradient was sent in message `sequence`; message `sequence` was answered.
  void Pushed(std::uint64_t sequence);
  void Answered(std::uint64_t sequence);

 private:
  std::size_t floats_ = 0;
  wire::ElementType type_ = wire::ElementType::kF32;
  std::optional<wire::GradientBuffersClient> buffers_;
  std::optional<std::size_t> buffer_;  // of the next gradient; nullopt: it is sent
  std::shared_ptr<float[]> unshared_;
};

// Describes `gradient`, without its grant, its buffer and the times of the wire.
wire::Gradient GradientMessage(const RolloutGradient& gradient, const RolloutEpisodes& episodes);

}  // namespace starling::actors
