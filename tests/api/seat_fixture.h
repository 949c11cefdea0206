// Seats of the C library, with a real learner in a thread of the test (tests/support).
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "api/starling_seat.h"
#include "tests/support/learner_fixture.h"

namespace starling::api {

struct CloseSeat {
  void operator()(starling_seat* seat) const { starling_seat_close(seat); }
};
using SeatHandle = std::unique_ptr<starling_seat, CloseSeat>;

class SeatTest : public LearnerFixture {
 protected:
  // 20 weights of 32 numbers: there is a gap.
  SeatTest() { floats_ = 20; }

  void StartExternal(const std::string& more = "", bool resume = false) {
    Start(
        "net.kind=external\nnet.initial=none\noptimizer.clip_norm=0\nupdates.start_with=1\n" + more,
        resume);
  }

  static SeatHandle Open(const std::string& place, starling_seat_options options = {}) {
    options.size = sizeof(options);
    starling_seat* seat = nullptr;
    EXPECT_EQ(starling_seat_open(place.c_str(), &options, &seat), STARLING_OK) << starling_error();
    return SeatHandle(seat);
  }
  SeatHandle JoinLearner() {
    SeatHandle seat = Open(Endpoint());
    EXPECT_EQ(starling_seat_join(seat.get(), kPatienceS), STARLING_OK) << starling_error();
    return seat;
  }

  static starling_seat_facts FactsOf(const SeatHandle& seat) {
    starling_seat_facts facts{};
    facts.size = sizeof(facts);
    EXPECT_EQ(starling_seat_get_facts(seat.get(), &facts), STARLING_OK) << starling_error();
    return facts;
  }
  static starling_status Next(const SeatHandle& seat, starling_grant& grant,
                              double seconds = kPatienceS) {
    grant = {};
    grant.size = sizeof(grant);
    return starling_seat_next(seat.get(), seconds, &grant);
  }
  starling_status Weights(const SeatHandle& seat) {
    return starling_seat_weights(seat.get(), weights_.data(), &held_);
  }
  static starling_status Push(const SeatHandle& seat, const float* gradient,
                              std::uint32_t samples = 4) {
    starling_push push{};
    push.size = sizeof(push);
    push.samples = samples;
    return starling_seat_push(seat.get(), gradient, &push);
  }
  // Waits for the next grant, and fetches its weights.
  void TakeTurn(const SeatHandle& seat) {
    starling_grant grant;
    ASSERT_EQ(Next(seat, grant), STARLING_OK) << starling_error();
    ASSERT_EQ(Weights(seat), STARLING_OK) << starling_error();
  }
  void ExpectMistake(starling_status status, const std::string& sentence) {
    EXPECT_EQ(status, STARLING_MISTAKE);
    EXPECT_THAT(starling_error(), testing::HasSubstr(sentence));
  }

  static constexpr double kPatienceS = 60;  // against tests that hang, not an expectation
  static constexpr std::size_t kNumbers = 32;
  std::vector<float> weights_ = std::vector<float>(kNumbers);
  starling_weights held_ = [] {
    starling_weights held{};
    held.size = sizeof(held);
    return held;
  }();
};

}  // namespace starling::api
