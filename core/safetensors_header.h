// A strict parser for the JSON header of a safetensors file, an object of flat objects. Used by
// core/safetensors.cc alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling {

// The header entry of a tensor, not yet compared with the file.
struct RawTensor {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape, data_offsets;
};

struct RawHeader {
  std::map<std::string, std::string> metadata;
  std::vector<RawTensor> tensors;  // in the order of the header
};

// Time and memory are linear in the size of `text`, for any content. Ignores unknown fields. Throws
// std::runtime_error: not JSON, a name twice, too many nested levels, a field of a wrong type.
RawHeader ParseSafetensorsHeader(std::string_view text);

}  // namespace starling
