#include "learner/storage/actor_states.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/file.h"
#include "learner/storage/checkpoint_format.h"

namespace starling::learner {

void ActorState::Fields(StateBytes& bytes) {
  bytes(slot), bytes(incarnation), bytes(life);
  bytes.Bytes(state);
}

void ActorStates::Fields(StateBytes& bytes) {
  bytes.Tag("ACTR");
  bytes(base);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lives(begun.begin(), begun.end());
  bytes.List(lives, [&](auto& life) { bytes(life.first), bytes(life.second); });
  begun = {lives.begin(), lives.end()};
  bytes.List(actors, [&](ActorState& actor) { bytes(actor); });
}

std::filesystem::path ActorStatesPath(const std::filesystem::path& checkpoint) {
  std::string name = checkpoint.filename().string();
  if (name.ends_with(kCheckpointSuffix)) name.resize(name.size() - kCheckpointSuffix.size());
  return checkpoint.parent_path() / (name + std::string(kActorsSuffix));
}

void WriteActorStates(const std::filesystem::path& path, const ActorStates& states) {
  std::vector<std::byte> bytes;
  ActorStates copy = states;  // one list of fields serves both directions
  SaveState(copy, bytes);
  WriteFileAtomically(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

ActorStates ReadActorStates(const std::filesystem::path& path) {
  const std::string content = ReadFile(path);
  ActorStates states;
  try {
    RestoreState(states, std::as_bytes(std::span(content)));
  } catch (const StateError& error) {
    throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
  }
  return states;
}

}  // namespace starling::learner
