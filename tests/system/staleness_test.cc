// The one dial, on real processes: no gradient is applied with a staleness above the bound, and
// bound 0 gives the same bits every time.
#include <cstdint>
#include <cstring>

#include "learner/storage/checkpoint.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

struct Dial {
  std::string bound, on_exceed;
  int actors;
};
void PrintTo(const Dial& dial, std::ostream* out) {
  *out << "bound " << dial.bound << ", " << dial.on_exceed << ", " << dial.actors << " actors";
}

class StalenessTest : public RunTest, public testing::WithParamInterface<Dial> {};

TEST_P(StalenessTest, StaysWithinTheBound) {
  const Dial& dial = GetParam();
  const int status =
      Train({"run.steps=32000", "actors.count=" + std::to_string(dial.actors),
             "staleness.bound=" + dial.bound, "staleness.on_exceed=" + dial.on_exceed});
  ExpectDone(status, 32'000);  // which holds max against the bound

  const json summary = Summary();
  const json& gradients = summary["gradients"];
  if (dial.on_exceed == "wait") {
    EXPECT_EQ(gradients["dropped"], json::object());  // "loses nothing"
  }
  if (dial.bound == "0" && dial.on_exceed == "wait") {
    // Every actor's gradient in every update.
    EXPECT_EQ(gradients["applied"], summary["updates"].get<int>() * dial.actors);
    EXPECT_EQ(gradients["merged"], dial.actors > 1 ? gradients["applied"] : json(0));
  }
  if (dial.bound == "unbounded") {
    EXPECT_EQ(gradients["merged"], 0);
    if (dial.actors > 1) {
      EXPECT_GT(summary["staleness"]["max"], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dials, StalenessTest,
                         testing::Values(Dial{"0", "wait", 1}, Dial{"0", "wait", 8},
                                         Dial{"0", "drop", 2}, Dial{"0", "drop", 5},
                                         Dial{"1", "wait", 2}, Dial{"1", "wait", 5},
                                         Dial{"1", "drop", 8}, Dial{"4", "wait", 8},
                                         Dial{"4", "drop", 5}, Dial{"16", "wait", 5},
                                         Dial{"16", "drop", 8}, Dial{"unbounded", "wait", 8},
                                         Dial{"unbounded", "drop", 1}),
                         [](const auto& test) {
                           return "Bound" + test.param.bound + test.param.on_exceed + "Actors" +
                                  std::to_string(test.param.actors);
                         });

class ReproducibleTest : public RunTest {
 protected:
  using Bits = std::vector<std::vector<std::uint32_t>>;
  // The bits of weights and optimizer's state that five actors in step end with.
  Bits TrainInStep(const Strings& more) {
    const Strings in_step = {"run.steps=24000", "actors.count=5", "staleness.bound=0"};
    EXPECT_EQ(Train(Plus(in_step, more)), 0) << said_;
    const auto last = learner::LastGood(run() / "checkpoints").checkpoint;
    std::filesystem::remove_all(run());
    Bits bits;
    if (!last) return bits;
    std::vector<std::vector<float>> tensors = last->optimizer_state;
    tensors.push_back(last->weights);
    for (const std::vector<float>& tensor : tensors) {
      bits.emplace_back(tensor.size());
      std::memcpy(bits.back().data(), tensor.data(), tensor.size() * sizeof(float));
    }
    return bits;
  }
};

TEST_F(ReproducibleTest, BoundZeroGivesTheSameBitsFromTheSameSeedWhoeverAppliesThem) {
  const Bits first = TrainInStep({});
  ASSERT_EQ(first.size(), 2u);
  for (const Strings& again : std::vector<Strings>{{},
                                                   {"learner.threads=3"},
                                                   {"learner.threads=3", "learner.apply=hogwild"},
                                                   {"learner.shards=3"}}) {
    EXPECT_TRUE(TrainInStep(again) == first) << testing::PrintToString(again);
  }
  const Bits other = TrainInStep({"run.seed=2"});
  ASSERT_EQ(other.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NE(other[i], first[i]);
}

// Rounding belongs to the run: in shared memory, in messages and in slices the same.
TEST_F(ReproducibleTest, RoundedToBf16TheBitsDoNotDependOnTheTransport) {
  const Strings rounded = {"wire.gradient=bf16", "wire.weights=bf16"};
  const Bits first = TrainInStep(rounded);
  ASSERT_EQ(first.size(), 2u);
  for (const Strings& again :
       std::vector<Strings>{{"wire.endpoint=tcp://127.0.0.1:0"},
                            {"wire.endpoint=tcp://127.0.0.1:0", "learner.shards=2"},
                            {"learner.shards=2"}}) {
    EXPECT_TRUE(TrainInStep(Plus(rounded, again)) == first) << testing::PrintToString(again);
  }
  EXPECT_FALSE(TrainInStep({}) == first);
}

}  // namespace
}  // namespace starling
