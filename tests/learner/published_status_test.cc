// The learner's status for readers in other processes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "learner/run_status.h"

namespace starling::learner {
namespace {

using Json = nlohmann::ordered_json;

PublishedStatus Some() {
  return {.at_ms = 12'345,
          .unix_s = 1234.5,
          .status = {.phase = "running",
                     .term = 2,
                     .steps = 960,
                     .staleness = {.bound = 8, .max = 2, .mean = 1, .histogram = {1, 0, 1}},
                     .version = 5},
          .actors = {{.slot = 0,
                      .incarnation = 7,
                      .accepted = 3,
                      .steps = 480,
                      .version = 4,
                      .staleness = 1,
                      .wait_us = 123'457,
                      .alive = true,
                      .host = "here",
                      .pid = 41,
                      .key = "ada",
                      .silent_s = 0.25},
                     {.slot = 1, .left = "said goodbye"},
                     {.slot = 2}},
          .not_listed = 3};
}

TEST(PublishedStatusTest, ReadsBackWhatItWrote) {
  const PublishedStatus wrote = Some();
  const auto read = ParsePublished(ToJson(wrote).dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at_ms, wrote.at_ms);
  EXPECT_EQ(read->unix_s, wrote.unix_s);
  EXPECT_EQ(read->actors, wrote.actors);
  EXPECT_EQ(read->not_listed, 3u);
  // Its members, as in a status line.
  RunStatus status = wrote.status;
  status.joined = {wrote.actors[0]};
  EXPECT_EQ(read->status, status);
}

TEST(PublishedStatusTest, WhatIsTornIsNone) {
  const std::string text = ToJson(Some()).dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParsePublished(text.substr(0, size))) << size;
  }
  for (const char* key : {"at_ms", "unix_seconds", "actors", "actors_not_listed"}) {
    Json without = ToJson(Some());
    without.erase(key);
    EXPECT_FALSE(ParsePublished(without.dump())) << key;
  }
  Json wrong = ToJson(Some());
  wrong["actors"][0]["wait_seconds"] = "long";
  EXPECT_FALSE(ParsePublished(wrong.dump()));
  wrong["actors"] = 3;
  EXPECT_FALSE(ParsePublished(wrong.dump()));
}

}  // namespace
}  // namespace starling::learner
