#include "net/parameters.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace starling::net {
namespace {

// In floats: one cache line. The learner's lanes are cut at its multiples.
constexpr std::size_t kAlignment = 16;

}  // namespace

const Parameter& ParameterLayout::Add(std::string name, std::vector<std::int64_t> shape) {
  for (const Parameter& other : parameters_) {
    CHECK(other.name != name, "parameter {} added twice", name);
  }
  std::size_t count = 1;
  for (const std::int64_t dimension : shape) {
    CHECK(dimension >= 1, "parameter {} has a dimension of {}", name, dimension);
    count *= dimension;
  }
  const bool trained = trained_ == size_ && !name.ends_with(".sums");
  parameters_.push_back({std::move(name), std::move(shape), size_, count});
  size_ += (count + kAlignment - 1) / kAlignment * kAlignment;
  if (trained) trained_ = size_;
  return parameters_.back();
}

const Parameter& ParameterLayout::Find(const std::string& name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& p) { return p.name == name; });
  CHECK(found != parameters_.end(), "no parameter named {}", name);
  return *found;
}

std::size_t ParameterLayout::num_weights() const {
  std::size_t total = 0;
  for (const Parameter& parameter : parameters_) {
    if (parameter.offset < trained_) total += parameter.size;
  }
  return total;
}

std::uint64_t ParameterLayout::fingerprint() const {
  // The hash is over text, so it depends neither on byte order nor on the width of an integer.
  std::string text;
  for (const Parameter& p : parameters_) {
    text += p.name + "(";
    for (const std::int64_t dimension : p.shape) text += std::to_string(dimension) + ",";
    text += ")@" + std::to_string(p.offset) + ";";
  }
  return XXH64(text.data(), text.size(), 0);
}

}  // namespace starling::net
