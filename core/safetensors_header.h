// Reads the JSON header of a safetensors file as strictly as the format is simple: an object of
// flat objects. Used by core/safetensors.cc alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling {

// What a header says about a tensor; nothing of it has been compared with the file yet.
struct RawTensor {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape, data_offsets;
};

struct RawHeader {
  std::map<std::string, std::string> metadata;
  std::vector<RawTensor> tensors;  // in the order of the header
};

// Time and memory are linear in `text`, whatever it holds. Throws std::runtime_error: not JSON, a
// name twice, nested deeper than the format nests, a field of another type. Unknown fields are
// passed over.
RawHeader ParseSafetensorsHeader(std::string_view text);

}  // namespace starling
