#include "learner/storage/checkpoint_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/safetensors.h"
#include "wire/slices.h"

namespace starling::learner {
namespace {

constexpr std::string_view kPartFormat = "starling.checkpoint.part.1";
constexpr const char* kWeights = "weights";

std::filesystem::path PartPath(const std::filesystem::path& dir, ShardOf which) {
  return dir / fmt::format("shard-{}-of-{}.safetensors", which.shard, which.shards);
}

std::string StateName(const std::string& slot) { return "optimizer." + slot; }

// Returns a line for each parameter: its name and its dimensions.
std::string DescribeLayout(const net::ParameterLayout& layout) {
  std::string text;
  for (const net::Parameter& parameter : layout.parameters()) {
    text += parameter.name;
    for (const std::int64_t size : parameter.shape) text.append(" ").append(std::to_string(size));
    text += '\n';
  }
  return text;
}

// The inverse of DescribeLayout. Throws std::runtime_error for a malformed line, or if the layout
// does not have the stored fingerprint.
net::ParameterLayout ParseLayout(const Metadata& metadata, const std::string& path) {
  net::ParameterLayout layout;
  std::istringstream lines(metadata.Text("parameters"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::vector<std::int64_t> shape;
    words >> name;
    for (std::int64_t size; words >> size;) shape.push_back(size);
    const bool twice = std::ranges::any_of(layout.parameters(),
                                           [&](const auto& known) { return known.name == name; });
    if (name.empty() || twice || shape.empty() || *std::ranges::min_element(shape) < 1) {
      throw std::runtime_error(fmt::format("{}: \"{}\" is not a parameter", path, line));
    }
    layout.Add(name, shape);
  }
  if (layout.fingerprint() != metadata.Number("fingerprint", 16)) {
    throw std::runtime_error(path + ": its parameters do not match its fingerprint");
  }
  return layout;
}

void CheckSize(const SafetensorsFile& file, const std::string& path, const std::string& name,
               wire::Slice slice) {
  const std::vector<std::uint64_t>& shape = file.Shape(name);
  const std::uint64_t size = shape.size() == 1 ? shape.front() : 0;
  if (size == slice.size) return;
  throw std::runtime_error(
      fmt::format("{}: {} has {} values, not {}", path, name, size, slice.size));
}

// Copies tensor `name` of a part to the place of its slice in `whole`.
void Place(const SafetensorsFile& file, const std::string& path, const std::string& name,
           wire::Slice slice, std::vector<float>& whole) {
  CheckSize(file, path, name, slice);
  const std::vector<float> values = file.F32(name);
  std::ranges::copy(values, whole.begin() + static_cast<std::ptrdiff_t>(slice.begin));
}

// Adds one part to `whole`. REQUIRES: the part of shard 0 is added first; it creates `whole`.
void AddPart(const std::filesystem::path& file_path, ShardOf which, Checkpoint& whole) {
  // 1. The part must be of this shard.
  const std::string path = file_path.string();
  const SafetensorsFile file = SafetensorsFile::Read(file_path);
  const Metadata metadata(file.metadata(), path);
  Checkpoint part = FromMetadata(metadata, path, kPartFormat);
  part.layout = ParseLayout(metadata, path);
  if (metadata.Number("shard") != which.shard || metadata.Number("shards") != which.shards) {
    throw std::runtime_error(path + " is the part of another shard than its name");
  }
  // 2. Check the size before memory for the whole net is taken.
  const wire::Slice slice = wire::CutIntoSlices(part.layout.size(), which.shards)[which.shard];
  CheckSize(file, path, kWeights, slice);
  // 3. All parts must be of the same checkpoint.
  if (which.shard == 0) {
    part.weights.assign(part.layout.size(), 0.0f);
    part.optimizer_state.assign(part.slot_names.size(), part.weights);
    whole = std::move(part);
  } else if (part.term != whole.term || part.version != whole.version ||
             part.layout.fingerprint() != whole.layout.fingerprint() ||
             part.slot_names != whole.slot_names) {
    throw std::runtime_error(path + " is of another checkpoint than the part of shard 0 beside it");
  }
  // 4. Copy its slices.
  Place(file, path, kWeights, slice, whole.weights);
  for (std::size_t i = 0; i < whole.slot_names.size(); ++i) {
    Place(file, path, StateName(whole.slot_names[i]), slice, whole.optimizer_state[i]);
  }
}

// Returns the number of shards, by the name of shard 0's part; 0 if that is missing.
std::size_t CountParts(const std::filesystem::path& path) {
  std::error_code none;
  for (std::size_t shards = 2; shards <= wire::kMaxShards; ++shards) {
    if (std::filesystem::exists(PartPath(path, {0, shards}), none)) return shards;
  }
  return 0;
}

}  // namespace

void WriteCheckpointPart(const std::filesystem::path& dir, const Checkpoint& part, ShardOf which,
                         WriteProgress* progress) {
  const std::size_t size = wire::CutIntoSlices(part.layout.size(), which.shards)[which.shard].size;
  CHECK(part.weights.size() == size, "{} weights of {}", part.weights.size(), size);
  std::vector<TensorView> tensors{ViewF32(kWeights, {size}, part.weights)};
  for (std::size_t i = 0; i < part.optimizer_state.size(); ++i) {
    CHECK(part.optimizer_state[i].size() == size, "slot of {}", part.optimizer_state[i].size());
    tensors.push_back(ViewF32(StateName(part.slot_names[i]), {size}, part.optimizer_state[i]));
  }
  auto metadata = MetadataOf(part, kPartFormat);
  metadata["parameters"] = DescribeLayout(part.layout);
  metadata["shard"] = std::to_string(which.shard);
  metadata["shards"] = std::to_string(which.shards);
  const auto parts = dir / (CheckpointStem(part.term, part.version) + std::string(kUncommitted));
  std::filesystem::create_directories(parts);
  WriteSafetensors(PartPath(parts, which), tensors, metadata, progress);
}

std::filesystem::path CommitCheckpointParts(const std::filesystem::path& dir, std::uint32_t term,
                                            std::uint64_t version) {
  const std::string stem = CheckpointStem(term, version);
  std::filesystem::rename(dir / (stem + std::string(kUncommitted)), dir / stem);
  SyncDirectory(dir);
  return dir / stem;
}

bool HoldsCheckpointParts(const std::filesystem::path& path) { return CountParts(path) > 0; }

Checkpoint ReadCheckpointParts(const std::filesystem::path& path) {
  const std::size_t shards = CountParts(path);
  if (shards == 0) {
    throw std::runtime_error(path.string() +
                             " is not a checkpoint: the part of shard 0 is missing");
  }
  Checkpoint whole;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const ShardOf which{shard, shards};
    AddPart(PartPath(path, which), which, whole);
  }
  return whole;
}

}  // namespace starling::learner
