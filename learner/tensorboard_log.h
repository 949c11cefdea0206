// What a run shows TensorBoard: for every line of metrics.jsonl a point in each chart.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "core/tensorboard.h"

namespace starling::learner {

// How far a run was at some line: speed is what came between two.
struct Progress {
  double steps = 0, updates = 0;
  double seconds = 0;
};

// The points of one line of metrics.jsonl, without those that it has no number for. Speed is since
// `before`; if no time has passed there is none.
std::vector<Scalar> ScalarsOf(const nlohmann::ordered_json& status, const Progress& before);

class TensorBoardLog {
 public:
  // In run_dir/tensorboard, of a learner that begins at `steps`. What cannot be written, now or later,
  // is said once and training goes on.
  TensorBoardLog(bool wanted, const std::filesystem::path& run_dir, std::uint64_t steps);

  // Nothing if no step was made since the line before: then there is no new gradient to tell of.
  void Show(const nlohmann::ordered_json& status);

 private:
  std::optional<EventFile> events_;
  Progress before_;
  bool trouble_said_ = false;
};

}  // namespace starling::learner
