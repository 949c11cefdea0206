#include "learner/storage/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>

#include "core/check.h"
#include "core/safetensors.h"
#include "learner/storage/checkpoint_metadata.h"
#include "learner/storage/checkpoint_parts.h"

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
  // 1. The weights, then the optimizer state: readers rebuild the layout from this order.
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
  // 2. WriteSafetensors renames a synced temporary file.
  std::filesystem::create_directories(dir);
  const std::filesystem::path path = dir / name;
  WriteSafetensors(path, tensors, MetadataOf(checkpoint, kFormat));
  return path;
}

Checkpoint ReadCheckpoint(const std::filesystem::path& file_path) {
  if (std::filesystem::is_directory(file_path)) return ReadCheckpointParts(file_path);
  const std::string path = file_path.string();
  const SafetensorsFile file = SafetensorsFile::Read(file_path);
  const Metadata metadata(file, path);
  Checkpoint checkpoint = FromMetadata(metadata, path, kFormat);
  checkpoint.layout = RebuildLayout(file, path, metadata.Number("fingerprint", 16));
  const net::ParameterLayout& layout = checkpoint.layout;
  checkpoint.weights = Gather(file, path, layout, [](const auto& p) { return p.name; });
  for (const std::string& slot : checkpoint.slot_names) {
    checkpoint.state.push_back(
        Gather(file, path, layout, [&](const auto& p) { return StateName(slot, p.name); }));
  }
  return checkpoint;
}

}  // namespace starling::learner
