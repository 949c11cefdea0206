// The pages for programs.
#include "monitor/http/pages.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/monitor/http/published.h"
#include "tests/support/prometheus_parser.h"

namespace starling::monitor {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(StatusPage, IsThatOfTheLearnerWithItsActors) {
  const Config config = ParseConfig("[run]\nname = \"r\"\nseed = 7\n", "x.toml");
  const json status = json::parse(StatusPage(config, *MakePublished()));
  EXPECT_EQ(status["run"]["name"], "r");
  EXPECT_EQ(status["run"]["seed"], 7);
  EXPECT_EQ(status["phase"], "running");
  EXPECT_EQ(status["gradients"]["dropped"]["stale"], 4);
  EXPECT_THAT(status["staleness"]["histogram"], ElementsAre(3, 1, 1, 0, 0, 1));
  EXPECT_EQ(status["unix_seconds"], 1234.5);
  EXPECT_FALSE(status.contains("at_ms"));
  ASSERT_EQ(status["actors"].size(), 4u);
  EXPECT_EQ(status["actors"][0], json({{"slot", 0},
                                       {"alive", true},
                                       {"incarnation", 0},
                                       {"host", "here"},
                                       {"pid", 41},
                                       {"key", nullptr},
                                       {"version", 4},
                                       {"lag", 1},
                                       {"gradients", 3},
                                       {"steps", 480},
                                       {"wait_seconds", 0.5},
                                       {"silent_seconds", 0.25}}));
  EXPECT_EQ(status["actors"][1], json({{"slot", 1}, {"alive", false}, {"left", "said goodbye"}}));
  EXPECT_EQ(status["actors"][2]["key"], "ada");
  EXPECT_EQ(status["actors"][3], json({{"slot", 3}, {"alive", false}, {"left", nullptr}}));
  EXPECT_EQ(status["actors_not_listed"], 0);
}

TEST(StatusPage, AnActorMayCallItsHostWhatItWants) {
  auto published = MakePublished();
  published->actors[0].host = "\xff\"}\n";
  const json status = json::parse(StatusPage(ParseConfig("", "x.toml"), *published));
  EXPECT_EQ(status["actors"][0]["host"], "\uFFFD\"}\n");
}

TEST(HealthOf, IsThatOfTheLearnersLoop) {
  EXPECT_THAT(HealthOf(nullptr, 0).sentence, HasSubstr("starting: "));
  EXPECT_FALSE(HealthOf(nullptr, 0).well);
  const auto health = [](const char* phase, std::int64_t age_ms) {
    auto published = MakePublished(1000);
    published->status.phase = phase;
    return HealthOf(published.get(), 1000 + age_ms);
  };
  EXPECT_FALSE(health("done", 0).well);
  EXPECT_THAT(health("done", 0).sentence, HasSubstr("done: "));
  EXPECT_TRUE(health("waiting", 0).well) << "that nobody has come yet is nothing bad";
  EXPECT_TRUE(health("running", kMaxSilentMs - 1).well);
  EXPECT_FALSE(health("running", kMaxSilentMs).well);
  EXPECT_EQ(health("running", kMaxSilentMs).sentence,
            "stuck: the learner's loop turned 5.0 s ago for the last time");
}

PrometheusPage PageOf(const learner::PublishedStatus& published, const std::string& config = "") {
  return PrometheusPage(MetricsPage(ParseConfig(config, "x.toml"), published));
}

TEST(MetricsPage, TellsWhatTheStatusTells) {
  const PrometheusPage page = PageOf(
      *MakePublished(),
      "[run]\nname = \"my \\\"run\\\"\"\nsteps = 1000\n[env]\nname = \"catch\"\n[actors]\ncount = "
      "4\n[staleness]\nbound = 8\n");
  EXPECT_EQ(page.Value("starling_run_info", {{"run", "my \"run\""}, {"env", "catch"}}), 1);
  EXPECT_EQ(page.Value("starling_run_steps"), 1000);
  EXPECT_EQ(page.Value("starling_actors_configured"), 4);
  EXPECT_EQ(page.Value("starling_actors_alive"), 2);
  EXPECT_EQ(page.Value("starling_status_timestamp_seconds"), 1234.5);
  EXPECT_EQ(page.Value("starling_phase", {{"phase", "running"}}), 1);
  EXPECT_EQ(page.Value("starling_phase", {{"phase", "done"}}), 0);
  EXPECT_EQ(page.Value("starling_term"), 2);
  EXPECT_EQ(page.Value("starling_version"), 5);
  EXPECT_EQ(page.Value("starling_checkpoint_version"), 4);
  EXPECT_EQ(page.Value("starling_steps_total"), 960);
  EXPECT_EQ(page.Value("starling_frames_total"), 3840);
  EXPECT_EQ(page.Value("starling_updates_total"), 5);
  EXPECT_EQ(page.Value("starling_training_seconds_total"), 1.5);
  EXPECT_EQ(page.Value("starling_mean_return"), 4.25);
  EXPECT_EQ(page.Value("starling_learning_rate"), 0.0007);
  EXPECT_EQ(page.Value("starling_gradients_received_total"), 13);
  EXPECT_EQ(page.Value("starling_gradients_in_flight"), 1);
  EXPECT_EQ(page.Value("starling_gradients_dropped_total", {{"reason", "stale"}}), 4);
  EXPECT_EQ(page.Value("starling_gradients_dropped_total", {{"reason", "not_finite"}}), 2);
  EXPECT_EQ(page.Value("starling_frames_refused_total", {{"reason", "handshake"}}), 3);
  EXPECT_EQ(page.Value("starling_grants_expired_total"), 1);
  EXPECT_EQ(page.Value("starling_actors_time_seconds_total", {{"activity", "act"}}), 2.5);
  EXPECT_EQ(page.Value("starling_learner_time_seconds_total", {{"activity", "lanes"}}), 0.5);
}

TEST(MetricsPage, TheStalenessIsAHistogram) {
  const PrometheusPage page = PageOf(*MakePublished(), "[staleness]\nbound = 8\n");
  // 3 x 0, 1 x 1, 1 x 2, 1 x 5: 8 in all, 8/6 in the mean.
  EXPECT_EQ(page.Value("starling_staleness_bucket", {{"le", "0"}}), 3);
  EXPECT_EQ(page.Value("starling_staleness_bucket", {{"le", "4"}}), 5);
  EXPECT_EQ(page.Value("starling_staleness_bucket", {{"le", "6"}}), 6);
  EXPECT_EQ(page.Value("starling_staleness_count"), 6);
  EXPECT_EQ(page.Value("starling_staleness_sum"), 8);
  EXPECT_EQ(page.Value("starling_staleness_max"), 5);
  EXPECT_EQ(page.Value("starling_staleness_bound"), 8);
  const PrometheusPage free = PageOf(*MakePublished(), "[staleness]\nbound = \"unbounded\"\n");
  EXPECT_TRUE(std::isinf(free.Value("starling_staleness_bound")));
}

TEST(MetricsPage, WhatIsNotKnownYetHasNoSample) {
  auto published = MakePublished();
  published->status.mean_return.reset();
  published->status.checkpoint = "";
  published->status.gradients.dropped = {};
  const PrometheusPage page = PageOf(*published);
  for (const char* name : {"starling_mean_return", "starling_mean_episode_steps",
                           "starling_checkpoint_version", "starling_gradients_dropped_total"}) {
    ASSERT_TRUE(page.families().contains(name)) << name;
    EXPECT_TRUE(page.families().at(name).samples.empty()) << name;
  }
}

TEST(MetricsPage, TellsOfEverySlotWhetherItIsAliveAndOfTheLivingMore) {
  const PrometheusPage page = PageOf(*MakePublished());
  const auto slot = [](const char* number) {
    return std::map<std::string, std::string>{{"slot", number}};
  };
  EXPECT_EQ(page.Value("starling_actor_alive", slot("0")), 1);
  EXPECT_EQ(page.Value("starling_actor_alive", slot("1")), 0);
  EXPECT_EQ(page.Value("starling_actor_alive", slot("3")), 0);
  EXPECT_EQ(page.Value("starling_actor_info", {{"slot", "2"}, {"host", "far"}, {"key", "ada"}}), 1);
  EXPECT_EQ(page.Value("starling_actor_version", slot("0")), 4);
  EXPECT_EQ(page.Value("starling_actor_lag", slot("0")), 1);
  EXPECT_EQ(page.Value("starling_actor_gradients_total", slot("0")), 3);
  EXPECT_EQ(page.Value("starling_actor_steps_total", slot("0")), 480);
  EXPECT_EQ(page.Value("starling_actor_wait_seconds_total", slot("0")), 0.5);
  EXPECT_EQ(page.Value("starling_actor_silent_seconds", slot("0")), 0.25);
  EXPECT_TRUE(std::isnan(page.Value("starling_actor_version", slot("1"))));
  EXPECT_EQ(page.Value("starling_actors_not_listed"), 0);
}

// Who asks again compares: a family is never there at one time and gone at another.
TEST(MetricsPage, HasTheSameFamiliesWhateverThereIs) {
  auto bare = MakePublished();
  bare->actors.clear();
  bare->status.frames_refused = {};
  const PrometheusPage page = PageOf(*MakePublished()), other = PageOf(*bare);
  ASSERT_EQ(page.families().size(), other.families().size());
  for (const auto& [name, family] : page.families()) {
    EXPECT_TRUE(other.families().contains(name)) << name;
    EXPECT_TRUE(name.starts_with("starling_")) << name;
    EXPECT_GT(family.help.size(), 5u) << name;
  }
}

}  // namespace
}  // namespace starling::monitor
