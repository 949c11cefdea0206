// What a seat refuses, and what the learner does then: nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/actors/scripted_learner.h"
#include "tests/api/seat_fixture.h"

namespace starling::api {
namespace {

using testing::HasSubstr;

class SeatMistakeTest : public SeatTest {
 protected:
  // Pushes a good gradient under the grant that is there.
  void ExpectGrantIsThere(const SeatHandle& seat) {
    ASSERT_EQ(Push(seat, gradient_.data()), STARLING_OK) << starling_error();
    TakeTurn(seat);
    EXPECT_EQ(FactsOf(seat).applied, 1u);
    EXPECT_EQ(FactsOf(seat).refused, 0u) << FactsOf(seat).refusal;
  }
  static starling_seat_options Options(const char* secret, const char* learner_key,
                                       double connect_timeout = 0, std::int32_t slot = 0) {
    return {.size = sizeof(starling_seat_options),
            .secret = secret,
            .learner_key = learner_key,
            .connect_timeout = connect_timeout,
            .slot = slot,
            .reserved = 0};
  }
  std::vector<float> gradient_ = std::vector<float>(kNumbers, 0.25f);
};

TEST_F(SeatMistakeTest, AGradientThatIsNotFinite) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    gradient_[17] = bad;
    ExpectMistake(Push(seat, gradient_.data()),
                  fmt::format("gradient of weight: number 17 of 20 is {}", bad));
  }
  gradient_[17] = 0.25f;
  gradient_[31] = std::nanf("");  // between tensors is nothing
  ExpectGrantIsThere(seat);
}

TEST_F(SeatMistakeTest, AGradientWithoutAGrant) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  ExpectMistake(Push(seat, gradient_.data()), "there is no grant for it");
  TakeTurn(seat);
  ASSERT_EQ(Push(seat, gradient_.data()), STARLING_OK);
  ExpectMistake(Push(seat, gradient_.data()), "there is no grant for it");
}

TEST_F(SeatMistakeTest, AGradientOfOtherWeights) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  starling_grant grant;
  ASSERT_EQ(Next(seat, grant), STARLING_OK);
  ExpectMistake(Push(seat, gradient_.data()), "none were fetched since this seat joined");
  ASSERT_EQ(Weights(seat), STARLING_OK);
  ASSERT_EQ(Push(seat, gradient_.data()), STARLING_OK);
  ASSERT_EQ(Next(seat, grant), STARLING_OK);
  EXPECT_EQ(grant.version, 1u);
  ExpectMistake(Push(seat, gradient_.data()),
                "its weights are of version 0, and the grant asks for 1");
}

TEST_F(SeatMistakeTest, APushThatIsNone) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  ExpectMistake(Push(seat, nullptr), "gradient is NULL");
  ExpectMistake(Push(seat, gradient_.data(), 0), "samples is 0: it is at least 1");
  ExpectMistake(Push(seat, gradient_.data(), 1'000'001), "at most 1000000");
  starling_push push{};
  ExpectMistake(starling_seat_push(seat.get(), gradient_.data(), &push),
                "push->size is 0: set it to sizeof *push");
  push.size = sizeof(push);
  push.samples = 1;
  push.episodes = 1;
  ExpectMistake(starling_seat_push(seat.get(), gradient_.data(), &push), "push->returns is NULL");
  const double endless = std::numeric_limits<double>::infinity();
  const std::uint64_t length = 1;
  push.returns = &endless;
  push.lengths = &length;
  ExpectMistake(starling_seat_push(seat.get(), gradient_.data(), &push),
                "the return of an episode is inf");
  push.episodes = -1;
  ExpectMistake(starling_seat_push(seat.get(), gradient_.data(), &push), "push->episodes is -1");
  push.episodes = 0;
  push.value_loss = endless;
  ExpectMistake(starling_seat_push(seat.get(), gradient_.data(), &push), "a loss is inf");
  ExpectGrantIsThere(seat);
}

TEST_F(SeatMistakeTest, ASeatBeforeItHasJoined) {
  const SeatHandle seat = Open((dir_ / "nowhere").string());
  starling_grant grant;
  ExpectMistake(Next(seat, grant, 0), "this seat has not joined yet");
  ExpectMistake(Weights(seat), "this seat has not joined yet");
  EXPECT_STREQ(starling_seat_config(seat.get()), "");
  EXPECT_EQ(starling_seat_join(seat.get(), 0), STARLING_LATER) << "there may be a learner soon";
  ExpectMistake(starling_seat_join(nullptr, 0), "seat is NULL");
  ExpectMistake(starling_seat_join(seat.get(), std::nan("")), "seconds is not a number");
}

TEST_F(SeatMistakeTest, ARunOfANetThatIsStarlings) {
  Start();
  const SeatHandle seat = Open(Endpoint());
  ExpectMistake(starling_seat_join(seat.get(), kPatienceS),
                "a seat is for net.kind = \"external\"");
  ExpectMistake(starling_seat_join(seat.get(), 0), "a seat is for net.kind = \"external\"");
}

TEST_F(SeatMistakeTest, NoLearnerAtAll) {
  const SeatHandle seat = Open((dir_ / "nowhere").string(), Options({}, {}, 0.05));
  for (int attempt = 0; attempt < 2; ++attempt) {  // another call tries again
    EXPECT_EQ(starling_seat_join(seat.get(), kPatienceS), STARLING_FAILED);
    EXPECT_THAT(starling_error(), HasSubstr("no learner within 0.05 s at " + dir_.path().string()));
  }
}

// Closing it crashed.
TEST_F(SeatMistakeTest, AnEndpointThatIsNone) {
  std::ofstream(dir_ / "endpoint") << "http://x\n";
  const SeatHandle seat = Open((dir_ / "endpoint").string());
  ExpectMistake(starling_seat_join(seat.get(), kPatienceS), "http://x");
}

// Also a program that never waits.
TEST_F(SeatMistakeTest, NoLearnerForAProgramThatPolls) {
  const SeatHandle seat = Open((dir_ / "nowhere").string(), Options({}, {}, 0.05));
  starling_status status = STARLING_LATER;
  while (status == STARLING_LATER) status = starling_seat_join(seat.get(), 0.001);
  EXPECT_EQ(status, STARLING_FAILED);
  EXPECT_EQ(starling_seat_join(seat.get(), 0), STARLING_LATER) << "it tries again";
}

// Its threads are the parent's.
TEST_F(SeatMistakeTest, ASeatInAForkedChild) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  const pid_t child = ::fork();
  if (child == 0) {
    starling_grant grant{};
    grant.size = sizeof(grant);
    const starling_status status = starling_seat_next(seat.get(), -1, &grant);
    const bool said = std::string(starling_error()).find("the parent's") != std::string::npos;
    starling_seat_close(seat.get());
    ::_exit(status == STARLING_MISTAKE && said ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  TakeTurn(seat);
  ExpectGrantIsThere(seat);
}

TEST_F(SeatMistakeTest, APlaceThatIsNone) {
  starling_seat* seat = nullptr;
  const auto open = [&](const char* place, starling_seat_options options) {
    options.size = sizeof(options);
    return starling_seat_open(place, &options, &seat);
  };
  ExpectMistake(starling_seat_open("x", nullptr, nullptr), "seat is NULL");
  ExpectMistake(open("", {}), "place is empty");
  ExpectMistake(open("tcp://127.0.0.1:0", {}), "that is any port");
  ExpectMistake(open("tcp://127.0.0.1", {}), "tcp://127.0.0.1");
  ExpectMistake(open("x", Options("mine.secret", nullptr)), "go together");
  ExpectMistake(open(dir_.path().c_str(), Options("a", "b")), "a run directory has its keys");
  ExpectMistake(open("x", Options({}, {}, -1)), "connect_timeout is -1");
  ExpectMistake(open("x", Options({}, {}, 0, -1)), "slot is -1");
  ExpectMistake(open("x", Options({}, {}, 0, 65'537)), "slot is 65537");
  ExpectMistake(open(nullptr, {}), "no run has started this program");
  EXPECT_EQ(seat, nullptr);
}

// A learner that is not ours to trust.
TEST_F(SeatMistakeTest, ANetThatCannotBe) {
  const std::string endpoint = "ipc://" + (dir_ / "control").string();
  const std::string config = ToToml(
      ParseConfig("", "test.toml", {"net.kind=external", "net.initial=x", "wire.timeout_s=600"}));
  const std::vector<std::vector<wire::NamedShape>> nets = {
      {{"w", {0}}},
      {{"w", {-1}}},
      {{"w", {std::int64_t{1} << 40}}},
      {{"w", {std::int64_t{1} << 20, std::int64_t{1} << 20}}},
      {{"v", {1 << 27}}, {"w", {1 << 28}}},
      {{"w", {4}}, {"w", {4}}}};
  const auto expect = [&](const wire::Welcome& welcome, const std::string& sentence) {
    const actors::ScriptedLearner learner(endpoint, welcome);
    const SeatHandle seat = Open(endpoint);
    ExpectMistake(starling_seat_join(seat.get(), kPatienceS), sentence);
  };
  for (const std::vector<wire::NamedShape>& tensors : nets) {
    expect({.config = config, .tensors = tensors}, "net cannot be: its tensor w");
  }
  expect({.config = config}, "net cannot be: it has no tensors");
  expect({.config = config, .shards = {{"ipc:///x", ""}}, .tensors = {{"w", {16}}}},
         "welcome cannot be");
}

}  // namespace
}  // namespace starling::api
