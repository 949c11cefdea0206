// What an actor says while there is no learner.
#include <gtest/gtest.h>

#include <vector>

#include "actors/learner_client.h"

namespace starling::actors {
namespace {

// Each reading is a fifth of a second after the one before.
class HurryingClock final : public Clock {
 public:
  std::int64_t NowNs() const override { return now_ns_ += 200'000'000; }

 private:
  mutable std::int64_t now_ns_ = 0;
};

TEST(LearnerClientPatience, SaysSoAfterTenSecondsAndNotInEveryTurn) {
  const HurryingClock clock;
  std::vector<std::int64_t> left;
  LearnerClient client({.find_endpoint = [] { return std::nullopt; },
                        .connect_timeout_s = 15,
                        .on_waiting = [&](std::int64_t left_ms) { left.push_back(left_ms); },
                        .clock = &clock});
  EXPECT_FALSE(client.Join());
  EXPECT_EQ(client.state(), ClientState::kUnreachable);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_GT(left[0], 3'000);
  EXPECT_LE(left[0], 5'000);
}

}  // namespace
}  // namespace starling::actors
