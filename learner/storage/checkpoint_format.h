// The files of a checkpoint, for the sources in this folder.
//
// A learner of one process writes one file. One of several processes (shards) writes a directory
// with a file per shard, "t0001-v000000012345/shard-0-of-2.safetensors". The directory has another
// name until all parts are written, so a checkpoint is complete or absent. A part holds the shard's
// slice of the weights ("weights") and of each vector of the optimizer state
// ("optimizer.square_avg"); its metadata also holds the names and shapes of the parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/safetensors.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/terms.h"

namespace starling::learner {

// ---- metadata

// The entries of one file. A missing or malformed entry is an error with a sentence.
class Metadata {
 public:
  Metadata(std::map<std::string, std::string> entries, std::string path)
      : entries_(std::move(entries)), path_(std::move(path)) {}

  bool Has(const std::string& key) const { return entries_.contains(key); }
  // Throw std::runtime_error naming the file and the entry.
  const std::string& Text(const std::string& key) const;
  std::uint64_t Number(const std::string& key, int base = 10) const;
  std::uint32_t Number32(const std::string& key) const;

 private:
  const std::map<std::string, std::string> entries_;
  const std::string path_;
};

// Returns the metadata of `checkpoint`: everything but layout, weights and state.
std::map<std::string, std::string> MetadataOf(const Checkpoint& checkpoint,
                                              std::string_view format);
// Returns the checkpoint's place in the journal. Throws std::runtime_error.
JournalPosition JournalOf(const Metadata& metadata);
// The inverse of MetadataOf. Leaves layout, weights and state empty and does not check the
// fingerprint. Throws std::runtime_error, also if the format is not `format`.
Checkpoint FromMetadata(const Metadata& metadata, const std::string& path, std::string_view format);

// ---- parts

// Writes one part, atomically and synced. Throws std::system_error. REQUIRES: weights and state of
// `part` are the shard's slice of its layout (wire/slices.h).
void WriteCheckpointPart(const std::filesystem::path& dir, const Checkpoint& part, ShardOf which,
                         WriteProgress* progress = nullptr);
// Gives the directory its final name and returns it. Throws std::system_error. REQUIRES: all parts
// are written.
std::filesystem::path CommitCheckpointParts(const std::filesystem::path& dir, std::uint32_t term,
                                            std::uint64_t version);
// Returns the whole checkpoint of all parts in the directory. Throws like ReadCheckpoint.
Checkpoint ReadCheckpointParts(const std::filesystem::path& path);

// ---- names

// Returns "t0001-v000000012345": the name of a checkpoint without its suffix.
std::string CheckpointStem(std::uint32_t term, std::uint64_t version);
// The inverse, for names that end in `suffix`; nullopt for any other name.
std::optional<CheckpointId> ParseCheckpointName(std::string_view name, std::string_view suffix);

inline constexpr std::string_view kCheckpointSuffix = ".safetensors";
// Suffix of the directory's name until all parts are written.
inline constexpr std::string_view kUncommitted = ".parts";

}  // namespace starling::learner
