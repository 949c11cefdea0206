// A run of two actors at bound 0, of which the second may die.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/tools/replay/journalled_run.h"

namespace starling::replay {

struct PairedRun : JournalledRun {
  explicit PairedRun(std::vector<std::string> more = {}) : JournalledRun(With(std::move(more))) {
    BeginTerm();
    Join(0), Join(1);
  }
  // An update with one gradient, of `slot`; `steps` go on from where the caller has set them.
  void UpdateOf(std::uint32_t slot) {
    steps += kSamples;
    Arrive(slot);
    ++now;
    journal->Append(
        learner::UpdateRecord{.version = now,
                              .steps = steps,
                              .lr = 0.05,
                              .scale = 1,
                              .entropy = learner::EntropyCoef(config.loss, config.run.steps, steps),
                              .items = std::exchange(held, {})});
  }
  void TrainAlone(int versions) {
    for (int i = 0; i < versions; ++i) UpdateOf(0);
  }
  std::uint64_t steps = 0;

 private:
  static std::vector<std::string> With(std::vector<std::string> more) {
    more.insert(more.begin(), {"optimizer.lr=0.05", "optimizer.lr_schedule=constant"});
    return more;
  }
};

}  // namespace starling::replay
