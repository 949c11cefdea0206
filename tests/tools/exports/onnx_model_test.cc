// The bytes of a small model, written out by the numbers of onnx.proto.
#include "tools/exports/onnx_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace starling::exports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A field whose value is bytes: its key, its length (below 128), the bytes.
std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string Integer(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
// ValueInfoProto of floats (N, 2).
std::string Described(const std::string& name) {
  const std::string shape = Field(1, Field(2, "N")) + Field(1, Integer(1, 2));
  return Field(1, name) + Field(2, Field(1, Integer(1, 1) + Field(2, shape)));
}

TEST(OnnxModelTest, WritesAModelOfOneNode) {
  OnnxModel model;
  const std::string x = model.Input("x", {2});
  const std::string y = model.Node("Softmax", {x}, {{"axis", std::int64_t{1}}});
  model.Output("y", y, ElementType::kFloat, {2});
  const std::string axis = Field(1, "axis") + Integer(3, 1) + std::string{'\xa0', '\x01', 2};
  const std::string softmax = Field(1, "x") + Field(2, "Softmax") + Field(3, "Softmax") +
                              Field(4, "Softmax") + Field(5, axis);
  const std::string same =
      Field(1, "Softmax") + Field(2, "y") + Field(3, "y") + Field(4, "Identity");
  const std::string graph = Field(11, Described("x")) + Field(1, softmax) + Field(1, same) +
                            Field(12, Described("y")) + Field(2, "policy");
  EXPECT_EQ(std::move(model).File({{"key", "value"}}),
            Integer(1, 7) + Field(2, "Starling") + Field(7, graph) + Field(8, Integer(2, 13)) +
                Field(14, Field(1, "key") + Field(2, "value")));
}

TEST(OnnxModelTest, WritesConstantsAndEveryKindOfAttribute) {
  OnnxModel model;
  const std::string name = model.Constant({2}, std::array<float, 2>{1.5f, -2.0f});
  const std::string floats = std::string("\0\0\xc0\x3f\0\0\0\xc0", 8);
  model.Node("Any", {name}, {{"f", 1.5f}, {"s", std::string("VALID")}, {"i", Shape{3, 4}}});
  const std::string file = std::move(model).File({});
  EXPECT_THAT(file, HasSubstr(Field(5, Field(1, "\x02") + Integer(2, 1) + Field(8, "constant") +
                                           Field(9, floats))));
  const std::string type{'\xa0', '\x01'};  // the key of field 20
  EXPECT_THAT(file,
              HasSubstr(Field(1, "f") + '\x15' + std::string("\0\0\xc0\x3f", 4) + type + '\x01'));
  EXPECT_THAT(file, HasSubstr(Field(1, "s") + Field(4, "VALID") + type + '\x03'));
  EXPECT_THAT(file, HasSubstr(Field(1, "i") + Field(8, "\x03\x04") + type + '\x07'));
}

TEST(OnnxModelTest, GivesEveryValueANameOfItsOwn) {
  OnnxModel model;
  EXPECT_EQ(model.Node("Relu", {"x"}), "Relu");
  model.Enter("conv1");
  EXPECT_EQ(model.Node("Relu", {"x"}), "conv1/Relu");
  EXPECT_EQ(model.Node("Relu", {"x"}), "conv1/Relu_1");
  EXPECT_THAT(model.Nodes("Split", {"x"}, 3),
              ElementsAre("conv1/Split", "conv1/Split_1", "conv1/Split_2"));
}

}  // namespace
}  // namespace starling::exports
