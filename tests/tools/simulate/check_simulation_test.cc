#include "tools/simulate/simulate.h"

#include <gmock/gmock.h>

#include <string>

namespace starling::simulate {
namespace {

std::string Refused(const std::string& settings) {
  Config config = ParseConfig(settings, "x.toml");
  const auto found = CheckSimulation(config);
  return found.empty() ? "" : found.front().sentence;
}

TEST(CheckSimulation, RefusesWhatIsNotOurs) {
  using testing::HasSubstr;
  EXPECT_EQ(Refused("[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n"), "");
  EXPECT_THAT(Refused("[env]\nname = \"gym:ALE/Pong-v5\"\n"), HasSubstr("only bundled envs can"));
  EXPECT_THAT(Refused("[env]\nname = \"ale:pong\"\n"), HasSubstr("only bundled envs can"));
  EXPECT_THAT(Refused("[env]\nname = \"plugin:./mine.so\"\n"), HasSubstr("only bundled envs can"));
  EXPECT_THAT(Refused("[actors]\nbackend = \"cuda\"\n"), HasSubstr("share this machine's cores"));
  EXPECT_THAT(Refused("[actors]\nbackend = \"auto\"\nenv_device = \"cuda\"\n"),
              HasSubstr("actors.env_device"));
  EXPECT_THAT(Refused("[actors]\nbackend = \"auto\"\n[net]\nprecision = \"tf32\"\n"),
              HasSubstr("only GPUs multiply it"));
  EXPECT_THAT(Refused("[learner]\napply = \"hogwild\"\n"), HasSubstr("which writes overlap"));
  for (const char* again :
       {"[loss]\nkind = \"ppo\"\n", "[updates]\nepochs = 2\n", "[updates]\nminibatches = 2\n"}) {
    EXPECT_THAT(Refused(again), HasSubstr("each unroll gives one gradient"));
  }
  EXPECT_THAT(Refused("[eval]\nevery_steps = 1000\n"), HasSubstr("plays in real time"));
  EXPECT_THAT(Refused("[status]\nport = 8080\n"), HasSubstr("status.port = 8080 cannot be sim"));
  EXPECT_THAT(Refused("[actors]\ncount = 2\n[simulate]\nstragglers = 3\n"),
              HasSubstr("simulate.stragglers = 3 contradicts actors.count = 2"));
  EXPECT_THAT(Refused("[env]\nname = \"nonsense\"\n"), HasSubstr("nonsense"));
}

// It has no network, and one learner.
TEST(CheckSimulation, NeedsNoKeysAndNoShards) {
  EXPECT_EQ(Refused("[net]\nkind = \"mlp\"\n[learner]\nshards = 3\n[wire]\nendpoint = "
                    "\"tcp://*:1\"\nsecret = \"nowhere\"\nallowed = \"nowhere\"\n"),
            "");
}

TEST(CheckSimulation, RefusesAllMistakesAtOnce) {
  EXPECT_EQ(CheckSimulation(ParseConfig("[env]\nname = \"gym:X-v0\"\n[actors]\ncount = 2\n"
                                        "[eval]\nevery_steps = 10\n[simulate]\nstragglers = 3\n",
                                        "x.toml"))
                .size(),
            3u);
}

// There and back 2 x 3 ms, received within 1 ms, and computed in 20 ms at best: 27 ms.
TEST(CheckSimulation, RefusesADeadlineThatNobodyMeets) {
  const std::string times =
      "[simulate]\ncompute_ms = 40.0\ncompute_spread = 0.5\nnetwork_ms = 3.0\nreceive_ms = 1.0\n";
  EXPECT_EQ(Refused(times + "[staleness]\ndeadline_s = 0.0271\n"), "");
  EXPECT_THAT(Refused(times + "[staleness]\ndeadline_s = 0.027\n"),
              testing::HasSubstr("the quickest gradient takes 0.027 s"));
  // 5 steps of 8 ms at least besides.
  const std::string paced =
      times + "[env]\nstep_ms = 10.0\nstep_jitter = 0.2\n[actors]\nunroll = 5\n";
  EXPECT_EQ(Refused(paced + "[staleness]\ndeadline_s = 0.068\n"), "");
  EXPECT_NE(Refused(paced + "[staleness]\ndeadline_s = 0.067\n"), "");
}

TEST(CheckSimulation, WhereEveryPushIsDelayedTheDelayCounts) {
  const std::string late = "[simulate]\nnetwork_ms = 1.0\ndelayed_factor = 1e5\ndelayed_share = ";
  EXPECT_EQ(Refused(late + "0.9\n"), "");
  EXPECT_THAT(Refused(late + "1.0\n"), testing::HasSubstr("the quickest gradient takes 100"));
}

TEST(CheckSimulation, OneStragglerMayBeLateForEverButNotAll) {
  const std::string slow = "[simulate]\nstraggler_factor = 1e5\nstragglers = ";
  EXPECT_EQ(Refused("[actors]\ncount = 2\n" + slow + "1\n"), "");
  EXPECT_NE(Refused("[actors]\ncount = 2\n" + slow + "2\n"), "");
}

TEST(CheckSimulation, RefusesTimesBeyondItsClock) {
  EXPECT_THAT(
      Refused("[simulate]\ncompute_ms = 200.0\nstraggler_factor = 1e6\n"),
      testing::HasSubstr("simulate.straggler_factor = 1000000 makes an unroll take 2.55 days"));
  EXPECT_THAT(Refused("[simulate]\nnetwork_ms = 100.0\ndelayed_factor = 1e6\n"),
              testing::HasSubstr("a gradient's way take 1.16 days"));
}

}  // namespace
}  // namespace starling::simulate
