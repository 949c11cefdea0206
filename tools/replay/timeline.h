// The updates of a part of a run: who, how stale, how large; and what a replay adds, the losses and
// the returns.
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "tools/replay/replayed_run.h"
#include "tools/replay/run_journal.h"
#include "wire/protocol.h"

namespace starling::replay {

inline constexpr std::size_t kMaxListed = 200'000;  // gradients

struct TimelineUpdate {
  struct Losses {
    double policy = 0, value = 0, entropy = 0;
  };
  UpdateDetails details;
  std::vector<Losses> losses{};   // of its gradients; empty until it is replayed
  std::vector<double> returns{};  // of the episodes that came with them
  std::uint64_t version() const { return details.update.version; }
  bool replayed() const { return !losses.empty(); }
};

class Timeline {
 public:
  // Throws UserError as Updates, if it holds no update of the range, and if that has more than
  // `max_listed` gradients: the sentence names the newest part that has not.
  Timeline(const std::filesystem::path& run_dir, VersionRange range,
           std::size_t max_listed = kMaxListed);

  // What a replay of an update found: its gradients, in the order of the sum.
  void Replayed(std::uint64_t version, const std::vector<wire::Gradient>& gradients);

  // At least one, by version. One follows the one before, unless records between are missing.
  const std::vector<TimelineUpdate>& updates() const { return updates_; }

 private:
  std::vector<TimelineUpdate> updates_;
};

}  // namespace starling::replay
