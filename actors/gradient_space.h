// The memory for an actor's gradients: shared with the learner, so that they are not copied, or its
// own, from which they are sent.
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

#include "wire/codec.h"
#include "wire/gradient_buffers.h"

namespace starling::actors {

class GradientSpace {
 public:
  // Gradients have `floats` floats; `shared` is the learner's file, or "". If it cannot be opened,
  // gradients are sent, which is slower.
  void Open(const std::string& shared, std::size_t floats);
  void Close();

  // Returns space for the next gradient.
  std::span<float> Next();
  // The number of its buffer in shared memory, from 1; 0: not shared, it must be sent.
  std::uint32_t buffer() const { return static_cast<std::uint32_t>(buffer_ ? *buffer_ + 1 : 0); }
  // Returns the complete gradient for sending; empty if it is in shared memory.
  wire::SharedTensor TakeUnshared();
  // The same for a gradient that is sent in slices. REQUIRES: it is not in shared memory.
  std::shared_ptr<const float[]> TakeValues() { return std::move(unshared_); }

  // The gradient was sent with message `sequence`; the learner answered that message.
  void Pushed(std::uint64_t sequence);
  void Answered(std::uint64_t sequence);

 private:
  std::size_t floats_ = 0;
  std::optional<wire::GradientBuffersClient> buffers_;
  std::optional<std::size_t> buffer_;  // of the next gradient; nullopt: it must be sent
  std::shared_ptr<float[]> unshared_;
};

}  // namespace starling::actors
