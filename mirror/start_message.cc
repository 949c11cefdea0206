#include "mirror/start_message.h"

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/state_bytes.h"
#include "core/version.h"

namespace starling::mirror {

namespace {

Bytes BytesOf(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void Text(StateBytes& bytes, std::string& text) {
  Bytes copy = BytesOf(text);
  bytes.Bytes(copy);
  text.assign(reinterpret_cast<const char*>(copy.data()), copy.size());
}

void Floats(StateBytes& bytes, std::vector<float>& floats) {
  std::uint64_t size = floats.size();
  bytes(size);
  if (size != floats.size()) floats.resize(size);
  bytes.Array(std::span(floats));
}

struct Packed {
  StartMessage message;

  void Fields(StateBytes& bytes) {
    bytes.Tag("STRT");
    bytes.Same(BuildLine("starling-rank"), "the program");
    Text(bytes, message.config);
    bytes(message.session), bytes(message.fingerprint), bytes(message.exact), bytes(message.redo);
    learner::TrainingState& state = message.start.state;
    bytes(state.term), bytes(state.version), bytes(state.steps), bytes(state.optimizer_step);
    Floats(bytes, state.weights);
    bytes.List(state.optimizer_state, [&](auto& slot) { Floats(bytes, slot); });
    std::string counters = bytes.reading() ? "" : message.start.counters.Save();
    Text(bytes, counters);
    if (bytes.reading()) message.start.counters = learner::Counters::Restore(counters);
    Text(bytes, message.start.checkpoint);
    bytes(message.start.reached);
    bool states = message.start.actors.has_value();
    bytes(states);
    if (!states) return;
    if (!message.start.actors) message.start.actors.emplace();
    bytes(*message.start.actors);
  }
};

}  // namespace

Bytes Pack(StartMessage message) {
  Packed packed{std::move(message)};
  Bytes bytes;
  SaveState(packed, bytes);
  return bytes;
}

StartMessage UnpackStart(const Bytes& bytes) {
  Packed packed;
  try {
    RestoreState(packed, bytes);
  } catch (const StateError& error) {
    throw std::runtime_error(fmt::format(
        "all ranks need the same program of one build of Starling: what rank 0 has sent is not "
        "understood ({})",
        error.what()));
  }
  return std::move(packed.message);
}

}  // namespace starling::mirror
