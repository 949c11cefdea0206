// A run of two actors at bound 0 as its journal: written by hand, record by record, without a
// learner. What its weights are, a replay decides.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "learner/apply/schedule.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_writer.h"
#include "learner/storage/start.h"
#include "learner/storage/terms.h"
#include "results/initial_net.h"
#include "tests/support/temp_dir.h"
#include "tools/replay/replay.h"
#include "tools/replay/replayer.h"
#include "wire/protocol.h"

namespace starling::replay {

class JournalledRun {
 public:
  static constexpr std::uint32_t kSamples = 10;  // 2 envs x 5 steps

  explicit JournalledRun(const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings = {
        "env.name=dummy",      "net.kind=mlp",   "net.hidden=[]", "actors.envs_per_actor=2",
        "actors.unroll=5",     "actors.count=2", "run.steps=200", "loss.entropy_schedule=linear",
        "optimizer.kind=adam", "run.seed=3"};
    settings.insert(settings.end(), more.begin(), more.end());
    config = ParseConfig("", "test.toml", settings);
    net = results::InitialNetOf(config);
    dir.Write("config.toml", ToToml(config));
  }

  // A learner starts at `version`, behind `after`, which is nowhere at the beginning.
  void BeginTerm(std::uint64_t version = 0, learner::JournalPosition after = {},
                 std::uint64_t segment_bytes = 64 << 20) {
    std::optional<learner::CheckpointId> from;
    if (version > 0) from = learner::CheckpointId{term, version};
    term = learner::ClaimTerm(checkpoints(), from);
    journal.reset();
    journal.emplace(dir / "journal",
                    learner::JournalHeader{.seed = config.run.seed,
                                           .fingerprint = net.layout.fingerprint(),
                                           .term = term,
                                           .after = after},
                    learner::JournalWriter::Options{segment_bytes});
    journal->Append(learner::TermRecord{term, version, version * 2 * kSamples});
    journal->Append(learner::EntropyRecord{EntropyAt(version)});
    now = version;
    joins = {};
    held.clear();
  }
  double EntropyAt(std::uint64_t version) const {
    return learner::EntropyCoef(config.loss, config.run.steps, version * 2 * kSamples);
  }
  std::uint32_t Incarnation(std::uint32_t slot) const {
    return wire::MakeIncarnation(term, joins.at(slot) - 1);
  }
  // `life`: of its LifeRecord; nullopt: it has none.
  void Join(std::uint32_t slot, std::optional<std::uint32_t> life = {}, bool restored = false) {
    joins.resize(2);
    ++joins[slot];
    journal->Append(learner::JoinRecord{slot, Incarnation(slot)});
    if (!life) return;
    journal->Append(
        learner::LifeRecord{slot, Incarnation(slot), *life, static_cast<std::uint8_t>(restored)});
  }
  void Restore(std::uint32_t slot, std::uint32_t life) { Join(slot, life, true); }
  void Die(std::uint32_t slot) { journal->Append(learner::DeathRecord{slot, Incarnation(slot)}); }
  // A gradient of `slot` on the newest version.
  void Arrive(std::uint32_t slot, wire::Outcome outcome = wire::Outcome::kNone, double norm = 0) {
    journal->Append(learner::GrantRecord{slot, ++grant, now});
    journal->Append(learner::ArrivalRecord{.slot = slot,
                                           .incarnation = Incarnation(slot),
                                           .sequence = grant,
                                           .grant = grant,
                                           .base_version = now,
                                           .samples = kSamples,
                                           .outcome = static_cast<std::uint8_t>(outcome),
                                           .norm = norm});
    if (outcome == wire::Outcome::kNone) held.push_back({slot, Incarnation(slot), grant});
  }
  // The next version is the mean of what has arrived. Returns the position behind it.
  learner::JournalPosition Update() {
    ++now;
    journal->Append(learner::UpdateRecord{.version = now,
                                          .steps = now * 2 * kSamples,
                                          .lr = 0.05,
                                          .scale = 1,
                                          .entropy = EntropyAt(now),
                                          .items = std::exchange(held, {})});
    return journal->position();
  }
  // Both actors, `versions` times.
  learner::JournalPosition Train(int versions) {
    learner::JournalPosition end;
    for (int i = 0; i < versions; ++i) {
      Arrive(0), Arrive(1);
      end = Update();
    }
    return end;
  }
  void Flush() { journal->Flush(); }

  // Replays up to `version`, from the beginning or from `cut`.
  learner::CheckpointContent Replay(std::uint64_t version,
                                    std::optional<learner::Checkpoint> cut = {}) {
    Flush();
    Beginning beginning = cut ? AtCut(*cut, "cut") : AtFirstWeights(config);
    JournalAhead ahead(dir.path(), beginning.journal);
    Replayer replayer(config, ahead, std::move(beginning), net.layout);
    while (replayer.version() < version) {
      const auto record = ahead.Next();
      if (!record || !replayer.Do(*record)) break;
    }
    difference = replayer.difference();
    return replayer.Content();
  }
  // The checkpoint at `version`, behind `position`; with the states of its actors: a cut.
  learner::Checkpoint CheckpointAt(std::uint64_t version, learner::JournalPosition position) {
    learner::CheckpointContent content = Replay(version);
    content.state.term = term;
    content.journal = position;
    return learner::CheckpointOf(config, net.layout, net.spaces, std::move(content));
  }
  std::filesystem::path checkpoints() const { return dir / "checkpoints"; }

  const TempDir dir;
  Config config;
  learner::InitialNet net;
  std::optional<learner::JournalWriter> journal;
  std::uint32_t term = 1;
  std::uint64_t now = 0, grant = 0;
  std::vector<std::uint32_t> joins;  // so far in this term, by slot
  std::vector<learner::UpdateRecord::Item> held;
  std::string difference;  // of the last replay
};

// Runs `starling replay`. Its standard output is in `out`, its standard error in `said`.
inline int RunCaptured(const ReplayOptions& options, std::string& out, std::string& said) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto end = [&] {
    out = testing::internal::GetCapturedStdout();
    said = testing::internal::GetCapturedStderr();
  };
  try {
    const int status = RunReplay(options);
    end();
    return status;
  } catch (...) {
    end();
    throw;
  }
}

// Expects the same training from here on, but for the incarnations.
inline void ExpectSame(const learner::CheckpointContent& a, const learner::CheckpointContent& b) {
  EXPECT_EQ(a.state.weights, b.state.weights);
  EXPECT_EQ(a.state.optimizer_state, b.state.optimizer_state);
  EXPECT_EQ(a.state.optimizer_step, b.state.optimizer_step);
  EXPECT_EQ(a.state.steps, b.state.steps);
  ASSERT_EQ(a.actors->actors.size(), b.actors->actors.size());
  EXPECT_EQ(a.actors->base, b.actors->base);
  EXPECT_EQ(a.actors->begun, b.actors->begun);
  for (std::size_t i = 0; i < a.actors->actors.size(); ++i) {
    EXPECT_EQ(a.actors->actors[i].slot, b.actors->actors[i].slot);
    EXPECT_EQ(a.actors->actors[i].life, b.actors->actors[i].life);
    EXPECT_EQ(a.actors->actors[i].state, b.actors->actors[i].state);
  }
}

}  // namespace starling::replay
