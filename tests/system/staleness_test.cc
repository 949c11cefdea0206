// The one dial, on real processes: no gradient is applied with a staleness above the bound, and
// bound 0 gives the same bits every time.
#include <cstring>
#include <map>

#include "core/safetensors.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

struct Dial {
  std::string bound, on_exceed;
  int actors;
};

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
  // Every tensor of the final checkpoint (weights and optimizer), by name.
  std::map<std::string, std::vector<float>> TrainFiveInStep(const std::string& name, int seed) {
    Strings words = TrainWords({"run.steps=24000", "actors.count=5", "staleness.bound=0",
                                "run.seed=" + std::to_string(seed)});
    words[3] = (dir_ / name).string();
    EXPECT_EQ(WaitFor(*Start("starling", words)), 0) << said_;
    const json summary = json::parse(TextOf(dir_ / name / "summary.json"), nullptr, false);
    std::map<std::string, std::vector<float>> tensors;
    if (!summary.is_object()) return tensors;
    const std::string checkpoint = summary["final_checkpoint"];
    const auto file = SafetensorsFile::Read(dir_ / name / checkpoint);
    for (const std::string& tensor : file.names()) tensors[tensor] = file.F32(tensor);
    return tensors;
  }
  static bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
};

TEST_F(ReproducibleTest, BoundZeroWithFiveActorsGivesTheSameBitsFromTheSameSeed) {
  const auto first = TrainFiveInStep("first", 1), again = TrainFiveInStep("again", 1);
  ASSERT_GT(first.size(), 4u);
  ASSERT_EQ(first.size(), again.size());
  for (const auto& [name, values] : first) {
    ASSERT_TRUE(again.contains(name)) << name;
    EXPECT_TRUE(SameBits(values, again.at(name))) << name << " differs";
  }
}

TEST_F(ReproducibleTest, AnotherSeedGivesOtherWeights) {
  const auto one = TrainFiveInStep("one", 1), two = TrainFiveInStep("two", 2);
  ASSERT_EQ(one.size(), two.size());
  for (const auto& [name, values] : one) {
    EXPECT_FALSE(SameBits(values, two.at(name))) << name << " is the same";
  }
}

}  // namespace
}  // namespace starling
