// The terms of a run: every start of its learner claims the next one before it writes anything.
//
// checkpoints/t0002.term names the checkpoint from which term 2 goes on ("t0001-v000000000100"); it
// is "new" if the run begins. Of two learners on one directory (two hosts, a file system without
// locks) the later one has fenced off the earlier: what that writes from then on does not count.
//
// Thread safety: the functions share nothing but the directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace starling::learner {

// The checkpoint of one version.
struct CheckpointId {
  std::uint32_t term = 0;
  std::uint64_t version = 0;
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

// Claims a term for a learner that goes on from the checkpoint `from`, or begins. It is larger than
// every other in `dir`, and durable on return. Creates `dir`. Throws std::system_error.
std::uint32_t ClaimTerm(const std::filesystem::path& dir, std::optional<CheckpointId> from);

// Returns the newest term that was claimed in `dir` or has a checkpoint there; 0 if there is none.
std::uint32_t NewestTerm(const std::filesystem::path& dir);

// Which checkpoints of a directory are part of the run.
class RunLine {
 public:
  explicit RunLine(const std::filesystem::path& dir);

  // Returns false for a checkpoint that a learner wrote after a later one had taken over.
  bool Holds(CheckpointId checkpoint) const;
  // Returns a sentence about a claim that is damaged, and was passed over; "" if none is.
  const std::string& damaged() const { return damaged_; }

 private:
  std::map<std::uint32_t, std::uint64_t> last_;  // version that counts, by term
  std::uint32_t before_ = UINT32_MAX;            // terms below were not claimed: all of them count
  std::string damaged_;
};

}  // namespace starling::learner
