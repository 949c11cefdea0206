// Where an actor on the learner's host leaves its gradients: a few buffers in shared memory, of one
// life of one actor, so that a gradient is computed where the learner reads it and nothing is
// copied. The message that pushes it only says which buffer it is in.
//
// A buffer is the actor's until it pushes it, and the learner's from then on until it answers. The
// learner makes the file, in the run's private place (wire/runtime_dir.h); it goes with the actor.
// The learner checks the values once: an actor, a process of the same user on the same machine, is
// trusted not to write into a buffer that is not its own any more, nor to shrink the file.
//
// Thread safety: none; on either side one thread, except that anybody may read what is lent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/shared_memory.h"

namespace starling::wire {

// A gradient in a buffer that the actor has lent us, as long as `hold` lives.
struct Loan {
  std::span<const float> values;
  std::shared_ptr<const void> hold;
};

// The learner's end.
class GradientBuffers {
 public:
  // `count` buffers of `floats` floats (a multiple of 16, CHECKed). Throws UserError naming the
  // path if the memory is not there. The file goes with the object, the memory with its last loan.
  GradientBuffers(const std::filesystem::path& path, std::size_t count, std::size_t floats);
  ~GradientBuffers();
  GradientBuffers(const GradientBuffers&) = delete;
  GradientBuffers& operator=(const GradientBuffers&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Nothing if there is no buffer `index`, or if it is lent already.
  std::optional<Loan> Lend(std::size_t index);

 private:
  const std::filesystem::path path_;
  const std::size_t floats_;
  std::shared_ptr<SharedMemory> memory_;
  std::vector<std::weak_ptr<const void>> lent_;
};

// The actor's end.
class GradientBuffersClient {
 public:
  // Throws std::runtime_error naming the path and what is wrong with it.
  GradientBuffersClient(const std::filesystem::path& path, std::size_t floats);

  std::size_t count() const { return pushed_.size(); }

  // A buffer that is ours, or nothing.
  std::optional<std::size_t> Free() const;
  std::span<float> floats(std::size_t index) const;

  // Buffer `index` goes to the learner with message `sequence` (> 0), and comes back with the
  // answer to it.
  void Pushed(std::size_t index, std::uint64_t sequence);
  void Answered(std::uint64_t sequence);

 private:
  std::shared_ptr<SharedMemory> memory_;
  std::size_t floats_;
  std::vector<std::uint64_t> pushed_;  // the message each went with; 0: it is ours
};

}  // namespace starling::wire
