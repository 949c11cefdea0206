#include "wire/codec.h"

#include <gmock/gmock.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

using testing::ElementsAre;

constexpr std::size_t kElements = 64;

Header AHeader() {
  return {.slot = 3,
          .incarnation = 2,
          .sequence = 9,
          .term = 4,
          .version = 1000,
          .fingerprint = 0xFEDCBA9876543210};
}

Gradient AGradient() {
  return {.grant = 7,
          .samples = 160,
          .norm = 0.25,
          .policy_loss = -0.5,
          .value_loss = 1.5,
          .entropy = 1.75,
          .wait_us = 10,
          .refresh_us = 20,
          .act_us = 30,
          .act_wait_us = 35,
          .gradient_us = 40,
          .push_us = 50,
          .episodes = {{.episode_return = 12, .length = 345}, {.episode_return = -1, .length = 6}},
          .episodes_before = 1ull << 40,
          .episodes_cut = 3,
          .envs_replaced = 2};
}

std::vector<float> TensorOf(const Body& body) {
  return HasTensor(body) ? Ramp(kElements) : std::vector<float>{};
}

TEST(Codec, EveryKindComesBackAsItWasSent) {
  std::vector<Body> bodies = OneOfEachKind();
  bodies.insert(bodies.end(), {AGradient(), Gradient{.grant = 7, .buffer = 2, .samples = 160}});
  for (const Body& body : bodies) {
    const std::vector<float> tensor = TensorOf(body);
    const Frames frames = Encode(AHeader(), body, tensor);
    const DecodeResult result = Decode(View(frames), kElements);
    ASSERT_TRUE(result) << RefusalName(result.refusal);
    Header header = AHeader();
    header.kind = KindOf(body);
    header.element_type = tensor.empty() ? ElementType::kNone : ElementType::kF32;
    header.count = tensor.size();
    EXPECT_EQ(result.message.header, header);
    EXPECT_EQ(result.message.body, body) << KindName(header.kind);
    const std::span<const float> floats = result.message.floats();
    EXPECT_EQ(std::vector<float>(floats.begin(), floats.end()), tensor);
    if (!tensor.empty()) {
      EXPECT_EQ(floats.data(), tensor.data()) << "it is not copied";
    }
  }
}

TEST(Codec, TheHeaderIsTheTableOfTheReadmeByteByByte) {
  const std::array<float, 2> tensor = {1.0f, -2.0f};
  const Header header = {.slot = 0x01020304,
                         .incarnation = 0x11121314,
                         .sequence = 0x2122232425262728,
                         .term = 0x31323334,
                         .session = 0x61626364,
                         .version = 0x4142434445464748,
                         .fingerprint = 0x5152535455565758};
  const Frames frames = Encode(header, Weights{.steps = 5, .entropy = 0.5}, tensor);
  std::vector<std::uint8_t> expected = {
      'S',  'T',  'R',  'L',                           // 0 magic
      15,   0,                                         // 4 protocol
      7,                                               // 6 kind: weights
      1,                                               // 7 element type: f32
      0x04, 0x03, 0x02, 0x01,                          // 8 slot
      0x14, 0x13, 0x12, 0x11,                          // 12 incarnation
      0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,  // 16 sequence
      0x34, 0x33, 0x32, 0x31,                          // 24 term
      0x64, 0x63, 0x62, 0x61,                          // 28 session
      0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,  // 32 weight version
      2,    0,    0,    0,    0,    0,    0,    0,     // 40 element count
      0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,  // 48 fingerprint
      0,    0,    0,    0,    0,    0,    0,    0};    // 56 checksum, zero while it is computed
  const std::vector<std::uint8_t> fields = {
      0x82,                                            // map of two
      0xA5, 's',  't',  'e', 'p', 's', 0x05,           // "steps": 5
      0xA7, 'e',  'n',  't', 'r', 'o', 'p',  'y',      // "entropy":
      0xCB, 0x3F, 0xE0, 0,   0,   0,   0,    0,   0};  // float64 0.5, big-endian
  const std::vector<std::uint8_t> data = {0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0};  // 1.0f, -2.0f
  std::vector<std::uint8_t> all = expected;
  all.insert(all.end(), fields.begin(), fields.end());
  const std::uint64_t digest = XXH3_64bits(data.data(), data.size());
  for (int i = 0; i < 8; ++i) all.push_back(static_cast<std::uint8_t>(digest >> (8 * i)));
  const std::uint64_t checksum = XXH3_64bits(all.data(), all.size());
  std::memcpy(expected.data() + 56, &checksum, 8);

  const auto bytes = [](std::span<const std::byte> span) {
    std::vector<std::uint8_t> out(span.size());
    std::memcpy(out.data(), span.data(), span.size());
    return out;
  };
  EXPECT_EQ(bytes(frames.header_bytes()), expected);
  EXPECT_EQ(bytes(frames.field_bytes()), fields);
  EXPECT_EQ(bytes(frames.tensor), data);
}

TEST(Codec, ASharedTensorMakesTheSameMessageAsABorrowedOne) {
  const std::vector<float> tensor = Ramp(kElements);
  const std::shared_ptr<float[]> values = std::make_shared<float[]>(kElements);
  std::ranges::copy(tensor, values.get());
  const Frames borrowed = Encode(AHeader(), AGradient(), tensor);
  const Frames shared = Encode(AHeader(), AGradient(), SharedTensor(values, kElements));
  EXPECT_EQ(shared.header, borrowed.header);
  EXPECT_EQ(shared.fields, borrowed.fields);
  EXPECT_EQ(static_cast<const void*>(shared.tensor.data()), values.get());
  EXPECT_EQ(shared.owner, values);
  EXPECT_EQ(borrowed.owner, nullptr);
  const Frames nothing = Encode(AHeader(), Heartbeat{}, SharedTensor());
  EXPECT_EQ(nothing.header, Encode(AHeader(), Heartbeat{}).header);
}

// 1 + 2^-8 lies between 1 and 1 + 2^-7, the tie goes to even.
TEST(Codec, AnElementOfBf16HasTwoBytes) {
  const std::vector<float> values = {1, -2.5f, 1 + 0x1p-8f, 1 + 0x1.8p-8f, 3e38f};
  const Frames frames = Encode(AHeader(), AGradient(), Shared(values, ElementType::kBf16));
  EXPECT_EQ(frames.tensor.size(), 2 * values.size());
  const DecodeResult result = Decode(View(frames), kElements, ElementType::kBf16);
  ASSERT_TRUE(result) << RefusalName(result.refusal);
  EXPECT_EQ(result.message.header.count, values.size());
  const HeldTensor wide = result.message.Widened();
  EXPECT_THAT(wide.values, ElementsAre(1.0f, -2.5f, 1.0f, 1 + 0x1p-7f, 0x1.c4p127f));
  EXPECT_NE(wide.hold, nullptr);
  EXPECT_EQ(Decode(View(frames), kElements).refusal, Refusal::kElementType);
}

TEST(Codec, AnF32TensorIsNotCopiedToBeWidened) {
  const std::vector<float> tensor = Ramp(kElements);
  const Frames frames = Encode(AHeader(), AGradient(), tensor);
  const DecodeResult result = Decode(View(frames), kElements);
  const HeldTensor wide = result.message.Widened();
  EXPECT_EQ(wide.values.data(), tensor.data());
  EXPECT_EQ(wide.hold, nullptr);
}

TEST(Codec, EachMistakeOfABf16GradientIsRefusedByItsName) {
  const Raw good(Encode(AHeader(), AGradient(), Shared(Ramp(kElements), ElementType::kBf16)));
  const auto refusal = [&good](const std::function<void(Raw&)>& spoil) {
    Raw raw = good;
    spoil(raw);
    raw.FixChecksum();
    return Decode(raw.view(), kElements, ElementType::kBf16).refusal;
  };
  EXPECT_EQ(refusal([](Raw&) {}), Refusal::kNone);
  EXPECT_EQ(refusal([](Raw& raw) { raw.tensor.pop_back(); }), Refusal::kTensorSize);
  EXPECT_EQ(refusal([](Raw& raw) { raw.tensor.resize(2 * raw.tensor.size()); }),
            Refusal::kTensorSize);
  EXPECT_EQ(refusal([](Raw& raw) { raw.Set<std::uint8_t>(7, 1); }), Refusal::kElementType);
  EXPECT_EQ(refusal([](Raw& raw) { raw.Set<std::uint64_t>(40, kElements + 1); }),
            Refusal::kTensorTooLarge);
}

struct Spoilt {
  const char* name;
  std::function<void(Raw&)> spoil;
  Refusal refusal;
};

TEST(Codec, EachMistakeOfAGradientIsRefusedByItsName) {
  const std::vector<Spoilt> table = {
      {"nothing", [](Raw&) {}, Refusal::kNone},
      {"header short", [](Raw& raw) { raw.header.pop_back(); }, Refusal::kHeaderSize},
      {"header long", [](Raw& raw) { raw.header.push_back({}); }, Refusal::kHeaderSize},
      {"header empty", [](Raw& raw) { raw.header.clear(); }, Refusal::kHeaderSize},
      {"magic", [](Raw& raw) { raw.header[0] = std::byte{'X'}; }, Refusal::kMagic},
      {"protocol", [](Raw& raw) { raw.Set<std::uint16_t>(4, 1); }, Refusal::kProtocol},
      {"kind 0", [](Raw& raw) { raw.Set<std::uint8_t>(6, 0); }, Refusal::kKind},
      {"kind 22", [](Raw& raw) { raw.Set<std::uint8_t>(6, 22); }, Refusal::kKind},
      {"kind 255", [](Raw& raw) { raw.Set<std::uint8_t>(6, 255); }, Refusal::kKind},
      {"element type 0", [](Raw& raw) { raw.Set<std::uint8_t>(7, 0); }, Refusal::kCount},
      {"bf16", [](Raw& raw) { raw.Set<std::uint8_t>(7, 2); }, Refusal::kElementType},
      {"element type 3", [](Raw& raw) { raw.Set<std::uint8_t>(7, 3); }, Refusal::kElementType},
      {"count 0", [](Raw& raw) { raw.Set<std::uint64_t>(40, 0); }, Refusal::kCount},
      {"count too large", [](Raw& raw) { raw.Set<std::uint64_t>(40, kElements + 1); },
       Refusal::kTensorTooLarge},
      {"count whose bytes overflow to the right size",
       [](Raw& raw) { raw.Set<std::uint64_t>(40, (std::uint64_t{1} << 62) + kElements); },
       Refusal::kTensorTooLarge},
      {"count too small", [](Raw& raw) { raw.Set<std::uint64_t>(40, kElements - 1); },
       Refusal::kTensorSize},
      {"tensor short", [](Raw& raw) { raw.tensor.pop_back(); }, Refusal::kTensorSize},
      {"tensor empty", [](Raw& raw) { raw.tensor.clear(); }, Refusal::kTensorSize},
      {"tensor long", [](Raw& raw) { raw.tensor.resize(raw.tensor.size() + 4); },
       Refusal::kTensorSize},
      {"fields too large", [](Raw& raw) { raw.fields.resize(kMaxFieldsBytes + 1); },
       Refusal::kFieldsTooLarge},
      {"no fields", [](Raw& raw) { raw.fields.clear(); }, Refusal::kFields},
      {"a byte behind the fields", [](Raw& raw) { raw.fields.push_back({}); }, Refusal::kFields},
      {"fields of another kind", [](Raw& raw) { raw.fields = {std::byte{0x80}}; },
       Refusal::kFields},
  };
  for (const Spoilt& entry : table) {
    Raw raw(Encode(AHeader(), AGradient(), Ramp(kElements)));
    entry.spoil(raw);
    raw.FixChecksum();
    EXPECT_STREQ(RefusalName(Decode(raw.view(), kElements).refusal), RefusalName(entry.refusal))
        << entry.name;
  }
}

TEST(Codec, OtherThanThreeFramesIsRefused) {
  const Raw raw(Encode(AHeader(), AGradient(), Ramp(kElements)));
  for (const std::size_t count : {0, 1, 2, 4, 1000}) {
    FrameView view = raw.view();
    view.count = count;
    EXPECT_EQ(Decode(view, kElements).refusal, Refusal::kFrameCount) << count;
  }
}

TEST(Codec, AHeartbeatBringsNoTensor) {
  Raw raw(Encode(AHeader(), Heartbeat{}));
  raw.tensor.resize(4);
  raw.FixChecksum();
  EXPECT_EQ(Decode(raw.view(), kElements).refusal, Refusal::kTensorSize);
  raw.Set<std::uint64_t>(40, 1);
  raw.FixChecksum();
  EXPECT_EQ(Decode(raw.view(), kElements).refusal, Refusal::kCount);
  raw.Set<std::uint8_t>(7, 1);
  raw.FixChecksum();
  EXPECT_EQ(Decode(raw.view(), kElements).refusal, Refusal::kElementType);
}

TEST(Codec, EveryFlippedBitIsNoticed) {
  const Raw good(Encode(AHeader(), AGradient(), Ramp(kElements)));
  const auto flip_all = [&](std::vector<std::byte> Raw::*frame) {
    for (std::size_t bit = 0; bit < 8 * (good.*frame).size(); ++bit) {
      Raw raw = good;
      (raw.*frame)[bit / 8] ^= std::byte{1} << bit % 8;
      EXPECT_NE(Decode(raw.view(), kElements).refusal, Refusal::kNone) << bit;
    }
  };
  flip_all(&Raw::header);
  flip_all(&Raw::fields);
  flip_all(&Raw::tensor);
}

TEST(Codec, NumbersThatAreNoNumbersPass) {
  // They are for the judge to refuse and to answer, so the codec must not swallow them.
  Gradient gradient = AGradient();
  gradient.norm = std::numeric_limits<double>::quiet_NaN();
  std::vector<float> tensor = Ramp(kElements);
  tensor[5] = std::numeric_limits<float>::infinity();
  const Frames frames = Encode(AHeader(), gradient, tensor);
  const DecodeResult result = Decode(View(frames), kElements);
  ASSERT_TRUE(result);
  EXPECT_NE(std::get<Gradient>(result.message.body).norm,
            std::get<Gradient>(result.message.body).norm);
  EXPECT_EQ(result.message.floats()[5], std::numeric_limits<float>::infinity());
}

// A gradient with both, or with neither, is refused.
TEST(Codec, AGradientIsInABufferOrInATensor) {
  Gradient in_buffer = AGradient();
  in_buffer.buffer = 1;
  const std::vector<float> tensor = Ramp(kElements);
  const Frames without = Encode(AHeader(), in_buffer),
               with = Encode(AHeader(), AGradient(), tensor);
  const auto refusal = [](const Frames& head, const Frames& fields) {
    Raw mixed(head);
    mixed.fields = Raw(fields).fields;
    mixed.FixChecksum();
    return Decode(mixed.view(), kElements).refusal;
  };
  EXPECT_EQ(refusal(with, without), Refusal::kCount);
  EXPECT_EQ(refusal(without, with), Refusal::kCount);
  EXPECT_EQ(refusal(with, with), Refusal::kNone) << "the way the test mixes them is right";
}

TEST(CodecDeathTest, OurOwnMistakesAreChecked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Encode(AHeader(), AGradient()), "HasTensor");
  EXPECT_DEATH(Encode(AHeader(), Heartbeat{}, Ramp(1)), "HasTensor");
  Gradient crowded;
  crowded.episodes.resize(kMaxEpisodes + 1);
  EXPECT_DEATH(Encode(AHeader(), crowded, Ramp(1)), "values.size.. <= limit");
  alignas(4) std::array<std::byte, 8> bytes{};
  Message message;
  message.tensor = std::span<const std::byte>(bytes).subspan(1, 4);
  EXPECT_DEATH(message.floats(), "alignof.float");
  message.header = {.element_type = ElementType::kBf16, .count = 2};
  EXPECT_DEATH(message.floats(), "bf16 as floats");
  std::array<float, 3> room{};
  EXPECT_DEATH(message.CopyTo(room), "2 elements into room for 3");
}

}  // namespace
}  // namespace starling::wire
