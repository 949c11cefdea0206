// The actors at a checkpoint: what its weights lack to be the whole run. They lie in a file beside
// it, "t0001-v000000012345.actors", which is written first and goes with it. A checkpoint with this
// file is a *cut*: training goes on from it to the same bits as if it had never stopped.
//
// Thread safety: the functions share nothing but the directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/state_bytes.h"

namespace starling::learner {

// An actor between two unrolls.
struct ActorState {
  std::uint32_t slot = 0, incarnation = 0;
  std::uint32_t life = 0;          // from it its random streams derive
  std::vector<std::byte> state{};  // actors::Rollout::Save
  friend bool operator==(const ActorState&, const ActorState&) = default;
  void Fields(StateBytes& bytes);
};

// All that learners and replays need of the actors of a run at one moment (learner/lives.h).
struct ActorStates {
  std::uint32_t base = 0;  // term from which the fresh lives of this run's actors derive
  std::map<std::uint32_t, std::uint32_t> begun{};  // by slot: lives so far with a gradient
  std::vector<ActorState> actors{};  // those that have sent a gradient, in order of slots
  friend bool operator==(const ActorStates&, const ActorStates&) = default;
  void Fields(StateBytes& bytes);
};

inline constexpr std::string_view kActorsSuffix = ".actors";

// Returns the path of the states for a checkpoint, which is a file or a directory of parts.
std::filesystem::path ActorStatesPath(const std::filesystem::path& checkpoint);
// Writes them, atomically and synced. Throws std::system_error.
void WriteActorStates(const std::filesystem::path& path, const ActorStates& states);
// Throws std::runtime_error with a sentence that names the file, also if it is missing.
ActorStates ReadActorStates(const std::filesystem::path& path);

}  // namespace starling::learner
