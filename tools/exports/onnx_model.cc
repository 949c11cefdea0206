#include "tools/exports/onnx_model.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/check.h"

namespace starling::exports {
namespace {

// The numbers of fields, by message.
namespace model {
constexpr int kIr = 1, kProducer = 2, kGraph = 7, kOpsets = 8, kProperties = 14;
}
namespace graph {
constexpr int kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOp = 4, kAttribute = 5;
}
namespace attribute {
constexpr int kName = 1, kFloat = 2, kInt = 3, kString = 4, kInts = 8, kType = 20;
constexpr int kTypeFloat = 1, kTypeInt = 2, kTypeString = 3, kTypeInts = 7;
}  // namespace attribute
namespace tensor {
constexpr int kDims = 1, kType = 2, kName = 8, kRawData = 9;
}

ProtobufMessage Pair(std::string_view key, std::string_view value) {
  ProtobufMessage pair;
  pair.AddBytes(1, key);
  pair.AddBytes(2, value);
  return pair;
}

// ValueInfoProto: the name, and the type of a tensor (N, shape...).
ProtobufMessage Described(const std::string& name, ElementType element, const Shape& shape) {
  ProtobufMessage dims, any;
  any.AddBytes(2, "N");
  dims.AddMessage(1, any);
  for (const std::int64_t size : shape) {
    ProtobufMessage dim;
    dim.AddInteger(1, size);
    dims.AddMessage(1, dim);
  }
  ProtobufMessage tensor, type, value;
  tensor.AddInteger(1, static_cast<int>(element));
  tensor.AddMessage(2, dims);
  type.AddMessage(1, tensor);
  value.AddBytes(1, name);
  value.AddMessage(2, type);
  return value;
}

ProtobufMessage AttributeOf(const Attribute& given) {
  ProtobufMessage message;
  message.AddBytes(attribute::kName, given.name);
  int type = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&given.value)) {
    message.AddInteger(attribute::kInt, *integer);
    type = attribute::kTypeInt;
  } else if (const auto* number = std::get_if<float>(&given.value)) {
    message.AddFloat(attribute::kFloat, *number);
    type = attribute::kTypeFloat;
  } else if (const auto* text = std::get_if<std::string>(&given.value)) {
    message.AddBytes(attribute::kString, *text);
    type = attribute::kTypeString;
  } else {
    message.AddIntegers(attribute::kInts, std::get<Shape>(given.value));
    type = attribute::kTypeInts;
  }
  message.AddInteger(attribute::kType, type);
  return message;
}

}  // namespace

std::string OnnxModel::NewName(const std::string& what) {
  const std::string name = scope_.empty() ? what : scope_ + "/" + what;
  const int before = named_[name]++;
  return before == 0 ? name : fmt::format("{}_{}", name, before);
}

std::string OnnxModel::Input(const std::string& name, const Shape& shape) {
  graph_.AddMessage(graph::kInput, Described(name, ElementType::kFloat, shape));
  return name;
}

void OnnxModel::Output(const std::string& name, const std::string& value, ElementType type,
                       const Shape& shape) {
  ProtobufMessage same;
  same.AddBytes(node::kInput, value);
  same.AddBytes(node::kOutput, name);
  same.AddBytes(node::kName, name);
  same.AddBytes(node::kOp, "Identity");
  graph_.AddMessage(graph::kNode, same);
  graph_.AddMessage(graph::kOutput, Described(name, type, shape));
}

template <class T>
std::string OnnxModel::Add(ElementType type, const Shape& shape, std::span<const T> values) {
  const auto size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies());
  CHECK(std::cmp_equal(values.size(), size), "{} of {} values", values.size(), size);
  const std::string name = NewName("constant");
  ProtobufMessage message;
  message.AddIntegers(tensor::kDims, shape);
  message.AddInteger(tensor::kType, static_cast<int>(type));
  message.AddBytes(tensor::kName, name);
  message.AddBytes(tensor::kRawData,
                   {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  graph_.AddMessage(graph::kInitializer, message);
  return name;
}
std::string OnnxModel::Constant(const Shape& shape, std::span<const float> values) {
  return Add(ElementType::kFloat, shape, values);
}
std::string OnnxModel::Constant(const Shape& shape, std::span<const double> values) {
  return Add(ElementType::kDouble, shape, values);
}
std::string OnnxModel::Constant(const Shape& shape, std::span<const std::int64_t> values) {
  return Add(ElementType::kInt64, shape, values);
}

std::string OnnxModel::Node(const std::string& op, const std::vector<std::string>& inputs,
                            const std::vector<Attribute>& attributes) {
  return Nodes(op, inputs, 1, attributes).front();
}

std::vector<std::string> OnnxModel::Nodes(const std::string& op,
                                          const std::vector<std::string>& inputs,
                                          std::size_t outputs,
                                          const std::vector<Attribute>& attributes) {
  ProtobufMessage message;
  std::vector<std::string> values;
  for (const std::string& input : inputs) message.AddBytes(node::kInput, input);
  for (std::size_t i = 0; i < outputs; ++i) values.push_back(NewName(op));
  for (const std::string& value : values) message.AddBytes(node::kOutput, value);
  message.AddBytes(node::kName, values.front());
  message.AddBytes(node::kOp, op);
  for (const Attribute& given : attributes) {
    message.AddMessage(node::kAttribute, AttributeOf(given));
  }
  graph_.AddMessage(graph::kNode, message);
  return values;
}

std::string OnnxModel::File(const std::map<std::string, std::string>& properties) && {
  ProtobufMessage opset, file;
  graph_.AddBytes(graph::kName, "policy");
  file.AddInteger(model::kIr, kIrVersion);
  file.AddBytes(model::kProducer, "Starling");
  file.AddMessage(model::kGraph, graph_);
  opset.AddInteger(2, kOpset);  // of the operators without a domain
  file.AddMessage(model::kOpsets, opset);
  for (const auto& [key, value] : properties) {
    file.AddMessage(model::kProperties, Pair(key, value));
  }
  return std::move(file).Take();
}

}  // namespace starling::exports
