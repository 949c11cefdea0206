// Every backend against the reference, op by op (net/checks).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>

#include "core/error.h"
#include "core/gpu.h"
#include "net/backend.h"
#include "net/checks/op_checks.h"
#include "net/cpu/bfloat16.h"
#include "net/gpu.h"

namespace starling::net {
namespace {

enum class Where { kReference, kCpu, kCuda };

struct Contender {
  const char* name;
  Where where;
  Precision precision = Precision::kF32;
};

constexpr Contender kContenders[] = {
    {"reference", Where::kReference},
    {"cpu", Where::kCpu},
    {"cpu_bf16", Where::kCpu, Precision::kBf16},
    {"cuda", Where::kCuda},
    {"cuda_tf32", Where::kCuda, Precision::kTf32},
    {"cuda_bf16", Where::kCuda, Precision::kBf16},
};

class BackendOps : public ::testing::TestWithParam<std::tuple<Contender, OpCheck>> {
 protected:
  void SetUp() override {
    const auto& [contender, check] = GetParam();
    switch (contender.where) {
      case Where::kReference:
        backend_ = MakeReferenceBackend<float>();
        return;
      case Where::kCpu:
        if (contender.precision == Precision::kBf16 && !cpu::HasBf16Products()) {
          GTEST_SKIP() << "this processor has no bf16 products";
        }
        backend_ = MakeCpuBackend(contender.precision);
        return;
      case Where::kCuda:
        const GpuSearch found = FindGpus();
        if (found.gpus.empty()) GTEST_SKIP() << found.why_none;
        gpu_ = OpenGpu(0);
        backend_ = MakeCudaBackend(*gpu_, contender.precision);
    }
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
                         ::testing::Combine(::testing::ValuesIn(kContenders),
                                            ::testing::ValuesIn(OpChecks().begin(),
                                                                OpChecks().end())),
                         [](const auto& info) {
                           std::string name = std::string(std::get<0>(info.param).name) + "_" +
                                              std::get<1>(info.param).op;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace starling::net
