// Sweeps of the built program, beside which stand-ins (fake_child.cc) play learner and actor.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/config/config.h"
#include "core/error.h"
#include "learner/storage/checkpoint.h"
#include "results/run_dir.h"
#include "results/summary.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/fleet_fixtures.h"

namespace starling::sweep {

// A whole training, within a moment.
inline const char* const kTrains =
    R"(mkdir checkpoints; touch checkpoints/a.safetensors; status {"phase":"done","term":1,)"
    R"("steps":1000,"frames":1000,"updates":7,"seconds":2.5,"steps_per_second":400.0,)"
    R"("mean_return":1.5,"episodes":9,"staleness":{"max":1,"mean":0.5,"histogram":[4,4]},)"
    R"("gradients":{"received":8,"applied":8,"merged":0,"in_flight":0,"dropped":{}},)"
    R"("checkpoint":"checkpoints/a.safetensors","final":true}; touch over; exit 0)";

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    const auto bin = dir_.path() / "bin";
    std::filesystem::create_directory(bin);
    std::filesystem::copy_file(STARLING_PROGRAM, bin / "starling");
    for (const char* name : {"starling-learner", "starling-actor"}) {
      std::filesystem::copy_file(STARLING_FAKE_CHILD, bin / name);
    }
    std::filesystem::create_directory(dir_.path() / "place");
    dir_.Write("catch.toml",
               "[run]\nsteps = 1000\n[env]\nname = \"catch\"\n[actors]\ncount = 1\n[net]\n"
               "kind = \"mlp\"\n[wire]\nruntime_dir = \"" +
                   (dir_.path() / "place").string() + "\"\n");
    WriteGrid("[1, 2]", 0, "at_once = 3\n[grid]\nstaleness.bound = [0, 4]\n");
    dir_.Write("script.learner", kTrains);
  }
  Finished Sweep(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {(dir_.path() / "bin/starling").string(), "sweep",
                                      "bounds.toml"};
    words.insert(words.end(), more.begin(), more.end());
    return RunProgram(dir_, words, {"FAKE_SCRIPTS=" + dir_.path().string()});
  }
  // The log of a sweep that ends in this way.
  std::string LogOf(int status) {
    const Finished sweep = Sweep();
    EXPECT_EQ(sweep.status, status) << sweep.err;
    return sweep.err;
  }
  nlohmann::json SweepJson() const {
    return nlohmann::json::parse(dir_.Read("sweeps/bounds/sweep.json"), nullptr, false);
  }
  // Its run, trained, with weights of a net of that width that claim to be of the right one.
  void WriteTrained(const std::string& hidden) const {
    const Config right = LoadConfig(dir_ / "catch.toml", {"staleness.bound=4"});
    const Config config = LoadConfig(dir_ / "catch.toml", {"net.hidden=" + hidden});
    const auto run = dir_ / "sweeps/bounds/bound=4/seed-1";
    learner::Checkpoint checkpoint = results::FirstCheckpoint(config);
    checkpoint.config = ToToml(right);
    const auto last = learner::WriteCheckpoint(run / "checkpoints", checkpoint);
    learner::RunStatus status;
    status.steps = 1000;
    status.checkpoint = "checkpoints/" + last.filename().string();
    results::WriteConfig(run, right);
    EXPECT_EQ(results::WriteSummary(run, results::BuildSummary(right, status, {})), "");
  }
  // `rest`: further keys, then sections.
  void WriteGrid(const std::string& seeds, int eval_episodes, const std::string& rest = "") const {
    dir_.Write("bounds.toml",
               fmt::format("config = \"catch.toml\"\nseeds = {}\neval_episodes = {}\n{}", seeds,
                           eval_episodes, rest));
  }
  // One run, and how it is judged.
  void WriteOneRun(int eval_episodes) const {
    WriteGrid("[1]", eval_episodes, "[grid]\nstaleness.bound = [4]\n");
  }
  TempDir dir_;
};

}  // namespace starling::sweep
