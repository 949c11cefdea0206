// The arithmetic of each correction, and lanes that mend stale gradients.
#include "learner/apply/correction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

constexpr Correction kAll[] = {Correction::kDelayCompensated, Correction::kDelayCompensatedAdaptive,
                               Correction::kGap};

StalenessConfig With(Correction kind, std::uint64_t bound = 4, double compensation = -1) {
  return {.bound = bound, .correction = kind, .compensation = compensation};
}

// Mends one weight.
float Mended(const StalenessConfig& config, float g, float now, float base, float squares = 0,
             float unbias = 1) {
  const CorrectionSpec spec = MakeCorrectionSpec(config);
  float mended = 0;
  const auto kept = spec.squares().empty() ? std::span<const float>() : std::span(&squares, 1);
  Mend(spec,
       {.now = std::span(&now, 1), .base = std::span(&base, 1), .squares = kept, .unbias = unbias},
       std::span(&g, 1), std::span(&mended, 1));
  return mended;
}

TEST(Mend, DelayCompensationAddsTheSquareTimesTheDistance) {
  const StalenessConfig config = With(Correction::kDelayCompensated, 4, 0.5);
  EXPECT_EQ(Mended(config, 2, 3, 1), 6);   // 2 + 0.5 * 4 * 2
  EXPECT_EQ(Mended(config, -2, 3, 1), 2);  // the square has no sign: -2 + 0.5 * 4 * 2
  EXPECT_EQ(Mended(config, 2, 1, 3), -2);  // 2 - 4
  EXPECT_EQ(Mended(config, 0, 1, 3), 0);   // no gradient, no curvature
  EXPECT_EQ(Mended(With(Correction::kDelayCompensated, 4, 0), 2, 3, 1), 2);
  EXPECT_FLOAT_EQ(Mended(With(Correction::kDelayCompensated), 2, 3, 1), 2.32f);  // 0.04 * 4 * 2
}

TEST(Mend, TheAdaptiveFormDividesLambdaByTheUsualSizeOfAGradient) {
  const StalenessConfig config = With(Correction::kDelayCompensatedAdaptive, 4, 0.5);
  EXPECT_EQ(Mended(config, 2, 3, 1, 16), 3);                 // 2 + (0.5 / 4) * 4 * 2
  EXPECT_EQ(Mended(config, 2, 3, 1, 4, 4), 3);               // the root of 4 * 4
  EXPECT_FLOAT_EQ(Mended(config, 200, 3, 1, 160'000), 300);  // the same for any scale
  EXPECT_EQ(Mended(config, 0, 3, 1, 0), 0);                  // it never had a gradient
  EXPECT_FLOAT_EQ(Mended(With(Correction::kDelayCompensatedAdaptive), 2, 3, 1, 16), 6);  // lambda 2
}

TEST(Mend, GapAwareDividesByTheStepsThatTheWeightHasMoved) {
  const StalenessConfig config = With(Correction::kGap);
  EXPECT_EQ(Mended(config, 2, 3, 1, 4), 1);          // one step of 2 away: 2 / (1 + 1)
  EXPECT_EQ(Mended(config, 2, 1, 3, 4), 1);          // in either direction
  EXPECT_EQ(Mended(config, 2, 7, 1, 4), 0.5f);       // three steps: 2 / 4
  EXPECT_EQ(Mended(config, -2, 7, 1, 1, 4), -0.5f);  // the root of 1 * 4
  EXPECT_EQ(Mended(config, 2, 1, 1, 0), 2);          // a weight that never moved
}

TEST(Mend, LeavesAGradientOfTheSameWeights) {
  for (const Correction kind : kAll) {
    EXPECT_EQ(Mended(With(kind), 0.3f, 0.7f, 0.7f, 0.01f), 0.3f) << NameOf(kind);
  }
}

TEST(AverageSquares, IsOfGradientsOrOfStepsAndUnbiased) {
  const std::vector<float> gradient(16, 3), before(16, 1), after(16, -1);
  for (const Correction kind : {Correction::kDelayCompensatedAdaptive, Correction::kGap}) {
    const CorrectionSpec spec = MakeCorrectionSpec(With(kind));
    const float square = kind == Correction::kGap ? 4 : 9;
    std::vector<float> squares(16, 0.0f);
    for (std::uint64_t t = 1; t <= 5; ++t) {
      AverageSquares(spec, gradient, before, after, squares);
      EXPECT_FLOAT_EQ(squares[7] * UnbiasSquares(t + 1), square) << t;
    }
    EXPECT_FLOAT_EQ(squares[0], square * static_cast<float>(1 - std::pow(0.95, 5)));
  }
  EXPECT_EQ(UnbiasSquares(1), 1);  // of nothing
}

TEST(CorrectionSpec, KeepsAVectorOnlyWhereItAveragesAndMendsNothingAtBound0) {
  const auto slots = [](Correction kind) {
    return MakeOptimizerSpec({.kind = OptimizerKind::kAdam}, With(kind)).slots;
  };
  const std::vector<std::string> adam = {"exp_avg", "exp_avg_sq"};
  EXPECT_EQ(slots(Correction::kNone), adam);
  EXPECT_EQ(slots(Correction::kDelayCompensated), adam);
  EXPECT_EQ(slots(Correction::kDelayCompensatedAdaptive),
            (std::vector<std::string>{"exp_avg", "exp_avg_sq", "gradient_square_avg"}));
  EXPECT_EQ(slots(Correction::kGap),
            (std::vector<std::string>{"exp_avg", "exp_avg_sq", "step_square_avg"}));
  for (const Correction kind : kAll) {
    EXPECT_TRUE(MakeCorrectionSpec(With(kind)).mends());
    EXPECT_FALSE(MakeCorrectionSpec(With(kind, 0)).mends());
  }
}

// ---- lanes

constexpr std::uint64_t kStaleBound = 4, kStaleVersions = 40;
constexpr std::size_t kStaleSize = 16 * 61, kStaleTrained = 16 * 60;  // a group of running sums

// Updates of one to three gradients of different ages, the oldest of `kStaleBound`.
class StaleStream {
 public:
  explicit StaleStream(Correction kind)
      : kind_(kind),
        spec_(MakeOptimizerSpec({.kind = OptimizerKind::kRmsProp,
                                 .momentum = 0.5,
                                 .epsilon_place = EpsilonPlace::kOutside,
                                 .bias_correction = false},
                                With(kind, kStaleBound, 3))),
        initial_(RandomVector(kStaleSize, 0)),
        updates_(kStaleVersions + 1) {
    for (std::uint32_t v = 1; v <= kStaleVersions; ++v) {
      for (std::uint32_t k = 0; k < 1 + v % 3; ++k) {
        gradients_.push_back(RandomVector(kStaleSize, 100 * v + k, 0.1f));
      }
    }
    std::size_t next = 0;
    for (std::uint64_t v = 1; v <= kStaleVersions; ++v) {
      updates_[v] = std::make_unique<Update>();
      Update& update = *updates_[v];
      update.version = v;
      for (std::uint64_t k = 0; k < 1 + v % 3; ++k) {
        update.gradients.push_back({.values = gradients_[next++],
                                    .weight = k == 1 ? 0.5f : 1,
                                    .staleness = std::min((v + 2 * k) % (kStaleBound + 1), v - 1)});
      }
      update.lr = 1e-2;
      update.samples = 10;
      update.optimizer_step = v;
      update.meta = UpdateStream::Meta(v);
    }
  }

  // Runs all updates in `threads` lanes.
  StateCopy Run(int threads) {
    wire::SnapshotWriter snapshot("", kStaleSize, 1, kTestTerm);
    const auto applier = MakeApplier(
        ApplyMode::kLanes,
        {.threads = threads, .optimizer = spec_, .size = kStaleSize, .trained = kStaleTrained},
        initial_, {}, snapshot, UpdateStream::Meta(0), [this] {
          progress_.fetch_add(1);
          progress_.notify_all();
        });
    for (std::uint64_t v = 1; v <= kStaleVersions; ++v) {
      while (!applier->Submit(updates_[v].get())) WaitFor(*applier, v - applier->capacity());
    }
    WaitFor(*applier, kStaleVersions);
    return applier->CaptureNow();
  }

  // The weights by the formulas, in double precision.
  std::vector<double> Reference() const {
    std::vector<double> weights;
    for (std::size_t i = 0; i < kStaleTrained; ++i) weights.push_back(ReferenceOf(i));
    return weights;
  }
  const std::vector<float>& initial() const { return initial_; }

 private:
  void WaitFor(const Applier& applier, std::uint64_t version) {
    for (;;) {
      const int seen = progress_.load();
      if (applier.Completed() >= version) return;
      progress_.wait(seen);
    }
  }

  double ReferenceOf(std::size_t i) const {
    std::vector<double> history = {initial_[i]};  // by version
    double squares = 0, square_avg = 0, velocity = 0;
    for (std::uint64_t v = 1; v <= kStaleVersions; ++v) {
      const double now = history.back();
      const double rms = v == 1 ? 0 : std::sqrt(squares / (1 - std::pow(0.95, v - 1)));
      double sum = 0, weight = 0;
      for (const GradientRef& one : updates_[v]->gradients) {
        const double g = one.values[i], moved = now - history[v - 1 - one.staleness];
        double mended = g;
        if (moved != 0) {
          if (kind_ == Correction::kDelayCompensated) mended = g + 3 * g * g * moved;
          if (kind_ == Correction::kDelayCompensatedAdaptive)
            mended = g + 3 / std::hypot(rms, std::sqrt(1e-7)) * g * g * moved;
          if (kind_ == Correction::kGap) mended = g / (1 + std::abs(moved) / rms);
        }
        sum += one.weight * mended;
        weight += one.weight;
      }
      const double g = sum / weight;
      square_avg = spec_.decay * square_avg + (1 - spec_.decay) * g * g;
      velocity = 0.5 * velocity + g / (std::sqrt(square_avg) + spec_.epsilon);
      history.push_back(now - 1e-2 * velocity);
      const double of = kind_ == Correction::kGap ? history.back() - now : g;
      squares = 0.95 * squares + 0.05 * of * of;
    }
    return history.back();
  }

  const Correction kind_;
  const OptimizerSpec spec_;
  const std::vector<float> initial_;
  std::vector<std::vector<float>> gradients_;
  std::vector<std::unique_ptr<Update>> updates_;
  std::atomic<int> progress_{0};
};

TEST(Lanes, MendStaleGradientsByTheFormula) {
  for (const Correction kind : kAll) {
    StaleStream stream(kind);
    const StateCopy got = stream.Run(1);
    const std::vector<double> expected = stream.Reference();
    double worst = 0, moved = 0;
    for (std::size_t i = 0; i < kStaleTrained; ++i) {
      worst = std::max(worst, std::abs(got.weights[i] - expected[i]));
      moved = std::max(moved, std::abs(expected[i] - stream.initial()[i]));
    }
    EXPECT_GT(moved, 0.1);
    EXPECT_LT(worst, 1e-4 * moved) << NameOf(kind);
  }
}

TEST(Lanes, MendToTheSameBitsInAnyNumber) {
  for (const Correction kind : kAll) {
    const StateCopy one = StaleStream(kind).Run(1);
    for (const int threads : {2, 3}) {
      ExpectEqual(StaleStream(kind).Run(threads), one, std::string(NameOf(kind)));
    }
  }
}

// The floats behind the trained ones are sums of observations: a correction leaves them.
TEST(Lanes, MendNoRunningSums) {
  std::vector<float> sums;
  for (const Correction kind : {Correction::kNone, Correction::kGap}) {
    const StateCopy got = StaleStream(kind).Run(1);
    const std::vector<float> tail(got.weights.begin() + kStaleTrained, got.weights.end());
    if (sums.empty()) sums = tail;
    EXPECT_EQ(tail, sums);
  }
}

}  // namespace
}  // namespace starling::learner
