// A process that took the place of a learner, for instance while it restarts: what an actor does
// for it. Over plain tcp any user can be that process.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "actors/actor.h"
#include "core/error.h"
#include "tests/actors/scripted_learner.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "wire/gradient_buffers.h"
#include "wire/snapshot.h"

namespace starling::actors {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ImpostorTest : public testing::Test {
 protected:
  // An interpreter that leaves a file and fails.
  ImpostorTest() {
    std::ofstream(python_) << "#!/bin/sh\n: > " << ran_.string() << "\nexit 1\n";
    fs::permissions(python_, fs::perms::owner_all);
  }

  // The configuration that runs it.
  wire::Welcome Evil() const {
    return {.config =
                ToToml(ParseConfig("", "test.toml",
                                   {"actors.count=1", "actors.envs_per_actor=1",
                                    "env.name=gym:Evil-v0", "env.python=" + python_.string()}))};
  }
  // Runs an actor against a learner on `endpoint`. Returns the error that ends it.
  std::string Run(const std::string& endpoint, const OwnSettings& own = {}) {
    ScriptedLearner learner(endpoint, Evil());
    const ClientOptions options{.find_endpoint = [&] { return learner.endpoint(); },
                                .connect_timeout_s = 60};
    std::string text;
    return ErrorOf([&] { RunActor(options, text, own); });
  }
  bool ran() const { return fs::exists(ran_); }

  TempDir dir_;
  const fs::path python_ = dir_ / "python", ran_ = dir_ / "ran";
};

TEST_F(ImpostorTest, RunsNoCodeOverPlainTcp) {
  EXPECT_THAT(Run("tcp://127.0.0.1:*"), HasSubstr("env.name = \"gym:Evil-v0\""));
  EXPECT_FALSE(ran());
}

TEST_F(ImpostorTest, RunsNoCodeWhereOthersMayListen) {
  const fs::path open = dir_ / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  EXPECT_THAT(Run("ipc://" + (open / "control").string()), HasSubstr("--set env.name"));
  EXPECT_FALSE(ran());
}

// The user names the environment, and gets the interpreter of this machine, not the impostor's.
TEST_F(ImpostorTest, CannotChooseTheInterpreterOfAnEnvironmentThatTheActorNames) {
  EXPECT_NE(Run("tcp://127.0.0.1:*", {.env = {.name = "gym:Mine-v0", .python = "/bin/false"}}), "");
  EXPECT_FALSE(ran());
}

// The other half of the tests above: this interpreter does run where it may.
TEST_F(ImpostorTest, ALearnerInThePrivateDirectoryIsTheUsers) {
  EXPECT_THAT(Run("ipc://" + (dir_ / "control").string()), Not(HasSubstr("--set env.name")));
  EXPECT_TRUE(ran());
}

// An actor wrote its gradients into the file that a welcome named.
TEST_F(ImpostorTest, OpensNoFileAndNoSocketOverPlainTcp) {
  wire::Welcome welcome{.config = ToToml(ParseConfig("", "test.toml", {"actors.count=1"})),
                        .snapshot = (dir_ / "weights").string(),
                        .beacon = "ipc://" + (dir_ / "beacon").string(),
                        .buffers = (dir_ / "buffers").string()};
  wire::SnapshotWriter weights(dir_ / "weights", 16, kFingerprint, 1);
  wire::GradientBuffers buffers(dir_ / "buffers", 2, 16);
  const auto join = [&](const wire::Welcome& names, std::string& text) {
    ScriptedLearner learner("tcp://127.0.0.1:*", names);
    LearnerClient client({.find_endpoint = [&] { return learner.endpoint(); }});
    if (!client.Join()) {
      text = client.text();
      return false;
    }
    EXPECT_FALSE(client.proven());
    EXPECT_TRUE(client.CheckNet(kFingerprint, 16));
    const RolloutGradient gradient{.values = client.NextGradientSpace(), .loss = {}, .samples = 1};
    EXPECT_TRUE(client.Push({.number = 1}, {.term = 1}, 0, gradient, {}));
    return learner.HeardGradient(16);
  };
  std::string text;
  EXPECT_TRUE(join(welcome, text)) << "in a message";
  welcome.shards = {{"ipc://" + (dir_ / "agent").string(), ""}};
  EXPECT_FALSE(join(welcome, text));
  EXPECT_THAT(text, HasSubstr("have sockets of this host"));
}

}  // namespace
}  // namespace starling::actors
