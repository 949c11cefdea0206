// The net of net.kind = "external": what Starling knows of it is the names and shapes of its
// weights, and their first values, from the safetensors file net.initial.
#pragma once

#include <filesystem>
#include <vector>

#include "net/parameters.h"

namespace starling::results {

struct ExternalNet {
  net::ParameterLayout layout;  // in the order of the file
  std::vector<float> weights;   // (layout.size())
};

// Throws UserError with a sentence that names the file and the tensor: no safetensors file, not
// float32, empty, not finite, a reserved name, or more than messages have room for.
ExternalNet ReadExternalNet(const std::filesystem::path& path);

}  // namespace starling::results
