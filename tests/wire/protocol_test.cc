#include "wire/protocol.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wire/codec.h"

namespace starling::wire {
namespace {

// The names are keys of summary.json and labels of counters: two of the same would be summed up.
template <class Enum>
void ExpectDistinctNames(std::size_t first, std::size_t count, const char* (*name)(Enum)) {
  std::set<std::string> names;
  for (std::size_t i = first; i < first + count; ++i) names.insert(name(static_cast<Enum>(i)));
  EXPECT_EQ(names.size(), count);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(name(static_cast<Enum>(first + count)), "unknown");
}

TEST(Protocol, EveryEnumeratorHasANameOfItsOwn) {
  ExpectDistinctNames<Outcome>(0, kOutcomes, OutcomeName);
  ExpectDistinctNames<Kind>(1, kKinds, KindName);
  ExpectDistinctNames<Refusal>(0, kRefusals, RefusalName);
}

// The names are tables in the order of the enums.
TEST(Protocol, TheNamesAreInTheOrderOfTheEnumerators) {
  EXPECT_STREQ(OutcomeName(Outcome::kDuplicate), "duplicate");
  EXPECT_STREQ(OutcomeName(Outcome::kNoBuffer), "no_buffer");
  EXPECT_STREQ(OutcomeName(Outcome::kWrongUse), "wrong_use");
  EXPECT_STREQ(KindName(Kind::kLeave), "leave");
  EXPECT_STREQ(KindName(Kind::kReloadKeys), "reload_keys");
  EXPECT_STREQ(RefusalName(Refusal::kCount), "count");
  EXPECT_STREQ(RefusalName(Refusal::kFields), "fields");
}

TEST(Protocol, TheOrderOfTheBodiesIsTheOrderOfTheKinds) {
  EXPECT_EQ(KindOf(Hello{}), Kind::kHello);
  EXPECT_EQ(KindOf(Welcome{}), Kind::kWelcome);
  EXPECT_EQ(KindOf(Gradient{}), Kind::kGradient);
  EXPECT_EQ(KindOf(Answer{}), Kind::kAnswer);
  EXPECT_EQ(KindOf(Heartbeat{}), Kind::kHeartbeat);
  EXPECT_EQ(KindOf(Fetch{}), Kind::kFetch);
  EXPECT_EQ(KindOf(Weights{}), Kind::kWeights);
  EXPECT_EQ(KindOf(Leave{}), Kind::kLeave);
  EXPECT_EQ(static_cast<int>(Kind::kLeave), 8);
}

}  // namespace
}  // namespace starling::wire
