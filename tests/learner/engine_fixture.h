// An engine without a socket and a clock: a net of 16 weights that start at 0, SGD with learning
// rate 1, and two actors whose pushes the test makes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "learner/engine.h"
#include "learner/storage/journal_reader.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {

class EngineFixture : public testing::Test {
 protected:
  static constexpr std::size_t kSize = 16;
  static constexpr std::int64_t kSecond = 1'000'000'000;  // nanoseconds

  EngineFixture() = default;  // JoinBoth makes the engine
  // `from`: the actors of the cut that the run goes on from.
  explicit EngineFixture(const std::vector<std::string>& overrides,
                         std::optional<ActorStates> from = {}) {
    exact_ = from.has_value();
    start_.actors = std::move(from);
    MakeEngine(overrides);
  }

  // `overrides`: "section.key=value".
  void MakeEngine(const std::vector<std::string>& overrides) {
    config_ = MakeConfig(overrides);
    snapshot_.emplace("", size_, 1, start_.state.term);
    start_.state.weights.assign(size_, 0.0f);
    engine_ = std::make_unique<Engine>(config_, start_, *snapshot_,
                                       EngineOptions{.run_dir = dir_.path(),
                                                     .fingerprint = 1,
                                                     .session = 7,
                                                     .slice = {.begin = 0, .size = size_},
                                                     .trained = kSize,
                                                     .exact = exact_,
                                                     .redo = exact_,
                                                     .sum_ahead = sum_ahead_,
                                                     .may_save = [] { return true; },
                                                     .on_progress = [this] { OnProgress(); }});
  }

  // In a thread of the applier.
  void OnProgress() {
    progress_.release();
    if (auto* const hold = hold_.exchange(nullptr)) hold->acquire();
  }

  static Config MakeConfig(const std::vector<std::string>& overrides) {
    return ParseConfig(
        "[run]\nsteps = 1000\n[actors]\ncount = 2\nenvs_per_actor = 2\nunroll = 2\n"
        "[optimizer]\nkind = \"sgd\"\nlr = 1.0\nlr_schedule = \"constant\"\n"
        "[updates]\nin_flight = 1\nstart_timeout_s = 60\n"
        "[staleness]\ndeadline_s = 30\n[wire]\ntimeout_s = 10\n",
        "x.toml", overrides);
  }

  // Both actors join an engine and hold a grant.
  void JoinBoth(const std::vector<std::string>& overrides = {}) {
    MakeEngine(overrides);
    for (const std::uint32_t slot : {0u, 1u}) engine_->Join(slot);
    engine_->Open();
    TakeReplies(0);
  }
  void TakeReplies(std::int64_t now_ns) {
    for (const auto& [slot, answer] : engine_->TakeReplies(now_ns)) {
      for (const wire::GradientOutcome& one : answer.outcomes) {
        answers_.push_back({slot, wire::OutcomeName(one.outcome)});
      }
      for (const wire::Grant& grant : answer.grants) grants_[slot] = grant;
    }
  }

  // Returns a gradient of `slot` under its newest grant; every value is `value`.
  Received Gradient(std::uint32_t slot, float value = 1.0f, std::uint32_t samples = 4) {
    const auto values = std::make_shared<std::vector<float>>(size_, value);
    return {.header = {.slot = slot,
                       .incarnation = engine_->roster().Find(slot)->incarnation,
                       .sequence = ++sequence_,
                       .term = 1,
                       .session = 7,
                       .version = grants_[slot].version,
                       .fingerprint = 1},
            .body = {.grant = grants_[slot].number, .samples = samples},
            .tensor = {.values = *values, .hold = values}};
  }
  std::string Push(Received gradient) {
    return wire::OutcomeName(engine_->Receive(std::move(gradient)).outcome);
  }
  // Applies every update that is due, `seconds` after the first grant.
  void Apply(double seconds = 1) {
    engine_->Advance();
    while (!engine_->idle()) {
      if (!engine_->TakeFinished(seconds)) progress_.acquire();
      engine_->Advance();
    }
  }

  float Weight() { return engine_->CaptureNow().state.weights.at(3); }

  template <class Record>
  std::vector<Record> Journal() {
    engine_->journal().Flush();
    std::vector<Record> found;
    JournalReader reader(dir_ / "journal");
    while (auto record = reader.Next()) {
      if (const auto* one = std::get_if<Record>(&*record)) found.push_back(*one);
    }
    return found;
  }

  TempDir dir_;
  std::size_t size_ = kSize;                           // for MakeEngine; from kSize on: sums
  bool exact_ = false, sum_ahead_ = false;             // for MakeEngine
  std::atomic<std::binary_semaphore*> hold_{nullptr};  // the lane waits for it after its next work
  Config config_;
  Start start_;
  std::optional<wire::SnapshotWriter> snapshot_;
  std::counting_semaphore<> progress_{0};
  std::map<std::uint32_t, wire::Grant> grants_;  // the newest of each slot
  std::vector<std::pair<std::uint32_t, std::string>> answers_;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<Engine> engine_;  // last: its threads use the members above
};

}  // namespace starling::learner
