// What a checkpoint's file says beside its tensors, to text and back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/safetensors.h"
#include "learner/storage/checkpoint.h"

namespace starling::learner {

// The entries of one file, with sentences for what is missing. The file must outlive it.
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

// Everything but layout, weights and state.
std::map<std::string, std::string> MetadataOf(const Checkpoint& checkpoint,
                                              std::string_view format);
// Backwards; the layout's fingerprint is among it and is not looked at. Throws std::runtime_error,
// also for another format than `format`.
Checkpoint FromMetadata(const Metadata& metadata, const std::string& path, std::string_view format);

}  // namespace starling::learner
