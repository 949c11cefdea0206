// An ONNX model while it is written: one graph of nodes, by the numbers of onnx.proto (github.com/
// onnx/onnx). Its values have names; the first dimension of inputs and outputs is any number N.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/protobuf.h"

namespace starling::exports {

inline constexpr int kOpset = 13;     // of the operators: Split takes its sizes as an input
inline constexpr int kIrVersion = 7;  // of the file

enum class ElementType : std::uint8_t { kFloat = 1, kInt64 = 7, kDouble = 11 };

using Shape = std::vector<std::int64_t>;

struct Attribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, Shape> value;
};

class OnnxModel {
 public:
  // Floats (N, shape...). Returns the name.
  std::string Input(const std::string& name, const Shape& shape);
  // Makes `value` an output (N, shape...) of that name.
  void Output(const std::string& name, const std::string& value, ElementType type,
              const Shape& shape);

  // Nodes and constants from now on are named "SCOPE/..."; "": without a scope.
  void Enter(std::string scope) { scope_ = std::move(scope); }

  // Each returns the name of the value.
  std::string Constant(const Shape& shape, std::span<const float> values);
  std::string Constant(const Shape& shape, std::span<const double> values);
  std::string Constant(const Shape& shape, std::span<const std::int64_t> values);
  std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {});
  // The same of an operator with several outputs.
  std::vector<std::string> Nodes(const std::string& op, const std::vector<std::string>& inputs,
                                 std::size_t outputs,
                                 const std::vector<Attribute>& attributes = {});

  // The file; the model is used up. `properties` are texts that a reader finds beside the graph.
  std::string File(const std::map<std::string, std::string>& properties) &&;

 private:
  std::string NewName(const std::string& what);
  template <class T>
  std::string Add(ElementType type, const Shape& shape, std::span<const T> values);

  std::string scope_;
  std::map<std::string, int> named_;
  ProtobufMessage graph_;
};

}  // namespace starling::exports
