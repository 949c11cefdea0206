#include "tools/watch/health.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "monitor/fleet_status.h"
#include "tests/monitor/http/published.h"
#include "tests/tools/watch/watch_fixture.h"
#include "wire/runtime_dir.h"

namespace starling::watch {
namespace {

class HealthTest : public WatchTest {
 protected:
  wire::RuntimeDir AtWork(const std::string& name) const {
    return wire::RuntimeDir::Create(wire::RuntimeRoot(dir_.path().string()), dir_ / name);
  }
  // What its learner says now.
  void Say(const wire::RuntimeDir& learner, const char* phase = "running") const {
    auto published = *monitor::MakePublished(clock_.NowMs());
    published.status.phase = phase;
    ReplaceFile(learner.path() / "status", ToJson(published).dump());
  }
  void Expect(const std::string& target, bool well, const std::string& text) const {
    const HealthAnswer answer = HealthIn(dir_ / target, clock_);
    EXPECT_EQ(answer.text, text);
    EXPECT_EQ(answer.well, well) << text;
  }
};

TEST_F(HealthTest, OfARunIsThatOfItsLearner) {
  Write("runs/a", {.steps = 0, .summary = false});
  Expect("runs/b", false,
         fmt::format("over: there is no directory {}\n", (dir_ / "runs/b").string()));
  Expect("runs/a", false, "over: no process of this run is at work here\n");
  const auto learner = AtWork("runs/a");
  Expect("runs/a", false, "starting: the learner does not listen to actors yet\n");
  Say(learner);
  Expect("runs/a", true, "ok\n");
  clock_.AdvanceMs(6000);
  Expect("runs/a", false, "stuck: the learner's loop turned 6.0 s ago for the last time\n");
  Say(learner, "done");
  Expect("runs/a", true, "done: the run is over, or was told to stop\n");
}

TEST_F(HealthTest, OfADirectoryIsThatOfTheRunsAtWork) {
  std::filesystem::create_directory(dir_ / "runs");
  Expect("runs", true, "ok: no run is at work here\n");
  Write("runs/old");
  for (const char* name : {"runs/a", "runs/b"}) Write(name, {.steps = 0, .summary = false});
  Expect("runs", true, "ok: no run is at work here\n");
  const auto a = AtWork("runs/a"), b = AtWork("runs/b");
  Say(a);
  Say(b);
  Expect("runs", true, "a: ok\nb: ok\n");
  clock_.AdvanceMs(6000);
  Say(b);
  Expect("runs", false, "a: stuck: the learner's loop turned 6.0 s ago for the last time\nb: ok\n");
}

// Without a learner it is the supervisor that knows.
TEST_F(HealthTest, ALearnerThatHasDiedIsMissedUnlessTheRunEndsOrIsRedone) {
  using wire::RuntimeDir;
  Write("a", {.steps = 0, .summary = false});
  const auto learner = AtWork("a");
  Say(learner);
  const auto root = wire::RuntimeRoot(dir_.path().string());
  const auto supervisor = RuntimeDir::Create(root, RuntimeDir::FleetOf(dir_ / "a"));
  const auto tell = [&](const monitor::FleetStatus& fleet) {
    ReplaceFile(supervisor.path() / "status", ToText(fleet));
  };
  tell({});
  Expect("a", false, "gone: the learner has died; another one follows\n");
  tell({.redo = monitor::RedoStatus{}});
  Expect("a", true, "ok: what a killed learner had applied is done again\n");
  tell({.over = true});
  Expect("a", true, "done: the run comes to its end\n");
}

}  // namespace
}  // namespace starling::watch
