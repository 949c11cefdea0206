#include "wire/fields.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace starling::wire {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

template <class T>
bool Accepts(const std::string& bytes, T& out) {
  Body body;
  if (!UnpackFields(KindOf(T{}), Bytes(bytes), body)) return false;
  out = std::get<T>(body);
  return true;
}

template <class T>
bool Accepts(const std::string& bytes) {
  T ignored;
  return Accepts(bytes, ignored);
}

// MessagePack by hand, after its specification.
std::string Str(const std::string& text) {
  return std::string(1, static_cast<char>(0xA0 | text.size())) + text;
}
std::string Map(std::size_t entries) { return std::string(1, static_cast<char>(0x80 | entries)); }
std::string Array(std::size_t size) { return std::string(1, static_cast<char>(0x90 | size)); }
std::string Big(unsigned char type, std::uint64_t value, int bytes) {
  std::string out(1, static_cast<char>(type));
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
  return out;
}
std::string Float64(std::uint64_t bits) { return Big(0xCB, bits, 8); }
const std::string kNil = "\xC0", kTrue = "\xC3";

TEST(Fields, AnAnswerByHand) {
  const std::string no_grant = Array(3) + "\x06" + "\x04" + std::string(1, '\0');
  const std::string bytes = Map(4) + Str("outcomes") + Array(2) + Array(3) + "\x05\x02\x01" +
                            no_grant + Str("grants") + Array(1) + Array(4) + "\x08" +
                            Big(0xCD, 1001, 2) + "\x07\x01" + Str("cut") + "\x09" + Str("weights") +
                            "\x01";
  const Answer answer = {.outcomes = {{.gradient = 5, .outcome = Outcome::kMerged, .staleness = 1},
                                      {.gradient = 6, .outcome = Outcome::kNoGrant}},
                         .grants = {{.number = 8, .version = 1001, .use = 7, .acting = 1}},
                         .cut = 9,
                         .weights = 1};
  EXPECT_EQ(PackFields(answer), bytes);
  Answer read;
  ASSERT_TRUE(Accepts(bytes, read));
  EXPECT_EQ(read, answer);
}

TEST(Fields, UnknownKeysAreIgnoredWhateverTheyHold) {
  const std::string known = Str("version") + "\x07";
  for (const std::string& value :
       {kNil, kTrue, Str("x"), Map(1) + Str("a") + Array(1) + kNil, Float64(0)}) {
    Fetch fetch;
    ASSERT_TRUE(Accepts(Map(2) + Str("later") + value + known, fetch));
    EXPECT_EQ(fetch.version, 7u);
    EXPECT_TRUE(Accepts<Fetch>(Map(2) + known + Str("later") + value));
    EXPECT_TRUE(Accepts<Heartbeat>(Map(1) + Str("later") + value));
  }
}

TEST(Fields, AMissingKeyIsRefused) {
  EXPECT_FALSE(Accepts<Fetch>(Map(0)));
  EXPECT_FALSE(Accepts<Weights>(Map(1) + Str("steps") + "\x05"));
  EXPECT_FALSE(Accepts<Leave>(Map(1) + Str("reason") + std::string(1, '\0')));
}

TEST(Fields, ADoubledKeyIsRefused) {
  const std::string entry = Str("version") + "\x07";
  EXPECT_TRUE(Accepts<Fetch>(Map(1) + entry));
  EXPECT_FALSE(Accepts<Fetch>(Map(2) + entry + entry));
}

TEST(Fields, OnlyAMapWithStringKeysIsABody) {
  EXPECT_TRUE(Accepts<Heartbeat>(Map(0)));
  EXPECT_FALSE(Accepts<Heartbeat>(Array(0)));
  EXPECT_FALSE(Accepts<Heartbeat>(kNil));
  EXPECT_FALSE(Accepts<Heartbeat>(""));
  EXPECT_FALSE(Accepts<Heartbeat>("\xC1"));  // never used by the format
  EXPECT_FALSE(Accepts<Heartbeat>(Map(0) + Map(0)));
  EXPECT_FALSE(Accepts<Heartbeat>(Map(1) + "\x01" + kNil));
}

TEST(Fields, AWrongTypeIsRefused) {
  for (const std::string& value :
       {kNil, kTrue, Str("7"), Float64(0), Array(0), Map(0), std::string("\xFF") /* -1 */}) {
    EXPECT_FALSE(Accepts<Fetch>(Map(1) + Str("version") + value));
  }
  const std::string steps = Str("steps") + "\x05";
  EXPECT_TRUE(Accepts<Weights>(Map(2) + steps + Str("entropy") + Float64(0)));
  EXPECT_TRUE(Accepts<Weights>(Map(2) + steps + Str("entropy") + Big(0xCA, 0, 4)));  // float32
  for (const std::string& value : {kNil, kTrue, Str("7"), Array(0), Map(0)}) {
    EXPECT_FALSE(Accepts<Weights>(Map(2) + steps + Str("entropy") + value));
  }
}

std::string HelloBytes(const std::string& slot, const std::string& host, const std::string& pid) {
  return Map(4) + Str("slot") + slot + Str("host") + host + Str("pid") + pid + Str("fresh") +
         "\x01";
}

TEST(Fields, WholeRealsTravelAsIntegers) {
  const std::string steps = Str("steps") + "\x05";
  Weights weights;
  ASSERT_TRUE(Accepts(Map(2) + steps + Str("entropy") + "\x03", weights));
  EXPECT_EQ(weights.entropy, 3.0);
  ASSERT_TRUE(Accepts(Map(2) + steps + Str("entropy") + "\xFE", weights));
  EXPECT_EQ(weights.entropy, -2.0);
  for (const double value : {0.0, -1.0, 0.1, -1e300, 1e19, 4294967296.0, 0x1p63, 0x1p64, -0x1p63}) {
    ASSERT_TRUE(Accepts(PackFields(Weights{.entropy = value}), weights));
    EXPECT_EQ(weights.entropy, value);
  }
}

TEST(Fields, NumbersMustFit) {
  Hello hello;
  ASSERT_TRUE(
      Accepts(HelloBytes(Big(0xD3, 1ull << 63, 8), Str("h"), Big(0xCE, 0xFFFFFFFF, 4)), hello));
  EXPECT_EQ(hello.slot, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(hello.pid, 0xFFFFFFFFu);
  ASSERT_TRUE(Accepts(HelloBytes(Big(0xCF, (1ull << 63) - 1, 8), Str("h"), "\x01"), hello));
  EXPECT_EQ(hello.slot, std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(Accepts<Hello>(HelloBytes(Big(0xCF, 1ull << 63, 8), Str("h"), "\x01")));
  EXPECT_FALSE(Accepts<Hello>(HelloBytes("\x01", Str("h"), Big(0xCF, 1ull << 32, 8))));
}

std::string LeaveBytes(const std::string& reason, const std::string& text) {
  return Map(2) + Str("reason") + reason + Str("text") + text;
}

TEST(Fields, EnumeratorsMustBeKnown) {
  Leave leave;
  ASSERT_TRUE(Accepts(LeaveBytes("\x03", Str("x")), leave));
  EXPECT_EQ(leave.reason, LeaveReason::kLeaving);
  EXPECT_FALSE(Accepts<Leave>(LeaveBytes("\x04", Str("x"))));
  EXPECT_FALSE(Accepts<Leave>(LeaveBytes(Big(0xCF, 1ull << 32, 8), Str("x"))));  // 0 in 32 bits
}

TEST(Fields, StringsHaveALimit) {
  const auto text = [](std::size_t size) { return Big(0xDA, size, 2) + std::string(size, 'x'); };
  EXPECT_TRUE(Accepts<Leave>(LeaveBytes("\x01", text(kMaxTextBytes))));
  EXPECT_FALSE(Accepts<Leave>(LeaveBytes("\x01", text(kMaxTextBytes + 1))));
}

TEST(Fields, ListsHaveALimitAndItemsASize) {
  const auto answer = [](const std::string& grants) {
    return Map(4) + Str("outcomes") + Array(0) + Str("grants") + grants + Str("cut") + "\x01" +
           Str("weights") + "\x01";
  };
  const auto grants_of = [](std::size_t count) {
    std::string out = Big(0xDC, count, 2);
    for (std::size_t i = 0; i < count; ++i) out += Array(4) + "\x01\x02\x03\x01";
    return out;
  };
  Answer read;
  ASSERT_TRUE(Accepts(answer(grants_of(kMaxGrants)), read));
  EXPECT_EQ(read.grants.size(), kMaxGrants);
  EXPECT_FALSE(Accepts<Answer>(answer(grants_of(kMaxGrants + 1))));
  EXPECT_FALSE(Accepts<Answer>(answer(Array(1) + Array(1) + "\x01")));
  EXPECT_FALSE(Accepts<Answer>(answer(Array(1) + Array(5) + "\x01\x02\x03\x01\x05")));
  EXPECT_FALSE(Accepts<Answer>(answer(Array(1) + "\x01")));
  EXPECT_FALSE(Accepts<Answer>(answer(Array(1) + Array(4) + "\x01" + kNil + "\x01\x01")));
}

TEST(Fields, AnUnknownOutcomeIsRefused) {
  const auto answer = [](std::size_t outcome) {
    return Map(4) + Str("outcomes") + Array(1) + Array(3) + "\x05" + static_cast<char>(outcome) +
           "\x01" + Str("grants") + Array(0) + Str("cut") + "\x01" + Str("weights") + "\x01";
  };
  EXPECT_TRUE(Accepts<Answer>(answer(kOutcomes - 1)));
  EXPECT_FALSE(Accepts<Answer>(answer(kOutcomes)));
}

TEST(Fields, FiveBytesThatAskForGigabytesAreRefused) {
  for (const std::string& value :
       {Big(0xDD, 0xFFFFFFFF, 4), Big(0xDF, 0xFFFFFFFF, 4), Big(0xDB, 0xFFFFFFFF, 4),
        Big(0xC6, 0xFFFFFFFF, 4), Big(0xC9, 0xFFFFFFFF, 4) + "\x01"}) {
    EXPECT_FALSE(Accepts<Heartbeat>(value));
    EXPECT_FALSE(Accepts<Heartbeat>(Map(1) + Str("later") + value));
  }
}

TEST(Fields, DepthIsLimited) {
  const auto nested = [](std::size_t depth) {
    return Map(1) + Str("later") + std::string(depth, '\x91') + kNil;
  };
  EXPECT_TRUE(Accepts<Heartbeat>(nested(kMaxFieldsDepth - 1)));
  EXPECT_FALSE(Accepts<Heartbeat>(nested(kMaxFieldsDepth)));
  EXPECT_FALSE(Accepts<Heartbeat>(nested(kMaxFieldsBytes - 8)));
}

TEST(Fields, TheLargestBodiesFit) {
  Gradient gradient;
  gradient.episodes.assign(
      kMaxEpisodes, {.episode_return = 1, .length = std::numeric_limits<std::uint64_t>::max()});
  Gradient read;
  ASSERT_TRUE(Accepts(PackFields(gradient), read));
  EXPECT_EQ(read, gradient);
  const std::string path(kMaxTextBytes, 'p');
  const Welcome welcome = {std::string(kMaxConfigBytes, 'c'), path, path};
  Welcome welcome_read;
  ASSERT_TRUE(Accepts(PackFields(welcome), welcome_read));
  EXPECT_EQ(welcome_read, welcome);
}

TEST(Fields, ALongFarewellIsCutBetweenCharacters) {
  Leave read;
  ASSERT_TRUE(Accepts(PackFields(Leave{.text = std::string(2000, 'x')}), read));
  EXPECT_EQ(read.text, std::string(kMaxTextBytes, 'x'));
  // 1023 one-byte characters and then two-byte ones: the first of these does not fit.
  std::string accents(kMaxTextBytes - 1, 'x');
  for (int i = 0; i < 10; ++i) accents += "\xC3\xA9";
  ASSERT_TRUE(Accepts(PackFields(Leave{.text = accents}), read));
  EXPECT_EQ(read.text, std::string(kMaxTextBytes - 1, 'x'));
}

}  // namespace
}  // namespace starling::wire
