#include "learner/storage/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "learner/storage/checkpoint_format.h"

namespace starling::learner {
namespace {

constexpr std::string_view kFormat = "starling.checkpoint.1";
constexpr std::string_view kStatePrefix = "optimizer.";

std::string StateName(const std::string& slot, const std::string& parameter) {
  return fmt::format("{}{}.{}", kStatePrefix, slot, parameter);
}

// Returns the values of `parameter` in `flat`.
std::span<const float> Slice(const std::vector<float>& flat, const net::Parameter& parameter) {
  return std::span(flat).subspan(parameter.offset, parameter.size);
}

std::vector<std::uint64_t> Shape(const net::Parameter& parameter) {
  return {parameter.shape.begin(), parameter.shape.end()};
}

// Returns the layout of the parameters in `file`. Their order in the file gives the offsets.
net::ParameterLayout RebuildLayout(const SafetensorsFile& file, const std::string& path,
                                   std::uint64_t fingerprint) {
  net::ParameterLayout layout;
  for (const std::string& name : file.names()) {
    if (name.starts_with(kStatePrefix)) continue;
    const std::vector<std::uint64_t>& shape = file.Shape(name);
    if (std::ranges::find(shape, 0u) != shape.end()) {
      throw std::runtime_error(fmt::format("{}: tensor {} has a dimension of 0", path, name));
    }
    layout.Add(name, {shape.begin(), shape.end()});
  }
  if (layout.fingerprint() != fingerprint) {
    throw std::runtime_error(
        fmt::format("{}: the fingerprint of its tensors is {:016x}, its metadata has {:016x}", path,
                    layout.fingerprint(), fingerprint));
  }
  return layout;
}

// Returns the flat vector of one tensor per parameter; the gaps between them are zero.
template <class NameOf>
std::vector<float> Gather(const SafetensorsFile& file, const std::string& path,
                          const net::ParameterLayout& layout, const NameOf& name_of) {
  std::vector<float> flat(layout.size(), 0.0f);
  for (const net::Parameter& parameter : layout.parameters()) {
    const std::string name = name_of(parameter);
    const std::vector<float> values = file.F32(name);
    if (values.size() != parameter.size) {
      throw std::runtime_error(fmt::format("{}: tensor {} has {} values, the net needs {}", path,
                                           name, values.size(), parameter.size));
    }
    std::ranges::copy(values, flat.begin() + static_cast<std::ptrdiff_t>(parameter.offset));
  }
  return flat;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

}  // namespace

TrainingState CutOut(TrainingState whole, wire::Slice slice) {
  const auto cut = [slice](std::vector<float>& floats) {
    if (slice.size == floats.size()) return;
    const auto begin = floats.begin() + static_cast<std::ptrdiff_t>(slice.begin);
    floats = std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(slice.size));
  };
  cut(whole.weights);
  for (std::vector<float>& slot : whole.optimizer_state) cut(slot);
  return whole;
}

// ---- metadata

const std::string& Metadata::Text(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    throw std::runtime_error(fmt::format("{} is not a checkpoint: it has no \"{}\"", path_, key));
  }
  return found->second;
}

std::uint64_t Metadata::Number(const std::string& key, int base) const {
  const std::optional<std::uint64_t> value = ParseNumber(Text(key), base);
  if (!value) {
    throw std::runtime_error(
        fmt::format("{}: \"{}\" is \"{}\", not a number", path_, key, Text(key)));
  }
  return *value;
}

std::uint32_t Metadata::Number32(const std::string& key) const {
  const std::uint64_t value = Number(key);
  if (value > UINT32_MAX) {
    throw std::runtime_error(fmt::format("{}: the {} {} is out of range", path_, key, value));
  }
  return static_cast<std::uint32_t>(value);
}

std::map<std::string, std::string> MetadataOf(const Checkpoint& checkpoint,
                                              std::string_view format) {
  return {
      {"format", std::string(format)},
      {"term", std::to_string(checkpoint.term)},
      {"version", std::to_string(checkpoint.version)},
      {"steps", std::to_string(checkpoint.steps)},
      {"optimizer_step", std::to_string(checkpoint.optimizer_step)},
      {"optimizer_slots", Join(checkpoint.slot_names)},
      {"journal_term", std::to_string(checkpoint.journal.term)},
      {"journal_segment", std::to_string(checkpoint.journal.segment)},
      {"journal_offset", std::to_string(checkpoint.journal.offset)},
      {"journal_whole", checkpoint.journal_whole ? "1" : "0"},
      {"fingerprint", fmt::format("{:016x}", checkpoint.layout.fingerprint())},
      {"config", checkpoint.config},
      {"spaces", checkpoint.spaces},
      {"counters", checkpoint.counters},
  };
}

JournalPosition JournalOf(const Metadata& metadata) {
  JournalPosition position{.offset = metadata.Number("journal_offset")};
  if (metadata.Has("journal_term")) {  // else of an older program, whose journal is one file
    position.term = metadata.Number32("journal_term");
    position.segment = metadata.Number32("journal_segment");
  }
  return position;
}

Checkpoint FromMetadata(const Metadata& metadata, const std::string& path,
                        std::string_view format) {
  if (metadata.Text("format") != format) {
    throw std::runtime_error(fmt::format("{} has the format \"{}\"; this program reads \"{}\"",
                                         path, metadata.Text("format"), format));
  }
  Checkpoint checkpoint;
  checkpoint.term = metadata.Number32("term");
  checkpoint.version = metadata.Number("version");
  checkpoint.steps = metadata.Number("steps");
  checkpoint.optimizer_step = metadata.Number("optimizer_step");
  checkpoint.journal = JournalOf(metadata);
  checkpoint.journal_whole =
      !metadata.Has("journal_whole") || metadata.Number("journal_whole") == 1;
  checkpoint.slot_names = Split(metadata.Text("optimizer_slots"));
  checkpoint.config = metadata.Text("config");
  if (metadata.Has("spaces")) checkpoint.spaces = metadata.Text("spaces");
  checkpoint.counters = metadata.Text("counters");
  return checkpoint;
}

// ---- files

std::string CheckpointName(std::uint32_t term, std::uint64_t version) {
  return CheckpointStem(term, version) + std::string(kCheckpointSuffix);
}

std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir,
                                      const Checkpoint& checkpoint, WriteProgress* progress) {
  return WriteCheckpoint(dir, CheckpointName(checkpoint.term, checkpoint.version), checkpoint,
                         progress);
}

std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir, std::string_view name,
                                      const Checkpoint& checkpoint, WriteProgress* progress) {
  const net::ParameterLayout& layout = checkpoint.layout;
  CHECK(checkpoint.weights.size() == layout.size(), "{} weights", checkpoint.weights.size());
  CHECK(checkpoint.optimizer_state.size() == checkpoint.slot_names.size(), "{} slots",
        checkpoint.optimizer_state.size());
  // 1. The weights, then the optimizer state: readers rebuild the layout from this order.
  std::vector<TensorView> tensors;
  for (const net::Parameter& parameter : layout.parameters()) {
    tensors.push_back(
        ViewF32(parameter.name, Shape(parameter), Slice(checkpoint.weights, parameter)));
  }
  for (std::size_t slot = 0; slot < checkpoint.optimizer_state.size(); ++slot) {
    CHECK(checkpoint.optimizer_state[slot].size() == layout.size(), "slot of {}",
          checkpoint.optimizer_state[slot].size());
    for (const net::Parameter& parameter : layout.parameters()) {
      tensors.push_back(ViewF32(StateName(checkpoint.slot_names[slot], parameter.name),
                                Shape(parameter),
                                Slice(checkpoint.optimizer_state[slot], parameter)));
    }
  }
  // 2. WriteSafetensors renames a synced temporary file. The states come first: a checkpoint that
  //    has them is a cut from its first moment on.
  if (!std::filesystem::exists(dir)) CreateDirectories(dir);
  const std::filesystem::path path = dir / name;
  if (checkpoint.actors) WriteActorStates(ActorStatesPath(path), *checkpoint.actors);
  try {
    WriteSafetensors(path, tensors, MetadataOf(checkpoint, kFormat), progress);
  } catch (...) {  // alone, the states only fill the disk
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      std::filesystem::remove(ActorStatesPath(path), ignored);
    }
    throw;
  }
  return path;
}

Checkpoint ReadCheckpoint(const std::filesystem::path& file_path) {
  if (std::filesystem::is_directory(file_path)) return ReadCheckpointParts(file_path);
  const std::string path = file_path.string();
  const SafetensorsFile file = SafetensorsFile::Read(file_path);
  const Metadata metadata(file.metadata(), path);
  Checkpoint checkpoint = FromMetadata(metadata, path, kFormat);
  checkpoint.layout = RebuildLayout(file, path, metadata.Number("fingerprint", 16));
  const net::ParameterLayout& layout = checkpoint.layout;
  checkpoint.weights = Gather(file, path, layout, [](const auto& p) { return p.name; });
  for (const std::string& slot : checkpoint.slot_names) {
    checkpoint.optimizer_state.push_back(
        Gather(file, path, layout, [&](const auto& p) { return StateName(slot, p.name); }));
  }
  return checkpoint;
}

}  // namespace starling::learner
