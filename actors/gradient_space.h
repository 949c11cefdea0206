// Where an actor computes its gradients: in the memory that the learner shares with it, so that nothing
// is copied, or in its own, from where they are sent.
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
  // Gradients have `floats` floats; `shared` is the learner's file, "" if there is none. If it cannot be
  // opened they are sent: slower, but they come.
  void Open(const std::string& shared, std::size_t floats);
  void Close();

  // Room for the next gradient.
  std::span<float> Next();
  // Which of the learner's buffers that is, from 1; 0: none, so it is to be sent.
  std::uint32_t buffer() const { return static_cast<std::uint32_t>(buffer_ ? *buffer_ + 1 : 0); }
  // What is to be sent, now that it is complete: nothing where the learner has it already.
  wire::SharedTensor TakeUnshared();
  // The same where slices of it are sent to several. Only of a space that is not shared.
  std::shared_ptr<const float[]> TakeValues() { return std::move(unshared_); }

  // The gradient went with message `sequence`; the learner has answered one.
  void Pushed(std::uint64_t sequence);
  void Answered(std::uint64_t sequence);

 private:
  std::size_t floats_ = 0;
  std::optional<wire::GradientBuffersClient> buffers_;
  std::optional<std::size_t> buffer_;  // where the next gradient is; nothing: to be sent
  std::shared_ptr<float[]> unshared_;
};

}  // namespace starling::actors
