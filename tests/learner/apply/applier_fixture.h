// A stream of updates for an applier, and the same updates applied by the plain optimizer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "core/check.h"
#include "learner/apply/applier.h"
#include "tests/learner/apply/optimizer_fixture.h"

namespace starling {

inline void PrintTo(ApplyMode mode, std::ostream* out) { *out << NameOf(mode); }

}  // namespace starling

namespace starling::learner {

inline constexpr std::uint32_t kTestTerm = 3;

// Makes `versions` updates of a vector of `size`; version v merges 1 + v % 3 gradients.
class UpdateStream {
 public:
  UpdateStream(std::size_t size, std::uint64_t versions, const OptimizerConfig& config = {})
      : spec_(MakeOptimizerSpec(config)), initial_(RandomVector(size, 0)), updates_(versions + 1) {
    constexpr std::uint32_t kGradients = 7;  // shared by the updates, to keep the test small
    for (std::uint32_t i = 0; i < kGradients; ++i) {
      gradients_.push_back(RandomVector(size, i + 1, 0.1f));
    }
    for (std::uint64_t v = 1; v <= versions; ++v) {
      updates_[v] = std::make_unique<Update>();
      Update& update = *updates_[v];
      update.version = v;
      const std::uint64_t merged = 1 + v % 3;
      for (std::uint64_t k = 0; k < merged; ++k) {
        const float weight = merged == 3 && k > 0 ? 0.5f : 1;
        update.gradients.push_back({gradients_[(v + 2 * k) % kGradients], weight});
      }
      update.lr = 1e-3 * static_cast<double>(versions - v + 1) / static_cast<double>(versions);
      update.scale = v % 4 == 0 ? 0.5 : 1;
      update.optimizer_step = v;
      update.meta = Meta(v);
    }
  }

  static wire::SnapshotMeta Meta(std::uint64_t version) {
    return {.term = kTestTerm, .version = version, .steps = 160 * version, .entropy = 0.01};
  }
  const std::vector<float>& initial() const { return initial_; }
  const OptimizerSpec& spec() const { return spec_; }
  std::uint64_t versions() const { return updates_.size() - 1; }
  Update& at(std::uint64_t version) { return *updates_[version]; }

  // Returns weights and state after versions 0 ... versions(), computed by the plain optimizer.
  std::vector<StateCopy> Reference() {
    std::vector<StateCopy> all(1);
    all[0].weights = initial_;
    all[0].state.assign(spec_.slots.size(), std::vector<float>(initial_.size()));
    for (std::uint64_t v = 1; v <= versions(); ++v) {
      StateCopy next = all.back();
      const Update& update = at(v);
      std::vector<float> sum(initial_.size(), 0.0f);
      float whole = 0;  // a power of two
      for (std::size_t k = 0; k < update.gradients.size(); ++k) {
        const std::span<const float> values = update.gradients[k].values;
        const float weight = update.gradients[k].weight;
        whole += weight;
        for (std::size_t i = 0; i < sum.size(); ++i) {
          // The applier's sum may be contracted to a fused multiply-add. Weights that are powers of
          // two give the same bits with and without it.
          sum[i] = k == 0 ? weight * values[i] : sum[i] + weight * values[i];
        }
      }
      for (float& value : sum) value /= whole;
      std::vector<std::span<float>> state(next.state.begin(), next.state.end());
      ApplyUpdate(spec_, MakeStepSize(spec_, update.lr, update.scale, update.optimizer_step), sum,
                  next.weights, state);
      all.push_back(std::move(next));
    }
    return all;
  }

 private:
  OptimizerSpec spec_;
  std::vector<float> initial_;
  std::vector<std::vector<float>> gradients_;
  std::vector<std::unique_ptr<Update>> updates_;
};

// An applier with its snapshot, and a way to wait for it without spinning.
class TestApplier {
 public:
  TestApplier(ApplyMode mode, UpdateStream& stream, int threads, const StateCopy* from = nullptr,
              std::uint64_t version = 0, std::size_t trained = SIZE_MAX)
      : snapshot_("", stream.initial().size(), 1, kTestTerm),
        applier_(MakeApplier(mode,
                             {.threads = threads,
                              .optimizer = stream.spec(),
                              .size = stream.initial().size(),
                              .trained = trained},
                             from ? from->weights : stream.initial(),
                             from ? from->state : std::vector<std::vector<float>>{}, snapshot_,
                             UpdateStream::Meta(version), [this] {
                               progress_.fetch_add(1);
                               progress_.notify_all();
                             })) {}

  Applier& operator*() { return *applier_; }
  Applier* operator->() { return applier_.get(); }
  const wire::SnapshotWriter& snapshot() const { return snapshot_; }
  // Ends its threads.
  void End() { applier_.reset(); }
  int progress() const { return progress_.load(); }

  // Waits for a progress beyond `seen`.
  void Wait(int seen) { progress_.wait(seen); }
  void WaitFor(std::uint64_t version) {
    for (;;) {
      const int seen = progress_.load();
      if (applier_->Completed() >= version) return;
      progress_.wait(seen);
    }
  }
  void SubmitWhenThereIsRoom(Update& update) {
    if (update.version > applier_->capacity()) WaitFor(update.version - applier_->capacity());
    CHECK(applier_->Submit(&update), "room for version {}", update.version);
  }
  void Run(UpdateStream& stream, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t v = first; v <= last; ++v) SubmitWhenThereIsRoom(stream.at(v));
    WaitFor(last);
  }

 private:
  wire::SnapshotWriter snapshot_;
  std::atomic<int> progress_{0};
  std::unique_ptr<Applier> applier_;  // last: its threads use the members above
};

// Runs all of `stream`. Two threads read snapshots meanwhile; right(weights, version) checks each.
template <class Right>
void RunWatched(TestApplier& applier, UpdateStream& stream, const Right& right) {
  std::atomic<std::uint64_t> wrong{0};     // right() was false
  std::atomic<std::uint64_t> backward{0};  // older than the previous one, or with another's meta
  std::atomic<std::uint64_t> read{0};
  const auto watch = [&] {
    wire::SnapshotReader reader(applier.snapshot());
    std::vector<float> weights(stream.initial().size());
    wire::SnapshotMeta meta;
    for (std::uint64_t newest = 0; newest < stream.versions();) {
      // Read the same version again only if no other thread wants the processor.
      if (reader.Latest() == newest) std::this_thread::yield();
      if (!reader.Read(newest, weights, meta)) continue;
      if (!right(weights, meta.version)) ++wrong;
      if (meta.version < newest || meta != UpdateStream::Meta(meta.version)) ++backward;
      newest = meta.version;
      ++read;
    }
  };
  std::thread first(watch), second(watch);
  applier.Run(stream, 1, stream.versions());
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(backward, 0u);
  EXPECT_GE(read, 2u);
}

// Both weights and state, bit for bit.
inline void ExpectEqual(const StateCopy& got, const StateCopy& expected, const std::string& what) {
  EXPECT_EQ(got.weights, expected.weights) << what;
  EXPECT_EQ(got.state, expected.state) << what;
}

// Runs a test for each way to apply updates.
inline const auto kEachWay = testing::Values(ApplyMode::kLanes, ApplyMode::kHogwild);
inline std::string NameOfWay(const testing::TestParamInfo<ApplyMode>& way) {
  return std::string(NameOf(way.param));
}

}  // namespace starling::learner
