// A seat in a run: join, grants, weights, gradients.
#include <dirent.h>
#include <signal.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/actors/scripted_learner.h"
#include "tests/api/seat_fixture.h"

namespace starling::api {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// 20 equal weights, and zeros behind them.
std::vector<float> Row(float value) {
  std::vector<float> row(32);
  std::fill_n(row.begin(), 20, value);
  return row;
}

TEST_F(SeatTest, AGradientIsAppliedToTheWeights) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  const starling_seat_facts facts = FactsOf(seat);
  EXPECT_EQ(facts.numbers, kNumbers);
  EXPECT_EQ(facts.tensors, 1);
  EXPECT_EQ(facts.slot, 0u);
  EXPECT_EQ(facts.seed, 1u);
  TakeTurn(seat);
  EXPECT_THAT(weights_, Each(0.0f));
  EXPECT_EQ(held_.version, 0u);

  // SGD with learning rate 1: the weights are minus the sum of the gradients.
  ASSERT_EQ(Push(seat, Row(0.25f).data()), STARLING_OK) << starling_error();
  TakeTurn(seat);
  EXPECT_EQ(weights_, Row(-0.25f));
  EXPECT_EQ(held_.version, 1u);
  EXPECT_EQ(held_.steps, 4u);
  EXPECT_EQ(held_.term, 1u);
  EXPECT_EQ(FactsOf(seat).applied, 1u);
  EXPECT_EQ(FactsOf(seat).refused, 0u);
}

TEST_F(SeatTest, ItsTensorsAreThoseOfTheNet) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  starling_tensor tensor{};
  tensor.size = sizeof(tensor);
  ASSERT_EQ(starling_seat_tensor(seat.get(), 0, &tensor), STARLING_OK);
  EXPECT_STREQ(tensor.name, "weight");
  EXPECT_THAT(std::vector(tensor.shape, tensor.shape + tensor.dimensions), ElementsAre(20));
  EXPECT_EQ(tensor.first, 0u);
  EXPECT_EQ(tensor.count, 20u);
  ExpectMistake(starling_seat_tensor(seat.get(), 1, &tensor), "index is 1: the net has 1 tensors");
  EXPECT_THAT(starling_seat_config(seat.get()), HasSubstr("kind = \"external\""));
}

TEST_F(SeatTest, TheSpaceOfAGradientIsTheLearners) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  float* space = nullptr;
  ASSERT_EQ(starling_seat_space(seat.get(), &space), STARLING_OK);
  float* again = nullptr;
  ASSERT_EQ(starling_seat_space(seat.get(), &again), STARLING_OK);
  EXPECT_EQ(space, again);
  // What lies between tensors is no gradient.
  std::fill_n(space, kNumbers, 0.5f);
  ASSERT_EQ(Push(seat, space), STARLING_OK) << starling_error();
  TakeTurn(seat);
  EXPECT_EQ(weights_, Row(-0.5f));
}

TEST_F(SeatTest, AGradientIsClippedAsTheRunSays) {
  StartExternal("optimizer.clip_norm=1");
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  ASSERT_EQ(Push(seat, Row(3).data()), STARLING_OK) << starling_error();
  TakeTurn(seat);
  const float clipped = 1 / std::sqrt(20.0f);
  EXPECT_THAT(std::vector(weights_.begin(), weights_.begin() + 20),
              Each(testing::FloatNear(-clipped, 1e-6f)));
}

TEST_F(SeatTest, OverTcpTheSameTravelsInMessages) {
  StartExternal("wire.endpoint=tcp://127.0.0.1:0");
  const SeatHandle seat = JoinLearner();
  for (int turn = 0; turn < 3; ++turn) {
    TakeTurn(seat);
    EXPECT_EQ(weights_, Row(-0.25f * static_cast<float>(turn)));
    ASSERT_EQ(Push(seat, Row(0.25f).data()), STARLING_OK) << starling_error();
  }
  TakeTurn(seat);
  EXPECT_EQ(FactsOf(seat).applied, 3u);
}

TEST_F(SeatTest, WeightsThatAreHeldAreNotCopiedAgain) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  weights_[0] = 7;
  ASSERT_EQ(Weights(seat), STARLING_OK);
  EXPECT_EQ(weights_[0], 7) << "the array holds the newest version already";
  const std::size_t size = held_.size;
  held_ = {};
  held_.size = size;
  ASSERT_EQ(Weights(seat), STARLING_OK);
  EXPECT_EQ(weights_[0], 0) << "an array that holds nothing gets all";
}

TEST_F(SeatTest, EpisodesAndStepsAreCounted) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  const std::vector<double> returns(120, 2.5);  // more than one message holds
  const std::vector<std::uint64_t> lengths(120, 10);
  starling_push push{};
  push.size = sizeof(push);
  push.samples = 7;  // no whole unrolls of anything
  push.episodes = 120;
  push.returns = returns.data();
  push.lengths = lengths.data();
  push.policy_loss = 0.5;
  ASSERT_EQ(starling_seat_push(seat.get(), Row(0).data(), &push), STARLING_OK) << starling_error();
  TakeTurn(seat);
  EXPECT_EQ(held_.steps, 7u);
  Stop();
  EXPECT_EQ(final_status_["episodes"], 120);
  EXPECT_EQ(final_status_["mean_return"], 2.5);
}

TEST_F(SeatTest, AGrantThatWasNotSpentIsReturnedAgain) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  starling_grant first, second;
  ASSERT_EQ(Next(seat, first), STARLING_OK);
  ASSERT_EQ(Next(seat, second, 0), STARLING_OK);
  EXPECT_EQ(first.number, second.number);
}

TEST_F(SeatTest, ACallDoesNotOutlastItsTime) {
  StartExternal("updates.start_with=2\nupdates.start_timeout_s=600");
  const SeatHandle seat = JoinLearner();
  starling_grant grant;
  EXPECT_EQ(Next(seat, grant, 0), STARLING_LATER) << "the other actor is not there yet";
  const SeatHandle other = JoinLearner();
  EXPECT_EQ(FactsOf(other).slot, 1u);
  EXPECT_EQ(Next(seat, grant), STARLING_OK);
}

TEST_F(SeatTest, ARunThatEndsIsOver) {
  StartExternal("run.steps=4");
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  ASSERT_EQ(Push(seat, Row(0.25f).data()), STARLING_OK);
  starling_grant grant;
  EXPECT_EQ(Next(seat, grant), STARLING_OVER);
  EXPECT_EQ(Next(seat, grant), STARLING_OVER) << "and stays over";
  EXPECT_EQ(Weights(seat), STARLING_LOST);
}

TEST_F(SeatTest, TheEndIsHeardWithAGrantInHand) {
  StartExternal();
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  Stop();
  starling_grant grant;
  EXPECT_EQ(Next(seat, grant, 0), STARLING_OVER);
}

// The learner must hear of it, or it would wait, and nobody would replace the program.
TEST_F(SeatTest, AProgramThatHangsLosesItsSeat) {
  StartExternal(
      "staleness.deadline_s=0.05\nwire.timeout_s=0.5\nwire.heartbeat_ms=20\n"
      "run.metrics_s=0.2");
  const SeatHandle seat = JoinLearner();
  TakeTurn(seat);
  const std::int64_t begin_ms = SteadyClock().NowMs();
  for (int seen = statuses_;; seen = statuses_) {
    const auto now = LastPublished();
    if (now && now->at_ms > begin_ms && now->status.actors_alive == 0) break;
    statuses_.wait(seen);
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(Push(seat, Row(0.25f).data()), STARLING_LOST);
  TakeTurn(seat);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("this actor counts as hung"));
  ASSERT_EQ(Push(seat, Row(0.25f).data()), STARLING_OK);
}

// Terms and versions of two runs on one endpoint may be the same.
TEST_F(SeatTest, WeightsOfAnEarlierRunCountAsNone) {
  const auto place = [this](const std::string& name) { return "ipc://" + (dir_ / name).string(); };
  net::ParameterLayout layout;
  layout.Add("w", {16});
  const wire::Welcome welcome{
      .config = ToToml(ParseConfig("", "test.toml",
                                   {"net.kind=external", "net.initial=x", "wire.timeout_s=600",
                                    "wire.heartbeat_ms=20", "staleness.deadline_s=600"})),
      .tensors = {{"w", {16}}}};
  const auto granting = [](std::uint64_t version) {
    return std::vector<wire::Body>{
        wire::Answer{.grants = {{.number = 1, .version = version}}, .weights = 1}, wire::Weights{}};
  };
  const actors::ScriptedLearner first(place("first"), welcome, granting(5), layout.fingerprint());
  const std::filesystem::path file = dir_.Write("endpoint", place("first"));
  const SeatHandle seat = Open(file.string());
  ASSERT_EQ(starling_seat_join(seat.get(), kPatienceS), STARLING_OK) << starling_error();
  TakeTurn(seat);
  EXPECT_EQ(held_.version, 5u);
  EXPECT_EQ(weights_[0], 5);

  // The next one grants an older version, and sends weights only if it is asked.
  const actors::ScriptedLearner second(place("second"), welcome,
                                       {wire::Answer{.grants = {{.number = 1, .version = 3}}}},
                                       layout.fingerprint());
  dir_.Write("endpoint", place("second"));
  starling_grant grant;
  do {
    ASSERT_EQ(Next(seat, grant), STARLING_OK) << starling_error();
  } while (grant.version == 5);
  ASSERT_EQ(Weights(seat), STARLING_OK);
  EXPECT_EQ(second.fetches(), 1u);
  EXPECT_EQ(held_.version, 11u);
  EXPECT_EQ(weights_[0], 11);
}

TEST_F(SeatTest, GradientsOfASeatThatIsGoneAreOrphansAtMost) {
  StartExternal("actors.count=2\nstaleness.bound=0\nupdates.start_with=2");
  const SeatHandle stays = JoinLearner();
  {
    const SeatHandle leaves = JoinLearner();
    TakeTurn(leaves);
  }
  for (int turn = 0; turn < 3; ++turn) {  // bound 0 waits for all that are there
    TakeTurn(stays);
    ASSERT_EQ(Push(stays, Row(0.25f).data()), STARLING_OK);
  }
  TakeTurn(stays);
  EXPECT_EQ(held_.version, 3u);
}

// Signals are for the threads of the program.
TEST_F(SeatTest, ItsThreadsBlockSignals) {
  StartExternal();
  const auto threads = [] {
    std::vector<std::string> all;
    DIR* const dir = ::opendir("/proc/self/task");
    while (const dirent* const entry = ::readdir(dir)) {
      if (entry->d_name[0] != '.') all.emplace_back(entry->d_name);
    }
    ::closedir(dir);
    return all;
  };
  const std::vector<std::string> before = threads();
  const SeatHandle seat = JoinLearner();
  for (const std::string& thread : threads()) {
    if (std::ranges::find(before, thread) != before.end()) continue;
    std::ifstream file("/proc/self/task/" + thread + "/status");
    std::stringstream status;
    status << file.rdbuf();
    const std::string text = status.str();
    const std::size_t at = text.find("SigBlk:");
    if (at == std::string::npos) continue;  // it has ended
    const std::uint64_t blocked = std::stoull(text.substr(at + 7), nullptr, 16);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM}) {
      EXPECT_TRUE(blocked >> (signal - 1) & 1) << "signal " << signal << " of thread " << thread;
    }
  }
}

}  // namespace
}  // namespace starling::api
