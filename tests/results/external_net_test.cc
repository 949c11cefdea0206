// The net of net.initial: what is taken from the file, and which files are none.
#include "results/external_net.h"

#include <gmock/gmock.h>

#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "wire/protocol.h"

namespace starling::results {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ExternalNetTest : public testing::Test {
 protected:
  std::filesystem::path Write(const std::vector<TensorView>& tensors) {
    WriteSafetensors(path_, tensors);
    return path_;
  }
  std::string Refusal(const std::vector<TensorView>& tensors) {
    return ErrorOf([&] { ReadExternalNet(Write(tensors)); });
  }

  TempDir dir_;
  const std::filesystem::path path_ = dir_ / "model.safetensors";
  std::vector<float> values_ = std::vector<float>(6, 0.5f);
};

TEST_F(ExternalNetTest, NamesShapesAndValuesAreThoseOfTheFile) {
  std::iota(values_.begin(), values_.end(), 1.0f);
  const float scale = 9;
  const ExternalNet net = ReadExternalNet(
      Write({ViewF32("z.weight", {2, 3}, values_), ViewF32("a.scale", {}, {&scale, 1})}));
  ASSERT_EQ(net.layout.parameters().size(), 2u);
  const net::Parameter& first = net.layout.parameters()[0];
  EXPECT_EQ(first.name, "z.weight") << "the order of the file, not of names";
  EXPECT_THAT(first.shape, ElementsAre(2, 3));
  EXPECT_EQ(net.layout.num_weights(), 7u);
  ASSERT_EQ(net.weights.size(), net.layout.size());
  EXPECT_THAT(std::vector(net.weights.begin(), net.weights.begin() + 7),
              ElementsAre(1, 2, 3, 4, 5, 6, 0));
  EXPECT_EQ(net.weights[net.layout.Find("a.scale").offset], 9);
}

TEST_F(ExternalNetTest, ATensorThatIsNoneOfANet) {
  const std::vector<double> wide(6);
  EXPECT_THAT(
      Refusal({{.name = "w",
                .dtype = DType::kF64,
                .shape = {6},
                .bytes = std::as_bytes(std::span(wide))}}),
      AllOf(HasSubstr("net.initial: "), HasSubstr("\"w\" is F64, not F32; save it as float32")));
  EXPECT_THAT(Refusal({{.name = "w",
                        .dtype = DType::kBf16,
                        .shape = {24},
                        .bytes = std::as_bytes(std::span(wide))}}),
              HasSubstr("\"w\" is BF16, not F32; save it as float32"));
  EXPECT_THAT(Refusal({ViewF32("w", {0}, {})}), HasSubstr("tensor w: it is empty"));
  EXPECT_THAT(Refusal({ViewF32("optimizer.square_avg.w", {6}, values_)}),
              HasSubstr("if this is a checkpoint, start from it by --init-from"));
  EXPECT_THAT(Refusal({ViewF32("x.sums", {6}, values_)}), HasSubstr("names that end in .sums"));
  EXPECT_THAT(Refusal({ViewF32("a\nb", {6}, values_)}), HasSubstr("has control characters"));
  EXPECT_THAT(Refusal({ViewF32("w", {1, 1, 1, 1, 1, 1, 1, 1, 6}, values_)}),
              HasSubstr("it has 9 dimensions, at most 8"));
  values_[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Refusal({ViewF32("w", {6}, values_)}), HasSubstr("tensor w: number 4 is nan"));
}

TEST_F(ExternalNetTest, AFileThatIsNoNet) {
  EXPECT_THAT(Refusal({}), HasSubstr("it holds no tensors"));
  EXPECT_THAT(ErrorOf([&] { ReadExternalNet(dir_ / "nowhere"); }),
              AllOf(HasSubstr("net.initial: "), HasSubstr("nowhere")));
  std::vector<TensorView> many;
  for (int i = 0; i < 4097; ++i)
    many.push_back(ViewF32(std::to_string(i), {1}, {values_.data(), 1}));
  EXPECT_THAT(Refusal(many), HasSubstr("it holds 4097 tensors"));
  many.clear();
  for (int i = 0; i < 300; ++i) {
    many.push_back(ViewF32(std::string(1000, 'x') + std::to_string(i), {1}, {values_.data(), 1}));
  }
  EXPECT_THAT(Refusal(many), HasSubstr("at most 4096 in 196608"));
}

}  // namespace
}  // namespace starling::results
