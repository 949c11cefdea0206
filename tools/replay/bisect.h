// `starling replay RUN --bisect 'return < 5'`: finds the update from which on an evaluation of the
// weights meets a condition.
//
// A replay goes forward only, so each pass over the range keeps the weights of many versions, and
// the next pass is over the part between two of them: 32 in a pass are five halvings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/replay/replay.h"
#include "tools/replay/replayed_run.h"

namespace starling::replay {

// "return < 5", "return >= 0.5".
struct Condition {
  bool below = false, or_equal = false;
  double limit = 0;
  std::string text{};  // as it was given, on one line

  bool HoldsFor(double mean_return) const;
};
// Throws UserError with the forms that there are.
Condition ParseCondition(const std::string& text);

using WeightsByVersion = std::map<std::uint64_t, std::vector<float>>;

// What a bisection asks for.
struct BisectSources {
  // Replays a part of the run. Returns the weights of these versions, which are ascending.
  std::function<WeightsByVersion(const std::vector<std::uint64_t>& versions)> pass;
  // Evaluates the weights of a version.
  std::function<double(std::uint64_t version, const std::vector<float>& weights)> mean_return;
};

struct Turn {
  std::uint64_t version = 0;     // the condition holds here, and not at the version before
  double before = 0, after = 0;  // mean return at the version before, and here
};
struct BisectResult {
  std::optional<Turn> turn{};
  int passes = 0, evaluations = 0;
  std::string why_not{};  // one sentence if there is no turn
};

// Finds a turn in `range`. The condition must hold at its end. Where it holds at the beginning as
// well (untrained weights), the turn is the last one that the versions of the first pass show. Each
// pass keeps the weights of at most `keep` versions between the two ends. REQUIRES: keep >= 1.
BisectResult Bisect(const Condition& condition, VersionRange range, std::size_t keep,
                    const BisectSources& sources);

// The weights differ from the run's, or records are missing.
class CannotReplay : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Replays a part of the run. Returns the weights of these versions, which are ascending. Throws
// CannotReplay, and UserError as NearestBeginning.
WeightsByVersion WeightsOf(const ReplayedRun& run, const std::vector<std::uint64_t>& versions);

// Returns the exit status: kExitFailed if there is no turn, or as for a mere replay. Throws
// UserError.
int RunBisect(const ReplayOptions& options);

}  // namespace starling::replay
