// Errors of the CUDA runtime as sentences. Needs no GPU and no driver.
#include "core/cuda/errors.h"

#include <gmock/gmock.h>

#include <typeinfo>

#include "core/cuda/each.h"
#include "core/error.h"
#include "core/gpu.h"
#include "tests/support/error_of.h"

namespace starling::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CudaErrorsTest, WhatTheOperatorCanRemedyIsAUserError) {
  const std::string error =
      ErrorOf([] { Check(cudaErrorMemoryAllocation, "allocating 3.20 GiB"); });
  EXPECT_THAT(error, AllOf(HasSubstr("the GPU: allocating 3.20 GiB failed (out of memory): "),
                           HasSubstr("make actors.envs_per_actor")));
  EXPECT_NO_THROW(Check(cudaSuccess, "computing"));
}

TEST(CudaErrorsTest, AnOldDriverNamesTheMajorVersionOfTheRuntime) {
  EXPECT_THAT(
      Advice(cudaErrorInsufficientDriver),
      HasSubstr("install one for CUDA " + std::to_string(CUDART_VERSION / 1000) + " or newer"));
}

// Another GPU does not help against wrong code.
TEST(CudaErrorsTest, WrongCodeIsNoLostGpu) {
  for (const cudaError_t status :
       {cudaErrorIllegalAddress, cudaErrorMisalignedAddress, cudaErrorLaunchFailure}) {
    EXPECT_THAT(Advice(status),
                AllOf(HasSubstr("STARLING_CUDA_SYNC=1"), Not(HasSubstr("was lost"))));
    try {
      Check(status, "computing");
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(dynamic_cast<const UserError*>(&error), nullptr);
    }
  }
  EXPECT_THAT(Advice(cudaErrorECCUncorrectable), HasSubstr("the GPU was lost or failed"));
}

struct SomeBody {};

// Without a GPU no body starts, which makes an error of its own.
TEST(CudaErrorsTest, ABodyThatDidNotStartIsNamed) {
  if (!FindGpus().gpus.empty()) GTEST_SKIP() << "there is a GPU";
  cudaStreamCreate(nullptr);  // fails, and leaves an error behind
  try {
    CheckStarted(nullptr, typeid(SomeBody).name());
    FAIL() << "no error";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("SomeBody, or work before it, failed ("));
  }
}

}  // namespace
}  // namespace starling::cuda
