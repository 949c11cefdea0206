// Every backend against the reference, op by op (net/checks).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/gpu.h"
#include "net/backend.h"
#include "net/checks/op_checks.h"
#include "net/cpu/gemm.h"
#include "net/cpu/levels.h"
#include "tests/net/fake_gpu_backend.h"
#include "tests/support/broken_backend.h"

namespace starling::net {

void PrintTo(const OpCheck& check, std::ostream* out) { *out << check.op; }

namespace {

enum class Where { kReference, kCpu, kLevel, kLoops, kCuda };

struct NamedBackend {
  const char* name;
  Where where;
  Precision precision = Precision::kF32;
  Instructions level = Instructions::kNative;  // of kLevel
  friend void PrintTo(const NamedBackend& backend, std::ostream* out) { *out << backend.name; }
};

constexpr NamedBackend kBackends[] = {
    {"reference", Where::kReference},
    {"cpu", Where::kCpu},
    {"cpu_bf16", Where::kCpu, Precision::kBf16},
#ifdef STARLING_HAS_LEVELS
    {"avx2", Where::kLevel, Precision::kF32, Instructions::kAvx2},
    {"avx2_bf16", Where::kLevel, Precision::kBf16, Instructions::kAvx2},
    {"avx512", Where::kLevel, Precision::kF32, Instructions::kAvx512},
    {"avx512_bf16", Where::kLevel, Precision::kBf16, Instructions::kAvx512},
    {"amx", Where::kLevel, Precision::kF32, Instructions::kAmx},
    {"amx_bf16", Where::kLevel, Precision::kBf16, Instructions::kAmx},
#endif
    {"loops", Where::kLoops},  // the work of a GPU's threads, one after the other
    {"cuda", Where::kCuda},
    {"cuda_tf32", Where::kCuda, Precision::kTf32},
    {"cuda_bf16", Where::kCuda, Precision::kBf16},
};

class BackendOps : public ::testing::TestWithParam<std::tuple<NamedBackend, OpCheck>> {
 protected:
  // Makes the backend, or skips where this machine lacks it.
  void SetUp() override {
    const auto& [contender, check] = GetParam();
    switch (contender.where) {
      case Where::kReference:
        backend_ = MakeReferenceBackend<float>();
        return;
      case Where::kCpu:
      case Where::kLevel:
        MakeForProcessor(contender);
        return;
      case Where::kLoops: {
        auto gpu = std::make_unique<FakeGpu>();
        backend_ = testing::MakeFakeGpuBackend(*gpu);
        gpu_ = std::move(gpu);
        return;
      }
      case Where::kCuda:
        const GpuSearch found = FindGpus();
        if (found.gpus.empty()) GTEST_SKIP() << found.why_none;
        gpu_ = OpenGpu(0);
        backend_ = MakeCudaBackend(*gpu_, contender.precision);
    }
  }

  void MakeForProcessor(const NamedBackend& contender) {
    if (contender.precision == Precision::kBf16 && !cpu::HasBf16Products()) {
      GTEST_SKIP() << "this processor has no bf16 products";
    }
    if (!ProcessorHas(contender.level)) GTEST_SKIP() << "this processor lacks the instructions";
#ifdef STARLING_HAS_LEVELS
    if (contender.where == Where::kLevel) {
      backend_ = cpu::MakeBackendFor(contender.level, contender.precision);
      return;
    }
#endif
    backend_ = MakeCpuBackend(contender.precision);
  }

  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Backend<float>> backend_;
};

TEST_P(BackendOps, AgreeWithTheReference) {
  const auto& [contender, check] = GetParam();
  const OpError found = CheckOp(check, *backend_, contender.precision);
  EXPECT_TRUE(found.ok()) << found.error << " of " << found.tolerance << ", " << found.where;
  RecordProperty("error", std::to_string(found.error));
}

INSTANTIATE_TEST_SUITE_P(All, BackendOps,
                         ::testing::Combine(::testing::ValuesIn(kBackends),
                                            ::testing::ValuesIn(OpChecks().begin(),
                                                                OpChecks().end())),
                         [](const auto& which) {
                           std::string name = std::string(std::get<0>(which.param).name) + "_" +
                                              std::get<1>(which.param).op;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// The checks themselves: they find a broken op, and no other.

using testing::BrokenBackend;
using testing::Fault;

bool Finds(const char* op, Fault fault, int output = 0) {
  BrokenBackend broken(op, fault, output);
  const auto check = std::find_if(OpChecks().begin(), OpChecks().end(),
                                  [&](const OpCheck& c) { return c.op == std::string(op); });
  return !CheckOp(*check, broken).ok();
}

TEST(OpChecksTest, FindAnElementThatIsLeftOrSlightlyWrong) {
  for (const OpCheck& check : OpChecks()) {
    EXPECT_TRUE(Finds(check.op, Fault::kLeavesTheLast)) << check.op;
    // Small whole numbers stay as they are.
    if (check.op == std::string("sample actions")) continue;
    EXPECT_TRUE(Finds(check.op, Fault::kOffByAThousandth)) << check.op;
  }
}

TEST(OpChecksTest, LookAtEveryOutputOfAPair) {
  for (const int output : {0, 1}) {
    EXPECT_TRUE(Finds("pair forward", Fault::kLeavesTheLast, output)) << output;
  }
  for (const int output : {0, 1, 2, 3}) {
    EXPECT_TRUE(Finds("pair backward weights", Fault::kLeavesTheLast, output)) << output;
  }
}

TEST(OpChecksTest, FindAMissingMask) {
  for (const char* op :
       {"linear backward input", "linear backward", "pair backward input", "conv backward input",
        "activate backward", "crop", "max pool backward", "add"}) {
    EXPECT_TRUE(Finds(op, Fault::kNoMask)) << op;
  }
  EXPECT_TRUE(Finds("layer norm backward", Fault::kNoMask));
}

TEST(OpChecksTest, FindAMissingBiasAndAHiddenNan) {
  for (const char* op : {"linear forward", "pair forward", "conv forward"}) {
    EXPECT_TRUE(Finds(op, Fault::kNoBias)) << op;
    EXPECT_TRUE(Finds(op, Fault::kHidesNans)) << op;
  }
  EXPECT_TRUE(Finds("activate", Fault::kHidesNans));
}

TEST(OpChecksTest, FindWhatIsAddedAndWhatIsWrittenBehindTheEnd) {
  for (const char* op :
       {"pair backward weights", "conv backward weights", "lstm cell forward", "gru cell forward",
        "crop", "max pool forward", "max pool backward", "advantages"}) {
    EXPECT_TRUE(Finds(op, Fault::kAdds)) << op;
    EXPECT_TRUE(Finds(op, Fault::kWritesBehind)) << op;
  }
}

TEST(OpChecksTest, BlameNoOtherOp) {
  BrokenBackend broken("conv backward weights", Fault::kLeavesTheLast);
  for (const OpCheck& check : OpChecks()) {
    const OpError found = CheckOp(check, broken);
    EXPECT_EQ(found.ok(), found.op != "conv backward weights") << found.op;
  }
}

}  // namespace
}  // namespace starling::net
