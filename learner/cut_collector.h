// The checkpoint of a cut, until the states of all actors are here.
//
// At a cut every actor stands between two unrolls. Each is asked for its state in the answer that
// brings its next grants, so training goes on while the states arrive. If one does not come, the
// checkpoint is written without any: it is no cut.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "learner/roster.h"
#include "learner/storage/checkpoint.h"
#include "wire/protocol.h"

namespace starling::learner {

class CutCollector {
 public:
  // `timeout_ms`: after so long the states that are missing do not come.
  explicit CutCollector(std::int64_t timeout_ms) : timeout_ms_(timeout_ms) {}

  // Begins with the content of a cut, whose `actors` has the states that wait. Returns the slots
  // that must send theirs: members that have sent gradients. REQUIRES: !collecting();
  // content.actors.
  std::vector<std::uint32_t> Begin(CheckpointContent content, const Roster& roster,
                                   std::int64_t now_ms);
  bool collecting() const { return content_.has_value(); }

  // The next part of a member's state at the cut `version`.
  void Add(const Member& member, std::uint64_t version, const wire::State& part);
  // The member of `slot` has left.
  void Leave(std::uint32_t slot);
  // The states that are missing are not waited for any more.
  void GiveUp(std::string why);

  struct Result {
    CheckpointContent content;
    std::string why_no_cut;  // "": it is one
  };
  // Returns the content when every state is here or one will not come; nullopt before.
  std::optional<Result> Take(std::int64_t now_ms);

 private:
  const std::int64_t timeout_ms_;
  std::optional<CheckpointContent> content_;
  std::map<std::uint32_t, ActorState> missing_;  // with the parts that are here, by slot
  std::int64_t deadline_ms_ = 0;
  std::string why_not_;
};

}  // namespace starling::learner
