// A small fleet in virtual time that is played to its end. Without other settings: two actors that
// compute for exactly 10 ms, a lane that takes exactly 1 ms, and nothing else takes any time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/config/config.h"
#include "learner/storage/journal_reader.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "tests/support/temp_dir.h"
#include "tools/simulate/simulator.h"
#include "tools/simulate/virtual_learner.h"

namespace starling::simulate {

inline constexpr int kSamples = 4;  // of a gradient

class SmallFleet {
 public:
  // So many gradients are applied; `settings` are "section.key=value".
  SmallFleet(int gradients, std::vector<std::string> settings, int threads = 2) {
    settings.push_back("run.steps=" + std::to_string(gradients * kSamples));
    config = ParseConfig(
        "[run]\ntensorboard = false\n"
        "[env]\nname = \"catch\"\n"
        "[actors]\ncount = 2\nenvs_per_actor = 2\nunroll = 2\n"
        "[net]\nkind = \"mlp\"\nhidden = [8]\n"
        "[simulate]\ncompute_ms = 10\ncompute_spread = 0\nrefresh_ms = 0\nnetwork_ms = 0\n"
        "receive_ms = 0\napply_ms = 1\nmerge_ms = 0\n",
        "small.toml", settings);
    results::WriteConfig(dir.path(), config);
    learner = std::make_unique<VirtualLearner>(config, results::InitialNetOf(config), dir.path());
    Simulator simulator(config, *learner, threads);
    while (simulator.Step()) {
      most_versions_kept = std::max(most_versions_kept, simulator.versions_kept());
      if (learner->published() == published_ms.size()) continue;
      published_ms.push_back(static_cast<double>(simulator.now_ns()) / 1e6);
    }
    time = simulator.Time();
    learner->SetTime(time);
    EXPECT_TRUE(learner->End());
  }

  const learner::Counters& counters() const { return learner->counters(); }
  std::vector<std::uint64_t> staleness() const { return counters().staleness.counts(); }

  template <class Record>
  std::vector<Record> Journal() const {
    std::vector<Record> found;
    learner::JournalReader reader(dir / "journal");
    while (auto record = reader.Next()) {
      if (const auto* one = std::get_if<Record>(&*record)) found.push_back(*one);
    }
    EXPECT_EQ(reader.ending(), learner::JournalEnding::kEnd);
    return found;
  }

  TempDir dir;
  Config config;
  std::unique_ptr<VirtualLearner> learner;
  std::vector<double> published_ms;  // when each version was published, from version 1
  std::size_t most_versions_kept = 0;
  learner::TimeStatus time;
};

}  // namespace starling::simulate
