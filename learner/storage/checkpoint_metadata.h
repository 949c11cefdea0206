// The metadata of a checkpoint file, written and read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/safetensors.h"
#include "learner/storage/checkpoint.h"

namespace starling::learner {

// The entries of one file. A missing or malformed entry is an error with a sentence. The file must
// outlive it.
class Metadata {
 public:
  Metadata(const SafetensorsFile& file, std::string path)
      : entries_(file.metadata()), path_(std::move(path)) {}

  // Throw std::runtime_error naming the file and the entry.
  const std::string& Text(const std::string& key) const;
  std::uint64_t Number(const std::string& key, int base = 10) const;

 private:
  const std::map<std::string, std::string>& entries_;
  std::string path_;
};

// Returns the metadata of `checkpoint`: everything but layout, weights and state.
std::map<std::string, std::string> MetadataOf(const Checkpoint& checkpoint,
                                              std::string_view format);
// The inverse of MetadataOf. Leaves layout, weights and state empty and does not check the
// fingerprint. Throws std::runtime_error, also if the format is not `format`.
Checkpoint FromMetadata(const Metadata& metadata, const std::string& path, std::string_view format);

}  // namespace starling::learner
