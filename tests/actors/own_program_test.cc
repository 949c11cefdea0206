// The process of a program of the user's, and the variables that name its learner.
#include "actors/own_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/error_of.h"

namespace starling::actors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Puts the settings of a process into the environment of this one.
void Tell(const ChildSpec& spec) {
  for (const std::string& setting : spec.settings) {
    const std::size_t equals = setting.find('=');
    ::setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
}

TEST(OwnProgram, IsFoundAndHasItsWords) {
  const ChildSpec spec = OwnProgramSpec({"sh", "-c", "exit 3"}, {.place = {.run_dir = "/run"}});
  EXPECT_EQ(spec.program, FindProgram("sh"));
  EXPECT_THAT(spec.arguments, ElementsAre("-c", "exit 3"));
  EXPECT_EQ(OwnProgramSpec({"no-such-program"}, {}).program, "no-such-program")
      << "starting it says why it cannot be";
}

TEST(OwnProgram, ReadsWhatItWasTold) {
  Tell(OwnProgramSpec({"sh"}, {.place = {.run_dir = "runs/mine", .runtime_dir = "shm"},
                               .slot = 3,
                               .connect_timeout_s = 0.25}));
  const ToldPlace run = PlaceOfVariables();
  EXPECT_EQ(run.place.run_dir, std::filesystem::absolute("runs/mine"));
  EXPECT_EQ(run.place.text(), run.place.run_dir) << "no other place";
  EXPECT_EQ(run.place.runtime_dir, std::filesystem::absolute("shm"));
  EXPECT_EQ(run.place.secret, "");
  EXPECT_EQ(run.slot, 3);
  EXPECT_EQ(run.connect_timeout_s, 0.25);
  // Nothing of a run around this one is left.
  Tell(OwnProgramSpec({"sh"}, {.place = {.endpoint_file = "/run/endpoint",
                                         .secret = "keys/me.secret",
                                         .learner_key = "keys/learner.public"}}));
  const ToldPlace file = PlaceOfVariables();
  EXPECT_EQ(file.place.text(), "/run/endpoint");
  EXPECT_EQ(file.place.runtime_dir, "");
  EXPECT_EQ(file.place.secret, std::filesystem::absolute("keys/me.secret"));
  EXPECT_EQ(file.place.learner_key, std::filesystem::absolute("keys/learner.public"));
  EXPECT_EQ(file.slot, -1);
  EXPECT_EQ(file.connect_timeout_s, ToldPlace{}.connect_timeout_s);
  Tell(OwnProgramSpec({"sh"}, {.place = {.endpoint = "tcp://learner:5555"}}));
  EXPECT_EQ(PlaceOfVariables().place.text(), "tcp://learner:5555");
}

TEST(OwnProgram, WhatItCannotHaveBeenToldIsASentence) {
  Tell(OwnProgramSpec({"sh"}, {}));
  const auto error = [] { return ErrorOf([] { PlaceOfVariables(); }); };
  EXPECT_THAT(error(), HasSubstr("no run has started this program (STARLING_RUN_DIR is not set)"));
  ::setenv("STARLING_CONNECT", "tcp://learner:5555", 1);
  ::setenv("STARLING_RUN_DIR", "/run", 1);
  EXPECT_THAT(error(), HasSubstr("set one of them"));
  ::setenv("STARLING_RUN_DIR", "", 1);
  EXPECT_EQ(error(), "");
  ::setenv("STARLING_SECRET", "me.secret", 1);
  EXPECT_THAT(error(), HasSubstr("STARLING_SECRET and STARLING_LEARNER_KEY"));
  ::setenv("STARLING_LEARNER_KEY", "learner.public", 1);
  EXPECT_EQ(error(), "");
  for (const char* const slot : {"-1", "65536", "x", "7 "}) {
    ::setenv("STARLING_SLOT", slot, 1);
    EXPECT_THAT(error(), HasSubstr("is a number from 0 to 65535")) << slot;
  }
  ::setenv("STARLING_SLOT", "65535", 1);
  for (const char* const seconds : {"0", "-1", "1e9", "nan", "soon"}) {
    ::setenv("STARLING_CONNECT_TIMEOUT", seconds, 1);
    EXPECT_THAT(error(), HasSubstr("STARLING_CONNECT_TIMEOUT is")) << seconds;
  }
}

}  // namespace
}  // namespace starling::actors
