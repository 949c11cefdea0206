// The real supervisor with stand-ins for learner and actor (fake_child.cc). It runs in a process of
// its own, as in real use: it receives signals, and its orphans become ours.
#include "fleet/supervisor.h"
#include "fleet/stop_signals.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/support/fleet_fixtures.h"
#include "tests/support/in_child.h"

namespace starling::fleet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string Status(int steps, bool final, const std::string& more = "") {
  return "status {\"phase\":\"" + std::string(final ? "done" : "running") +
         "\",\"term\":1,\"steps\":" + std::to_string(steps) +
         ",\"final\":" + (final ? "true" : "false") + more + "}";
}

const std::string kEnd = Status(1000, true) + "; touch over; exit 0";

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::filesystem::create_directory(dir_.path() / "checkpoints");
    options_ = {.run_dir = dir_.path(),
                .learner = {.program = STARLING_FAKE_CHILD, .stop_signal = SIGTERM},
                .actor_program = STARLING_FAKE_CHILD,
                .redo_program = STARLING_FAKE_CHILD,
                .actor_arguments = {"--connect-timeout", "7"},
                .resume = false,
                .actors = 2,
                .facts = {.env = {}, .goal = {1000}},
                .limits = {}};
  }

  ~SupervisorTest() override {
    EXPECT_TRUE(NobodyLeft()) << "left behind: " << KillAll();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  void Script(const std::string& who, const std::string& lives) {
    dir_.Write("script." + who, lives + "\n");
  }

  // Returns the supervisor's exit status, or 128 + signal. By then no child of its may be left.
  int RunToEnd() {
    pid_ = Fork([this] { return SuperviseOnce(); });
    return StatusOf(pid_);
  }

  int SuperviseOnce() {
    const int screen = ::open((dir_.path() / "screen").c_str(), O_WRONLY | O_CREAT, 0644);
    const StopSignalsHeld held;
    monitor::Console console(screen, {});
    RunLog log(dir_.path(), console);
    const SupervisorResult result = Supervise(options_, log, console);
    const nlohmann::json json{{"steps", result.status ? result.status->steps : 0},
                              {"error", result.error},
                              {"started", result.counts.actors_started},
                              {"actors_restarted", result.counts.actors_restarted},
                              {"learner_restarted", result.counts.learner_restarted}};
    dir_.Write("result", json.dump());
    return result.exit_status;
  }

  // Children of a process that ended become ours: none, dead or alive, may come.
  bool NobodyLeft() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

  int KillAll() {
    int killed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("pids.")) continue;
      for (const std::string& pid : dir_.Lines(name))
        killed += ::kill(std::stoi(pid), SIGKILL) == 0;
    }
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    return killed;
  }

  nlohmann::json Result() { return nlohmann::json::parse(dir_.Read("result")); }

  TempDir dir_;
  SupervisorOptions options_;
  pid_t pid_ = -1;
};

TEST_F(SupervisorTest, RunThatEndsByItself) {
  Script("learner", Status(0, false) + "; " + kEnd);
  EXPECT_EQ(RunToEnd(), kExitDone);
  EXPECT_TRUE(NobodyLeft());
  EXPECT_EQ(Result(), (nlohmann::json{{"steps", 1000},
                                      {"error", ""},
                                      {"started", 2},
                                      {"actors_restarted", 0},
                                      {"learner_restarted", 0}}));
}

TEST_F(SupervisorTest, ChildrenAreToldWhatTheyNeed) {
  Script("learner", "await pids.actor.0; await pids.actor.1; " + kEnd);
  EXPECT_EQ(RunToEnd(), kExitDone);
  const std::string parent = " --parent " + std::to_string(pid_), run = dir_.path().string();
  EXPECT_THAT(dir_.Lines("arguments"),
              testing::UnorderedElementsAre(
                  "learner --run-dir " + run + " --status-fd 3" + parent,
                  "actor.0 --run-dir " + run + " --slot 0 --connect-timeout 7" + parent,
                  "actor.1 --run-dir " + run + " --slot 1 --connect-timeout 7" + parent));
}

TEST_F(SupervisorTest, ARedoRunsBeforeEachLearnerThatGoesOn) {
  options_.resume = true;
  options_.before_learner = [this] {
    std::ofstream(dir_ / "called", std::ios::app) << std::filesystem::exists(dir_ / "redone")
                                                  << std::filesystem::exists(dir_ / "pids.learner");
  };
  Script("redo", "status 3 7; say 12:00:00.000 warn  redo: a damaged file; touch redone; exit 0");
  Script("learner", Status(0, false) + "; " + Status(160, false) + "; kill 9\n" + kEnd);
  EXPECT_EQ(RunToEnd(), kExitDone);
  EXPECT_THAT(dir_.Lines("pids.redo"), SizeIs(2));
  EXPECT_THAT(dir_.Lines("arguments").front(),
              "redo replay " + dir_.path().string() +
                  " --from-checkpoint --write --redo-s 30 --status-fd 3 --parent " +
                  std::to_string(pid_));
  EXPECT_THAT(dir_.Lines("arguments"), Contains(HasSubstr("redo-s 30 --status-fd 3 --restart")));
  EXPECT_THAT(dir_.Read("screen"), HasSubstr("redo: a damaged file"));
  EXPECT_EQ(dir_.Read("called"), "10") << "once, after the redo and before the learner";
  EXPECT_EQ(Result()["learner_restarted"], 1);
}

constexpr char kResult[] =
    R"(append eval.jsonl {"steps":1,"term":1,"version":1,"episodes":1,"mean_return":1.0,"std":0.0,)"
    R"("seconds":0.5})";

TEST_F(SupervisorTest, EvaluatorIsToldWhatItNeedsAndToFinishWhenTheRunIsDone) {
  options_.evaluates = true;
  Script("learner", "await pids.evaluator; " + kEnd);
  Script("evaluator", "asked; touch finished; exit 0");
  EXPECT_EQ(RunToEnd(), kExitDone);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "finished"));
  EXPECT_THAT(dir_.Lines("arguments"),
              Contains("evaluator --evaluate --run-dir " + dir_.path().string() + " --parent " +
                       std::to_string(pid_)));
  EXPECT_EQ(Result()["started"], 2) << "it is no actor";
  EXPECT_THAT(dir_.Read("log"), HasSubstr("evaluator started, pid "));
}

TEST_F(SupervisorTest, EvaluatorThatDiesIsStartedAgainAndSparesTheRun) {
  options_.evaluates = true;
  options_.limits.backoff_first_ms = options_.limits.backoff_max_ms = 5;
  options_.limits.evaluator_deaths = 3;
  // Every other life leaves a result: only the last three in a row do not.
  Script("learner", "await hopeless; " + kEnd);
  Script("evaluator", std::string("kill 9\n") + kResult + "; kill 9\nkill 9\n" + kResult +
                          "; kill 9\nkill 9\ntouch hopeless; kill 6");
  EXPECT_EQ(RunToEnd(), kExitDone);
  EXPECT_THAT(dir_.Lines("pids.evaluator"), SizeIs(6));
  EXPECT_EQ(Result()["actors_restarted"], 0);
  EXPECT_EQ(dir_.Lines("screen").size(), 1u) << dir_.Read("screen");
  EXPECT_THAT(dir_.Read("screen"), HasSubstr("the run goes on without evaluation"));
}

TEST_F(SupervisorTest, LearnerThatOnlyDiesIsGivenUp) {
  options_.limits.backoff_max_ms = 5;
  options_.limits.backoff_first_ms = 5;
  Script("learner", "say no such luck; kill 6");
  EXPECT_EQ(RunToEnd(), kExitFailed);
  EXPECT_THAT(dir_.Lines("pids.learner"), SizeIs(5));
  EXPECT_THAT(dir_.Read("screen"), HasSubstr("gave up; the reasons are in "));
  EXPECT_THAT(dir_.Read("log"), HasSubstr("no such luck"));
  EXPECT_THAT(Result()["error"].get<std::string>(),
              testing::EndsWith(" was killed by SIGABRT, 5 times in a row without an applied "
                                "update: no such luck"));
}

TEST_F(SupervisorTest, OperatorsMistakeFoundByAnActorEndsTheRunWithItsMessage) {
  Script("learner", "hold; exit 0");
  Script("actor", "say no plug-in of that name; exit 2");
  EXPECT_EQ(RunToEnd(), kExitUserError);
  EXPECT_THAT(dir_.Read("screen"), HasSubstr("no plug-in of that name\n"));
  EXPECT_EQ(Result()["error"], "no plug-in of that name");
}

TEST_F(SupervisorTest, OutputGoesToTheLogAndTroubleToTheScreen) {
  Script("learner",
         "say 12:00:00.000 info  learner: quiet; say 12:00:00.001 warn  learner: loud; "
         "say CHECK failed: x; print stray; " +
             kEnd);
  EXPECT_EQ(RunToEnd(), kExitDone);
  const std::string log = dir_.Read("log"), screen = dir_.Read("screen");
  for (const char* text : {"quiet", "loud", "CHECK failed: x", "stray"}) {
    EXPECT_THAT(log, HasSubstr(text));
  }
  EXPECT_THAT(screen, Not(HasSubstr("quiet")));
  for (const char* text : {"loud", "CHECK failed: x", "stray"}) {
    EXPECT_THAT(screen, HasSubstr(text));
  }
  EXPECT_THAT(screen, Not(HasSubstr("\033"))) << "no escape codes off a terminal";
}

TEST_F(SupervisorTest, SignalsComeInsteadOfBeingLostBeforeAndAfter) {
  Script("learner", "hold; touch over; exit 0");
  const pid_t pid = Fork([this] {
    const StopSignalsHeld held;
    ::raise(SIGINT);  // too early for Supervise: held back, not lost
    monitor::Console console(2, {});
    RunLog log(dir_.path(), console);
    const int status = Supervise(options_, log, console).exit_status;
    ::raise(SIGTERM);  // too late: it must not cost the summary
    ::_exit(status);
  });
  EXPECT_EQ(StatusOf(pid), kExitInterrupted);
}

}  // namespace
}  // namespace starling::fleet
