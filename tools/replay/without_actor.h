// The journal of a run as it would read if one actor had been killed after a version, and nothing
// else had changed: the other actors' gradients come in the same order, and each is computed on the
// version that was the newest for it then. Fewer updates, so versions have smaller numbers, steps
// are fewer, and schedules follow those.
//
// Invariant: a gradient's staleness is at most that in the run.
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "learner/apply/schedule.h"
#include "learner/storage/journal.h"
#include "tools/replay/beginning.h"

namespace starling::replay {

class WithoutActor {
 public:
  // `slot` is killed after version `after`, which is not before that of `beginning`.
  WithoutActor(const Config& config, std::uint32_t slot, std::uint64_t after,
               const Beginning& beginning);

  // Returns the records before the first one: the death, if the actor lives at the beginning.
  std::vector<learner::JournalRecord> Begin();
  // Returns what takes the place of the next record of the run: nothing, or it, as it was or
  // changed; after version `after` also the death.
  std::vector<learner::JournalRecord> Rewrite(const learner::JournalRecord& record);

  // So far: the branch's version, and the number of the actor's gradients that are left out of
  // updates.
  std::uint64_t version() const { return version_; }
  std::uint64_t left_out() const { return left_out_; }
  // The run's first version after `after` whose step is not that of the configuration: the run was
  // resumed with other settings, and the schedules of the branch are not known. 0: none so far.
  std::uint64_t other_schedule() const { return other_schedule_; }

 private:
  using Actor = std::pair<std::uint32_t, std::uint32_t>;                // slot, incarnation
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // and sequence
  struct Held {
    std::uint64_t base = 0, base_of_run = 0, samples = 0, steps = 0;
    bool left_out = false;
  };
  // The gradients of an update, and its step by the configuration.
  struct Step {
    std::vector<learner::Contribution> contributions{};
    std::uint64_t samples = 0, steps = 0;
    void Add(const Held& gradient, std::uint64_t staleness);
    void Write(const Config& config, std::uint64_t steps_before,
               learner::UpdateRecord& update) const;
  };

  std::vector<learner::JournalRecord> Kill();
  void Follow(const learner::JournalRecord& record);
  void Hold(const learner::ArrivalRecord& arrival);
  std::vector<learner::JournalRecord> Changed(learner::JournalRecord record);
  std::vector<learner::JournalRecord> ChangedUpdate(const learner::UpdateRecord& update);
  std::uint64_t NewVersion(std::uint64_t version) const;

  const Config config_;
  const std::uint32_t slot_;
  const std::uint64_t after_;
  bool killed_ = false;
  std::optional<std::uint32_t> incarnation_;  // of the actor, while it lives
  std::uint64_t version_, steps_, steps_of_run_, left_out_ = 0, other_schedule_ = 0;
  std::vector<std::uint64_t> gone_;  // versions of the run whose update is left out
  std::map<Key, Held> held_;
  std::map<Actor, bool> counted_;  // whether the steps of its last unroll came with a gradient
};

}  // namespace starling::replay
