// Decides when a cut is due so that a redo (tools/replay/redo.h) takes no longer than
// checkpoint.redo_s: when one thread would need that long to compute the gradients since the last
// cut again. At most 1 % of the time goes to such cuts: one for which grants were withheld for t
// seconds is followed by another after 100 t at the earliest, and after a second. A checkpoint that
// could not be written is tried again after ten seconds, or these 100 t.
//
// Pure: seconds of one clock are given to it, and do not fall.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

namespace starling::learner {

class RedoPace {
 public:
  explicit RedoPace(double limit_s) : limit_s_(limit_s) {}

  // A gradient was computed in `seconds`.
  void Add(double seconds) { redo_s_ += seconds; }
  // Returns true once for each cut that is due.
  bool Due(double now_s) {
    const bool retry = retry_s_ && now_s >= *retry_s_;
    if (!retry && (redo_s_ <= limit_s_ || now_s < next_s_)) return false;
    next_s_ = std::numeric_limits<double>::infinity();
    retry_s_.reset();
    return true;
  }
  // A checkpoint was not written, or cannot be gone on from.
  void Retry(double now_s) {
    if (!retry_s_) retry_s_ = now_s + std::max(kRetryS, kShare * cost_s_);
  }
  // Grants are withheld.
  void Withheld(double now_s) {
    if (!withheld_s_) withheld_s_ = now_s;
  }
  // A checkpoint was taken; the asked for one, or an earlier one. `cut`: it is one.
  void Saved(double now_s, bool cut) {
    if (cut) redo_s_ = 0;
    cost_s_ = withheld_s_ ? now_s - *withheld_s_ : 0;
    next_s_ = now_s + std::max(kMinGapS, kShare * cost_s_);
    withheld_s_.reset();
    retry_s_.reset();
  }

 private:
  static constexpr double kMinGapS = 1, kShare = 100, kRetryS = 10;

  const double limit_s_;
  double redo_s_ = 0;  // of one thread
  double next_s_ = 0;  // no cut is due before
  double cost_s_ = 0;  // for how long grants were withheld for the last checkpoint
  std::optional<double> withheld_s_;
  std::optional<double> retry_s_;  // the next attempt
};

}  // namespace starling::learner
