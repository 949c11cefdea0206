#include "results/external_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/safetensors.h"
#include "core/text.h"
#include "wire/protocol.h"

namespace starling::results {
namespace {

SafetensorsFile ReadFileOf(const std::filesystem::path& path) {
  try {
    return SafetensorsFile::Read(path);
  } catch (const std::runtime_error& error) {
    throw UserError(fmt::format("net.initial: {}", error.what()), "net.initial");
  }
}

std::vector<float> ReadValues(const SafetensorsFile& file, const std::string& name) {
  try {
    return file.F32(name);
  } catch (const std::runtime_error& error) {
    throw UserError(fmt::format("net.initial: {}; save it as float32", error.what()),
                    "net.initial");
  }
}

// Appends a tensor to `net`. Throws std::runtime_error if it is none for a net.
void Add(const std::string& name, const std::vector<std::uint64_t>& shape,
         const std::vector<float>& values, ExternalNet& net) {
  // 1. Its name and shape.
  if (name.empty() || name.size() > wire::kMaxTextBytes || !IsOneLine(name)) {
    throw std::runtime_error(
        fmt::format("its name is empty, longer than {} bytes or has control "
                    "characters",
                    wire::kMaxTextBytes));
  }
  if (name.starts_with("optimizer.")) {
    throw std::runtime_error(
        "names that begin with optimizer. are Starling's; if this is a checkpoint, start from it "
        "by "
        "--init-from, and keep net.initial as its run has it");
  }
  if (name.ends_with(".sums")) throw std::runtime_error("names that end in .sums are Starling's");
  if (shape.size() > wire::kMaxDimensions) {
    throw std::runtime_error(fmt::format("it has {} dimensions, at most {} are possible",
                                         shape.size(), wire::kMaxDimensions));
  }
  if (std::ranges::find(shape, 0) != shape.end()) throw std::runtime_error("it is empty");
  // 2. Its values.
  const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  if (bad != values.end()) {
    throw std::runtime_error(fmt::format("number {} is {}", bad - values.begin(), *bad));
  }
  const net::Parameter& parameter = net.layout.Add(name, {shape.begin(), shape.end()});
  const std::size_t offset = parameter.offset;
  if (net.layout.size() > wire::kMaxWeights) {
    throw std::runtime_error(
        fmt::format("with it there are more than {} weights", wire::kMaxWeights));
  }
  net.weights.resize(net.layout.size());
  std::ranges::copy(values, net.weights.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

ExternalNet ReadExternalNet(const std::filesystem::path& path) {
  const SafetensorsFile file = ReadFileOf(path);
  const auto fail = [&](const std::string& why) {
    throw UserError(fmt::format("net.initial: {}: {}", path.string(), why), "net.initial");
  };
  ExternalNet net;
  std::size_t bytes = 0;
  for (const std::string& name : file.names()) {
    const std::vector<float> values = ReadValues(file, name);
    try {
      Add(name, file.Shape(name), values, net);
    } catch (const std::runtime_error& error) {
      fail(fmt::format("tensor {}: {}", Escaped(name.substr(0, 100)), error.what()));
    }
    bytes += wire::PackedBytes(name.size(), file.Shape(name).size());
  }
  const std::size_t count = net.layout.parameters().size();
  if (count == 0) fail("it holds no tensors");
  if (count > wire::kMaxTensors || bytes > wire::kMaxTensorsBytes) {
    fail(
        fmt::format("it holds {} tensors, whose names and shapes take {} bytes; actors are sent at "
                    "most {} in {}",
                    count, bytes, wire::kMaxTensors, wire::kMaxTensorsBytes));
  }
  return net;
}

}  // namespace starling::results
