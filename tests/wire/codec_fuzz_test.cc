// Any bytes at all: the decoder returns a refusal or a message. Run under AddressSanitizer this
// also shows that it reads nothing outside its frames, which are allocated with exactly their
// lengths.
#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"
#include "tests/wire/wire_test_util.h"
#include "wire/codec.h"

namespace starling::wire {
namespace {

constexpr std::size_t kFuzzElements = 32;
constexpr int kRounds = 20'000;  // for each of the fuzzers below

// A valid message of every kind.
std::vector<Raw> Seeds() {
  std::vector<Raw> seeds;
  for (const Body& body : OneOfEachKind()) {
    const std::vector<float> tensor = Ramp(HasTensor(body) ? kFuzzElements : 0);
    const Header header{.slot = 1, .sequence = 2, .term = 1, .version = 5};
    seeds.emplace_back(Encode(header, body, tensor));
    if (tensor.empty()) continue;
    seeds.emplace_back(Encode(header, body, Shared(tensor, ElementType::kBf16)));
  }
  return seeds;
}

// An accepted message is complete: it can be sent on, and means the same again.
bool JudgeAs(const Raw& raw, ElementType type) {
  const DecodeResult result = Decode(raw.view(), kFuzzElements, type);
  if (!result) return false;
  const Message& message = result.message;
  const SharedTensor tensor =
      message.header.count == 0 ? SharedTensor() : Shared(message.Widened().values, type);
  const Frames again = Encode(message.header, message.body, tensor);
  const DecodeResult second = Decode(View(again), kFuzzElements, type);
  EXPECT_TRUE(second) << RefusalName(second.refusal);
  EXPECT_EQ(second.message.header, message.header);
  EXPECT_EQ(Encode(second.message.header, second.message.body, tensor).fields, again.fields);
  return true;
}

bool Judge(const Raw& raw) {
  const bool f32 = JudgeAs(raw, ElementType::kF32), bf16 = JudgeAs(raw, ElementType::kBf16);
  return f32 || bf16;
}

std::vector<std::byte> RandomBytes(RandomStream& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
  return bytes;
}

void Mutate(RandomStream& random, std::vector<std::byte>& bytes) {
  const auto at = [&](std::size_t size) {
    return static_cast<std::ptrdiff_t>(random.Below(static_cast<std::uint32_t>(size)));
  };
  switch (random.Below(bytes.empty() ? 1 : 5)) {
    case 0:
      bytes.insert(bytes.begin() + at(bytes.size() + 1), static_cast<std::byte>(random.Below(256)));
      break;
    case 1:
      bytes[static_cast<std::size_t>(at(bytes.size()))] = static_cast<std::byte>(random.Below(256));
      break;
    case 2:
      bytes[static_cast<std::size_t>(at(bytes.size()))] ^= std::byte{1} << random.Below(8);
      break;
    case 3:
      bytes.erase(bytes.begin() + at(bytes.size()));
      break;
    case 4:  // repeat a piece: doubled keys, shifted counts
      const auto from = at(bytes.size());
      const auto to = from + at(bytes.size() - static_cast<std::size_t>(from)) + 1;
      const std::vector<std::byte> piece(bytes.begin() + from, bytes.begin() + to);
      bytes.insert(bytes.begin() + at(bytes.size() + 1), piece.begin(), piece.end());
      break;
  }
  bytes.shrink_to_fit();
}

TEST(CodecFuzz, MutatedFramesWithoutANewChecksumAreRefused) {
  RandomStream random({.seed = 1});
  const std::vector<Raw> seeds = Seeds();
  for (int round = 0; round < kRounds; ++round) {
    const Raw& seed = seeds[static_cast<std::size_t>(round) % seeds.size()];
    Raw raw = seed;
    std::vector<std::byte>* frames[] = {&raw.header, &raw.fields, &raw.tensor};
    Mutate(random, *frames[random.Below(3)]);
    const bool same =
        raw.header == seed.header && raw.fields == seed.fields && raw.tensor == seed.tensor;
    EXPECT_EQ(Judge(raw), same);
  }
}

TEST(CodecFuzz, MutatedFieldsBehindAGoodChecksum) {
  RandomStream random({.seed = 2});
  const std::vector<Raw> seeds = Seeds();
  int accepted = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    Raw raw = seeds[static_cast<std::size_t>(round) % seeds.size()];
    for (std::uint32_t times = random.Below(4) + 1; times > 0; --times) Mutate(random, raw.fields);
    raw.FixChecksum();
    accepted += Judge(raw) ? 1 : 0;
  }
  // Some mutations only change a value; if none passed, the checksum would hide the rest.
  EXPECT_GT(accepted, kRounds / 100);
  EXPECT_LT(accepted, kRounds);
}

TEST(CodecFuzz, MutatedHeadersBehindAGoodChecksum) {
  RandomStream random({.seed = 3});
  const std::vector<Raw> seeds = Seeds();
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    Raw raw = seeds[static_cast<std::size_t>(round) % seeds.size()];
    Mutate(random, raw.header);
    raw.FixChecksum();
    accepted += Judge(raw) ? 1 : 0;
  }
  EXPECT_GT(accepted, kRounds / 100);
}

TEST(CodecFuzz, RandomBytesAsFields) {
  RandomStream random({.seed = 4});
  const std::vector<Raw> seeds = Seeds();
  for (int round = 0; round < kRounds; ++round) {
    Raw raw = seeds[static_cast<std::size_t>(round) % seeds.size()];
    raw.fields = RandomBytes(random, random.Below(64));
    // Mostly a map of a few entries, so that more than the first byte is looked at.
    if (!raw.fields.empty() && round % 4 != 0) {
      raw.fields[0] = static_cast<std::byte>(0x80 + random.Below(5));
    }
    raw.FixChecksum();
    Judge(raw);
  }
}

TEST(CodecFuzz, RandomFrames) {
  RandomStream random({.seed = 5});
  for (int round = 0; round < kRounds; ++round) {
    Raw raw;
    raw.header = RandomBytes(random, random.Below(2) == 0 ? kHeaderBytes : random.Below(130));
    raw.fields = RandomBytes(random, random.Below(64));
    raw.tensor = RandomBytes(random, random.Below(64));
    EXPECT_FALSE(Judge(raw));
  }
}

TEST(CodecFuzz, TruncatedAtEveryLength) {
  for (const Raw& seed : Seeds()) {
    for (std::vector<std::byte> Raw::*frame : {&Raw::header, &Raw::fields, &Raw::tensor}) {
      for (std::size_t length = 0; length < (seed.*frame).size(); ++length) {
        Raw raw = seed;
        (raw.*frame).resize(length);
        (raw.*frame).shrink_to_fit();
        EXPECT_FALSE(Judge(raw));
        raw.FixChecksum();
        EXPECT_FALSE(Judge(raw));
      }
    }
  }
}

}  // namespace
}  // namespace starling::wire
