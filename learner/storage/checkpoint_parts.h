// A checkpoint of a learner that is several processes (shards): a directory with a file from each
// of them, "t0001-v000000012345/shard-0-of-2.safetensors". It has another name until all are there,
// so it is complete or absent, too. A file holds the shard's slice of the weights ("weights") and
// of each of the optimizer's vectors ("optimizer.square_avg"); the names and shapes of the
// parameters, and the rest, are in the metadata of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "learner/storage/checkpoint.h"

namespace starling::learner {

// Writes one of them, atomically and synced, of `part`, a checkpoint whose weights and state are
// only the shard's slice of its layout (wire/slices.h). Throws std::system_error.
void WriteCheckpointPart(const std::filesystem::path& dir, const Checkpoint& part, ShardOf which);
// When all are written: the checkpoint is there. Returns its directory. Throws std::system_error.
std::filesystem::path CommitCheckpointParts(const std::filesystem::path& dir, std::uint32_t term,
                                            std::uint64_t version);
// Whether a part lies in this directory.
bool HoldsCheckpointParts(const std::filesystem::path& path);
// Of all parts in the directory of one checkpoint. Throws as ReadCheckpoint.
Checkpoint ReadCheckpointParts(const std::filesystem::path& path);

// What the directory of a checkpoint is called until all parts are there.
inline constexpr std::string_view kUncommitted = ".parts";

}  // namespace starling::learner
