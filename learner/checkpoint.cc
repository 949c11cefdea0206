#include "learner/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/safetensors.h"
#include "learner/parse_number.h"

namespace starling::learner {
namespace {

constexpr std::string_view kFormat = "starling.checkpoint.1";
constexpr std::string_view kStatePrefix = "optimizer.";

std::string StateName(const std::string& slot, const std::string& parameter) {
  return fmt::format("{}{}.{}", kStatePrefix, slot, parameter);
}

// The part of `flat` that `parameter` names.
std::span<const float> Slice(const std::vector<float>& flat, const net::Parameter& parameter) {
  return std::span(flat).subspan(parameter.offset, parameter.size);
}

std::vector<std::uint64_t> Shape(const net::Parameter& parameter) {
  return {parameter.shape.begin(), parameter.shape.end()};
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

// The metadata of one file, with sentences for what is missing.
class Metadata {
 public:
  Metadata(const SafetensorsFile& file, std::string path)
      : entries_(file.metadata()), path_(std::move(path)) {}

  const std::string& Text(const std::string& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      throw std::runtime_error(fmt::format("{} is no checkpoint: it has no \"{}\"", path_, key));
    }
    return found->second;
  }
  std::uint64_t Number(const std::string& key, int base = 10) const {
    const std::optional<std::uint64_t> value = ParseNumber(Text(key), base);
    if (!value) {
      throw std::runtime_error(
          fmt::format("{}: \"{}\" is \"{}\", not a number", path_, key, Text(key)));
    }
    return *value;
  }

 private:
  const std::map<std::string, std::string>& entries_;
  std::string path_;
};

// Names and shapes in file order give the offsets again.
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
        fmt::format("{}: its tensors make a net of fingerprint {:016x}, it notes {:016x}", path,
                    layout.fingerprint(), fingerprint));
  }
  return layout;
}

// The flat vector from one tensor per parameter; the gaps are zero.
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

}  // namespace

std::string CheckpointName(std::uint32_t term, std::uint64_t version) {
  return fmt::format("t{:04}-v{:012}.safetensors", term, version);
}

std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir,
                                      const Checkpoint& checkpoint) {
  return WriteCheckpoint(dir, CheckpointName(checkpoint.term, checkpoint.version), checkpoint);
}

std::filesystem::path WriteCheckpoint(const std::filesystem::path& dir, std::string_view name,
                                      const Checkpoint& checkpoint) {
  const net::ParameterLayout& layout = checkpoint.layout;
  CHECK(checkpoint.weights.size() == layout.size(), "{} weights", checkpoint.weights.size());
  CHECK(checkpoint.state.size() == checkpoint.slot_names.size(), "{} slots",
        checkpoint.state.size());
  std::vector<TensorView> tensors;
  for (const net::Parameter& parameter : layout.parameters()) {
    tensors.push_back(
        ViewF32(parameter.name, Shape(parameter), Slice(checkpoint.weights, parameter)));
  }
  for (std::size_t slot = 0; slot < checkpoint.state.size(); ++slot) {
    CHECK(checkpoint.state[slot].size() == layout.size(), "slot of {}",
          checkpoint.state[slot].size());
    for (const net::Parameter& parameter : layout.parameters()) {
      tensors.push_back(ViewF32(StateName(checkpoint.slot_names[slot], parameter.name),
                                Shape(parameter), Slice(checkpoint.state[slot], parameter)));
    }
  }
  const std::map<std::string, std::string> metadata = {
      {"format", std::string(kFormat)},
      {"term", std::to_string(checkpoint.term)},
      {"version", std::to_string(checkpoint.version)},
      {"steps", std::to_string(checkpoint.steps)},
      {"optimizer_step", std::to_string(checkpoint.optimizer_step)},
      {"optimizer_slots", Join(checkpoint.slot_names)},
      {"journal_offset", std::to_string(checkpoint.journal_offset)},
      {"fingerprint", fmt::format("{:016x}", layout.fingerprint())},
      {"config", checkpoint.config},
      {"counters", checkpoint.counters},
  };
  std::filesystem::create_directories(dir);
  const std::filesystem::path path = dir / name;
  WriteSafetensors(path, tensors, metadata);
  return path;
}

Checkpoint ReadCheckpoint(const std::filesystem::path& file_path) {
  const std::string path = file_path.string();
  const SafetensorsFile file = SafetensorsFile::Read(file_path);
  const Metadata metadata(file, path);
  if (metadata.Text("format") != kFormat) {
    throw std::runtime_error(fmt::format("{} has the format \"{}\"; this program reads \"{}\"",
                                         path, metadata.Text("format"), kFormat));
  }
  Checkpoint checkpoint;
  const std::uint64_t term = metadata.Number("term");
  if (term > UINT32_MAX) {
    throw std::runtime_error(fmt::format("{}: the term {} is out of range", path, term));
  }
  checkpoint.term = static_cast<std::uint32_t>(term);
  checkpoint.version = metadata.Number("version");
  checkpoint.steps = metadata.Number("steps");
  checkpoint.optimizer_step = metadata.Number("optimizer_step");
  checkpoint.journal_offset = metadata.Number("journal_offset");
  checkpoint.layout = RebuildLayout(file, path, metadata.Number("fingerprint", 16));
  checkpoint.slot_names = Split(metadata.Text("optimizer_slots"));
  checkpoint.config = metadata.Text("config");
  checkpoint.counters = metadata.Text("counters");
  const net::ParameterLayout& layout = checkpoint.layout;
  checkpoint.weights = Gather(file, path, layout, [](const auto& p) { return p.name; });
  for (const std::string& slot : checkpoint.slot_names) {
    checkpoint.state.push_back(
        Gather(file, path, layout, [&](const auto& p) { return StateName(slot, p.name); }));
  }
  return checkpoint;
}

}  // namespace starling::learner
