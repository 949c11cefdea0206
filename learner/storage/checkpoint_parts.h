// Checkpoints of a learner of several processes (shards): a directory with one file per shard,
// "t0001-v000000012345/shard-0-of-2.safetensors". The directory has another name until all parts
// are written, so a checkpoint is complete or absent. A file holds the shard's slice of the weights
// ("weights") and of each vector of the optimizer state ("optimizer.square_avg"). The metadata of
// every file holds the names and shapes of the parameters and everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "learner/storage/checkpoint.h"

namespace starling::learner {

// Writes one part, atomically and synced. Throws std::system_error. REQUIRES: weights and state of
// `part` are the shard's slice of its layout (wire/slices.h).
void WriteCheckpointPart(const std::filesystem::path& dir, const Checkpoint& part, ShardOf which);
// Gives the directory its final name and returns it. Throws std::system_error. REQUIRES: all parts
// are written.
std::filesystem::path CommitCheckpointParts(const std::filesystem::path& dir, std::uint32_t term,
                                            std::uint64_t version);
// Returns whether the directory holds the part of shard 0.
bool HoldsCheckpointParts(const std::filesystem::path& path);
// Returns the whole checkpoint of all parts in the directory. Throws like ReadCheckpoint.
Checkpoint ReadCheckpointParts(const std::filesystem::path& path);

// Suffix of the directory's name until all parts are written.
inline constexpr std::string_view kUncommitted = ".parts";

}  // namespace starling::learner
