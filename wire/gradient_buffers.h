// Gradients in shared memory, for an actor on the learner's host: a few buffers for one incarnation
// of one actor. The actor computes a gradient where the learner reads it, so nothing is copied; the
// message that pushes it names the buffer.
//
// A buffer belongs to the actor until the push, and to the learner from then until the answer. The
// learner creates the file in the run's private directory (wire/runtime_dir.h) and removes it when
// the actor leaves. The learner checks the values only once: an actor, a process of the same user
// on the same machine, is trusted not to write into a pushed buffer and not to shrink the file.
//
// Thread safety: none; one thread on each side, except that any thread may read lent values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/held_tensor.h"
#include "wire/shared_memory.h"

namespace starling::wire {

// The learner's end.
class GradientBuffers {
 public:
  // `count` buffers of `floats` floats (a multiple of 16, CHECKed). Throws UserError naming the
  // path if there is not enough memory. The file lives as long as the object, the memory until the
  // last loan ends.
  GradientBuffers(const std::filesystem::path& path, std::size_t count, std::size_t floats);
  ~GradientBuffers();
  GradientBuffers(const GradientBuffers&) = delete;
  GradientBuffers& operator=(const GradientBuffers&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Returns the gradient in buffer `index`, which is lent to the learner as long as `hold` lives;
  // nullopt if there is no such buffer, or if it is lent already.
  std::optional<HeldTensor> Lend(std::size_t index);

 private:
  const std::filesystem::path path_;
  const std::size_t floats_;
  std::shared_ptr<SharedMemory> memory_;
  std::vector<std::weak_ptr<const void>> lent_;
};

// The actor's end.
class GradientBuffersClient {
 public:
  // Throws std::runtime_error naming the path and the defect.
  GradientBuffersClient(const std::filesystem::path& path, std::size_t floats);

  // Returns a buffer that belongs to the actor, or nullopt.
  std::optional<std::size_t> Free() const;
  std::span<float> floats(std::size_t index) const;

  // Buffer `index` belongs to the learner after message `sequence` (> 0) pushed it, and to the
  // actor again after the answer to that message.
  void Pushed(std::size_t index, std::uint64_t sequence);
  void Answered(std::uint64_t sequence);

 private:
  std::shared_ptr<SharedMemory> memory_;
  std::size_t floats_;
  std::vector<std::uint64_t> pushed_;  // the message that pushed each; 0: it is the actor's
};

}  // namespace starling::wire
