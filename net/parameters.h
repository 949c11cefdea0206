// The layout of a net's parameters: names, shapes and offsets in ONE flat vector of floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace starling::net {

struct Parameter {
  std::string name;                 // "conv1.weight"
  std::vector<std::int64_t> shape;  // C order
  std::size_t offset = 0;           // in floats; a multiple of 16
  std::size_t size = 0;             // product of shape
};

// Each parameter starts at a multiple of 16 floats (a cache line); the gaps stay zero.
class ParameterLayout {
 public:
  // Appends a parameter. One whose name ends in ".sums" is running sums (net/running.h), which no
  // gradient trains. REQUIRES: every dimension is at least 1, the name is new, and all that is
  // trained comes before all sums. The reference is valid until the next Add.
  const Parameter& Add(std::string name, std::vector<std::int64_t> shape);
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Parameter& Find(const std::string& name) const;  // CHECKs that it exists
  std::size_t size() const { return size_; }        // in floats, with the gaps; a multiple of 16
  std::size_t trained() const { return trained_; }  // in floats; the sums begin there
  std::size_t num_weights() const;                  // without the gaps and the sums
  // Identifies the architecture: a hash of names, shapes and offsets. Equal on every machine.
  std::uint64_t fingerprint() const;

 private:
  std::vector<Parameter> parameters_;
  std::size_t size_ = 0, trained_ = 0;
};

}  // namespace starling::net
