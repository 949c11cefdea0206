// The run in TensorBoard: for every line of metrics.jsonl one point in each chart.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/tensorboard.h"
#include "learner/run_status.h"

namespace starling::learner {

// The totals of a line; the speed is their change between two lines.
struct LineTotals {
  std::uint64_t steps = 0, updates = 0;
  double seconds = 0;
};

// Returns the points of a line, without those that have no finite number. The speed is that since
// `before`; there is none if no time has passed.
std::vector<Scalar> ScalarsOf(const RunStatus& status, const LineTotals& before);

class TensorBoardLog {
 public:
  // Writes to run_dir/tensorboard if `wanted`, for a learner that starts at `steps`. A failure, now
  // or later, is logged once.
  TensorBoardLog(bool wanted, const std::filesystem::path& run_dir, std::uint64_t steps);

  // Does nothing if no step was made since the last line: then there is no new gradient to report.
  void Show(const RunStatus& status);

 private:
  std::optional<EventFile> events_;
  LineTotals before_;
  bool error_reported_ = false;
};

}  // namespace starling::learner
