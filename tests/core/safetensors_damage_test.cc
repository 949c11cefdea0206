// Files that are damaged, foreign or made to harm: read without fail or refused with a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

#include "core/file.h"
#include "core/random.h"
#include "core/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using testing::HasSubstr;

// A file with the given header and data, as anybody could make it.
std::string Made(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

// Returns the refusal of `bytes`, or "".
std::string Refusal(const TempDir& dir, const std::string& bytes) {
  const auto path = dir.Write("x.safetensors", bytes);
  const std::string refusal = ErrorOf<std::runtime_error>([&] { SafetensorsFile::Read(path); });
  if (!refusal.empty()) {
    EXPECT_THAT(refusal, HasSubstr(path.string()));
  }
  return refusal;
}

std::string SmallFile(const TempDir& dir) {
  const std::vector<float> weights = {1, 2, 3, 4, 5};
  const std::vector<std::uint64_t> counters = {7, 8};
  const std::vector<TensorView> tensors = {
      ViewF32("weights", {5}, weights),
      {"counters", DType::kU64, {2}, std::as_bytes(std::span(counters))}};
  WriteSafetensors(dir / "small", tensors, {{"version", "900"}});
  return ReadFile(dir / "small");
}

using SafetensorsDamage = TempDirTest;

TEST_F(SafetensorsDamage, EveryFlippedBitIsFound) {
  const std::string good = SmallFile(dir_);
  ASSERT_EQ(Refusal(dir_, good), "");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      ASSERT_NE(Refusal(dir_, bad), "") << "byte " << i << " bit " << bit;
    }
  }
}

TEST_F(SafetensorsDamage, EveryTruncationIsFound) {
  const std::string good = SmallFile(dir_);
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_NE(Refusal(dir_, good.substr(0, size)), "") << size;
  }
  EXPECT_NE(Refusal(dir_, good + '\0'), "");
}

TEST_F(SafetensorsDamage, ZeroedAndSwappedBlocksAreFound) {
  const std::string good = SmallFile(dir_);
  RandomStream random({.seed = 4});
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    const std::size_t at = random.Below(static_cast<std::uint32_t>(good.size()));
    const std::size_t from = random.Below(static_cast<std::uint32_t>(good.size()));
    const std::size_t size =
        std::min<std::size_t>(1 + random.Below(64), good.size() - std::max(at, from));
    if (i % 2 == 0) {
      bad.replace(at, size, size, '\0');
    } else {
      bad.replace(at, size, good.substr(from, size));
    }
    if (bad == good) continue;
    ASSERT_NE(Refusal(dir_, bad), "") << i;
  }
}

// Random bytes may be refused in any way, but only in that way.
TEST_F(SafetensorsDamage, RandomHeadersAreRefusedPolitely) {
  RandomStream random({.seed = 5});
  const std::string alphabet = "{}[]\",:0123456789-.eE truefalsn\\u\x80";
  for (int i = 0; i < 3000; ++i) {
    std::string header = "{";
    const std::uint32_t size = random.Below(60);
    for (std::uint32_t k = 0; k < size; ++k) {
      header += alphabet[random.Below(static_cast<std::uint32_t>(alphabet.size()))];
    }
    Refusal(dir_, Made(header, "data"));
  }
}

TEST(SafetensorsForeign, FilesWithoutOurChecksumAreRead) {
  const TempDir dir;
  const auto path =
      dir.Write("x", Made(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
                          R"("a":{"dtype":"I64","shape":[],"data_offsets":[0,8],"extra":[1]},)"
                          R"("__metadata__":{"format":"pt"}} )",
                          std::string("\x05\0\0\0\0\0\0\0\0\0\x80\x3f", 12)));
  const SafetensorsFile file = SafetensorsFile::Read(path);
  EXPECT_THAT(file.names(), testing::ElementsAre("a", "b"));
  EXPECT_EQ(file.I64("a"), std::vector<std::int64_t>{5});
  EXPECT_EQ(file.F32("b"), std::vector<float>{1.0f});
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

using SafetensorsHostile = TempDirTest;

TEST_F(SafetensorsHostile, Lengths) {
  EXPECT_THAT(Refusal(dir_, ""), HasSubstr("truncated"));
  EXPECT_THAT(Refusal(dir_, "1234567"), HasSubstr("truncated"));
  EXPECT_THAT(Refusal(dir_, std::string("\x10\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("within its header"));
  EXPECT_THAT(Refusal(dir_, std::string(8, '\xff') + "{}"),
              HasSubstr("is no safetensors file: its header would have 18446744073709551615 "
                        "bytes, more than 16777216"));
  EXPECT_THAT(Refusal(dir_, std::string("\0\0\0\0\0\0\0\0", 8)), HasSubstr("not a JSON object"));
}

// 4 TiB that take no place on the disk: nothing but the header is read.
TEST_F(SafetensorsHostile, SparseFiles) {
  const std::uint64_t size = std::uint64_t{1} << 42;
  const auto grown = [&](const std::string& bytes) {
    const auto path = dir_.Write("sparse", bytes);
    std::filesystem::resize_file(path, size);
    return ErrorOf<std::runtime_error>([&] { SafetensorsFile::Read(path); });
  };
  const std::string path = (dir_ / "sparse").string();
  EXPECT_THAT(grown(""), HasSubstr(path + " is damaged: its header is not a JSON object"));
  EXPECT_THAT(grown(Made("{}")), HasSubstr("4398046511094 bytes trail its tensors"));
  std::string header =
      fmt::format(R"({{"a":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}}}})", size - 128);
  header.resize(120, ' ');
  EXPECT_THAT(grown(Made(header)),
              HasSubstr(path + " has 4398046511104 bytes of tensors: they are read into memory "
                               "twice, and this machine has "));
}

TEST_F(SafetensorsHostile, WhatIsNoFile) {
  for (const std::filesystem::path& path :
       {std::filesystem::path("/dev/zero"), dir_.path(), dir_ / "absent"}) {
    EXPECT_THAT(ErrorOf<std::runtime_error>([&] { SafetensorsFile::Read(path); }),
                HasSubstr("cannot read " + path.string()));
  }
}

TEST_F(SafetensorsHostile, Headers) {
  const auto refusal = [&](const std::string& header) {
    return Refusal(dir_, Made(header, "1234"));
  };
  EXPECT_THAT(refusal("{\"a\":"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{} x"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"a\xff\":1}"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(R"({"a":3})"),
              HasSubstr("has \"a\", which is a number instead of an object"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":3}})"), HasSubstr("metadata \"a\""));
  const std::string tensor = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_EQ(refusal("{\"a\":" + tensor + "}"), "");
  EXPECT_THAT(refusal("{\"a\":" + tensor + ",\"a\":" + tensor + "}"), HasSubstr("\"a\" twice"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})"),
              HasSubstr("twice"));
  EXPECT_THAT(refusal("{}"), HasSubstr("4 bytes trail"));
}

TEST_F(SafetensorsHostile, Tensors) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("dtype":"F31","shape":[1],"data_offsets":[0,4])",
       "tensor \"a\" has the unknown dtype \"F31\""},
      {R"("shape":[1],"data_offsets":[0,4])", "lacks its dtype"},
      {R"("dtype":"F32","data_offsets":[0,4])", "lacks its dtype, its shape"},
      {R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", "shape"},
      {R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])", "shape"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[0])", "leaves the file"},
      {R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", "leaves the file"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", "leaves the file"},
      {R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", "not its shape"},
      {R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615])",
       "leaves the file"},
      // 4 * 2^32 * 2^32 is 4 * 2^64, which is 0 in 64 bits.
      {R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])", "not its shape"},
  };
  for (const auto& [fields, refusal] : cases) {
    EXPECT_THAT(Refusal(dir_, Made(std::string("{\"a\":{") + fields + "}}", "1234")),
                HasSubstr(refusal))
        << fields;
  }
}

TEST_F(SafetensorsHostile, OffsetsThatOverlapOrLeaveHoles) {
  const auto two = [&](const std::string& first, const std::string& second) {
    const std::string u8 = R"({"dtype":"U8","shape":[2],"data_offsets":)";
    return Refusal(dir_, Made("{\"a\":" + u8 + first + "},\"b\":" + u8 + second + "}}", "1234"));
  };
  EXPECT_EQ(two("[0,2]", "[2,4]"), "");
  EXPECT_EQ(two("[2,4]", "[0,2]"), "");
  EXPECT_THAT(two("[0,2]", "[1,3]"), HasSubstr("\"b\" overlaps"));
  EXPECT_THAT(two("[0,2]", "[0,2]"), HasSubstr("overlaps"));
  EXPECT_THAT(two("[1,3]", "[1,3]"), HasSubstr("leaves a hole"));
}

TEST_F(SafetensorsHostile, BombsCostLittle) {
  EXPECT_THAT(Refusal(dir_, Made(R"({"a":{"x":)" + std::string(1'000'000, '['))),
              HasSubstr("too deeply"));
  std::string objects = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(Refusal(dir_, Made(objects)), HasSubstr("too deeply"));
  // Two hundred thousand tensors of no bytes: many, but only that.
  std::string many = "{";
  for (int i = 0; i < 200'000; ++i) {
    many += fmt::format("{}\"{}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                        i == 0 ? "" : ",", i);
  }
  EXPECT_EQ(Refusal(dir_, Made(many + "}")), "");
}

}  // namespace
}  // namespace starling
