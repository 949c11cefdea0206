// A thousand actors that come at once, each with a socket of its own.
#include <array>
#include <chrono>
#include <deque>

#include "core/config/config.h"
#include "results/trained.h"
#include "tests/system/run_fixture.h"
#include "wire/socket.h"

namespace starling {
namespace {

// An actor that speaks the protocol but does not play: its gradients are zeros.
class Joiner {
 public:
  Joiner(wire::Context& context, const std::string& endpoint)
      : socket_(context, endpoint, {.max_elements = kMaxFloats}) {}

  bool here() const { return here_; }
  std::uint64_t served() const { return served_; }
  void CountAnew() { served_ = 0; }
  const std::string& config() const { return config_; }

  void SayHello() {
    if (!asked_) asked_ = Send(wire::Hello{.slot = -1, .host = "storm", .pid = 1});
  }
  // Handles the messages that have arrived, and spends its grants on `gradient`.
  void Turn(std::span<const float> gradient) {
    wire::Envelope envelope;
    while (socket_.Receive(envelope)) {
      const auto decoded = wire::Decode(envelope.frames(), kMaxFloats);
      if (decoded) Hear(decoded.message);
    }
    while (here_ && !gradient.empty() && !grants_.empty()) {
      header_.version = grants_.front().version;
      if (!Send(wire::Gradient{.grant = grants_.front().number, .samples = kSamples}, gradient))
        return;
      grants_.pop_front();
    }
  }
  void Beat() { Send(wire::Heartbeat{}); }

 private:
  static constexpr std::size_t kMaxFloats = 1 << 20;
  static constexpr std::uint64_t kSamples = 5;  // one env, as the test's configuration has it

  void Hear(const wire::Message& message) {
    if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
      config_ = welcome->config;
      header_ = {.slot = message.header.slot,
                 .incarnation = message.header.incarnation,
                 .sequence = header_.sequence,
                 .term = message.header.term,
                 .session = message.header.session,
                 .fingerprint = message.header.fingerprint};
      here_ = true;
    } else if (std::holds_alternative<wire::Leave>(message.body)) {
      here_ = false;
    } else if (const auto* answer = std::get_if<wire::Answer>(&message.body)) {
      for (const wire::GradientOutcome& one : answer->outcomes) {
        served_ += one.outcome <= wire::Outcome::kMerged;
      }
      grants_.insert(grants_.end(), answer->grants.begin(), answer->grants.end());
    }
  }
  bool Send(const wire::Body& body, std::span<const float> tensor = {}) {
    ++header_.sequence;
    if (socket_.Send(wire::Encode(header_, body, tensor))) return true;
    --header_.sequence;
    return false;
  }

  wire::ClientSocket socket_;
  wire::Header header_;
  std::string config_;
  std::deque<wire::Grant> grants_;
  std::uint64_t served_ = 0;
  bool asked_ = false, here_ = false;
};

using JoinersStorm = RunTest;

TEST_F(JoinersStorm, AThousandJoinAndAreServedAlike) {
  constexpr std::size_t kActors = 1000,
                        kOfAContext = 250;  // ZeroMQ has 1,023 sockets for a context
  const auto learner =
      StartLearner({Steps(kEndless), "wire.endpoint=tcp://127.0.0.1:0",
                    "actors.count=" + std::to_string(kActors), "actors.envs_per_actor=1",
                    "actors.unroll=5", "staleness.bound=unbounded", "updates.gradients=1"});
  const std::string endpoint = AwaitEndpoint(*learner);
  ASSERT_NE(endpoint, "") << learner->err();

  // 1. All join.
  std::array<wire::Context, (kActors + kOfAContext - 1) / kOfAContext> contexts;
  std::vector<std::unique_ptr<Joiner>> actors;
  for (std::size_t i = 0; i < kActors; ++i) {
    actors.push_back(std::make_unique<Joiner>(contexts[i / kOfAContext], endpoint));
  }
  std::vector<float> gradient;  // nothing before all are here
  const auto turn = [&] {
    for (const auto& actor : actors) actor->Turn(gradient);
  };
  const auto all_here = [&] {
    for (const auto& actor : actors) {
      actor->SayHello();
      if (actor->here()) actor->Beat();
    }
    turn();
    return std::ranges::all_of(actors, [](const auto& actor) { return actor->here(); });
  };
  ASSERT_TRUE(Eventually(all_here)) << learner->err();

  // 2. All push; no actor is served much more often than another.
  gradient.assign(results::LayoutOf(ParseConfig(actors[0]->config(), "welcome")).size(), 0.0f);
  const auto serve = [&](std::chrono::seconds for_time) {
    const auto end = std::chrono::steady_clock::now() + for_time;
    while (std::chrono::steady_clock::now() < end) turn();
  };
  serve(std::chrono::seconds(2));  // until the first have had their turn
  for (const auto& actor : actors) actor->CountAnew();
  serve(std::chrono::seconds(10));
  std::vector<std::uint64_t> served;
  for (const auto& actor : actors) served.push_back(actor->served());
  const auto [least, most] = std::ranges::minmax(served);
  EXPECT_GE(least, 5u) << "too few to compare";
  EXPECT_LE(static_cast<double>(most), 1.5 * static_cast<double>(least));
  EXPECT_TRUE(std::ranges::all_of(actors, [](const auto& actor) { return actor->here(); }));
  learner->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*learner), 130);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace starling
