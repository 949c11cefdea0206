#include "core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Shape = std::vector<std::uint64_t>;

template <class T>
TensorView View(std::string name, DType dtype, Shape shape, const std::vector<T>& values) {
  return {std::move(name), dtype, std::move(shape), std::as_bytes(std::span(values))};
}

using SafetensorsTest = TempDirTest;

TEST_F(SafetensorsTest, WhatIsWrittenIsReadBack) {
  const std::vector<float> f32 = {1.5f,   -0.0f, std::numeric_limits<float>::infinity(),
                                  1e-45f, 5,     6};
  const std::vector<double> f64 = {0.1};
  const std::vector<std::int64_t> i64 = {-1, std::numeric_limits<std::int64_t>::max()};
  const std::vector<std::uint64_t> u64 = {std::numeric_limits<std::uint64_t>::max()};
  const std::vector<std::uint8_t> u8 = {1, 2, 3};
  const std::vector<std::int32_t> i32 = {-7};
  const std::vector<TensorView> tensors = {
      ViewF32("z/weights", {2, 3}, f32),  View("scalar", DType::kF64, {}, f64),
      View("bytes", DType::kU8, {3}, u8),  // the ones behind it are not aligned
      View("a", DType::kI64, {2}, i64),   View("u", DType::kU64, {1, 1}, u64),
      View("i", DType::kI32, {1}, i32),   ViewF32("empty", {0, 4}, {})};
  WriteSafetensors(dir_ / "x", tensors, {{"config", "[run]\n\"q\""}, {"caf\xc3\xa9", ""}});

  const SafetensorsFile file = SafetensorsFile::Read(dir_ / "x");
  EXPECT_THAT(file.names(), ElementsAre("z/weights", "scalar", "bytes", "a", "u", "i", "empty"));
  EXPECT_EQ(file.Shape("z/weights"), (Shape{2, 3}));
  EXPECT_EQ(file.Shape("scalar"), Shape{});
  EXPECT_EQ(std::memcmp(file.F32("z/weights").data(), f32.data(), 24), 0);
  EXPECT_EQ(file.F64("scalar"), f64);
  EXPECT_EQ(file.I64("a"), i64);
  EXPECT_EQ(file.U64("u"), u64);
  EXPECT_TRUE(file.F32("empty").empty());
  EXPECT_EQ(file.metadata(),
            (std::map<std::string, std::string>{{"config", "[run]\n\"q\""}, {"caf\xc3\xa9", ""}}));
}

TEST_F(SafetensorsTest, EqualContentGivesEqualFiles) {
  const std::vector<float> values = {1, 2};
  const TensorView tensor = ViewF32("w", {2}, values);
  WriteSafetensors(dir_ / "a", {&tensor, 1}, {{"k", "v"}});
  WriteSafetensors(dir_ / "b", {&tensor, 1}, {{"k", "v"}, {"starling.xxh64", "of another file"}});
  EXPECT_EQ(ReadFile(dir_ / "a"), ReadFile(dir_ / "b"));
}

TEST_F(SafetensorsTest, AbsentTensorsAndOtherTypesAreNamed) {
  const std::vector<float> values = {1};
  const TensorView tensor = ViewF32("w", {1}, values);
  WriteSafetensors(dir_ / "x", {&tensor, 1});
  const SafetensorsFile file = SafetensorsFile::Read(dir_ / "x");
  EXPECT_THAT(ErrorOf<std::runtime_error>([&] { file.F32("v"); }),
              HasSubstr("has no tensor \"v\""));
  EXPECT_THAT(ErrorOf<std::runtime_error>([&] { file.Shape("v"); }),
              HasSubstr("has no tensor \"v\""));
  EXPECT_THAT(ErrorOf<std::runtime_error>([&] { file.I64("w"); }),
              HasSubstr("tensor \"w\" is F32, not I64"));
  EXPECT_THAT(ErrorOf<std::runtime_error>([&] { SafetensorsFile::Read(dir_ / "absent"); }),
              HasSubstr("absent"));
}

// Reads the format by its specification, without any of our code.
TEST_F(SafetensorsTest, TheFileIsWhatTheSpecificationSays) {
  const std::vector<float> first = {1, 2, 3};
  const std::vector<double> second = {4};
  const std::vector<TensorView> tensors = {ViewF32("first", {3, 1}, first),
                                           View("second", DType::kF64, {}, second)};
  WriteSafetensors(dir_ / "x", tensors, {{"note", "hi"}});
  const std::string bytes = ReadFile(dir_ / "x");

  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes.at(i));
  EXPECT_EQ(bytes[8], '{');
  EXPECT_EQ((8 + length) % 64, 0u);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header["first"]["dtype"], "F32");
  EXPECT_EQ(header["first"]["shape"], (Shape{3, 1}));
  EXPECT_EQ(header["first"]["data_offsets"], (Shape{0, 12}));
  EXPECT_EQ(header["second"]["dtype"], "F64");
  EXPECT_EQ(header["second"]["shape"], Shape{});
  EXPECT_EQ(header["second"]["data_offsets"], (Shape{12, 20}));
  EXPECT_EQ(header["__metadata__"]["note"], "hi");
  EXPECT_EQ(header.size(), 3u);
  EXPECT_EQ(bytes.size(), 8 + length + 20);
  float three = 0;
  std::memcpy(&three, bytes.data() + 8 + length + 8, 4);
  EXPECT_EQ(three, 3.0f);
}

TEST(SafetensorsDeathTest, WritingWhatDoesNotFitIsOurBug) {
  const std::vector<float> values = {1, 2, 3};
  const std::vector<TensorView> short_one = {ViewF32("w", {4}, values)};
  EXPECT_DEATH(WriteSafetensors("x", short_one), "tensor w: 12 bytes");
  const std::vector<TensorView> twice = {ViewF32("w", {3}, values), ViewF32("w", {3}, values)};
  EXPECT_DEATH(WriteSafetensors("x", twice), "given twice");
}

}  // namespace
}  // namespace starling
