// A backend on loops in the place of a GPU and, where there is one, on a GPU; arrays to and fro.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "net/backend.h"
#include "tests/net/fake_gpu_backend.h"

namespace starling::net::testing {

// Into `to`, which is in the backend's memory.
template <class T>
void Send(Backend<float>& backend, const std::vector<T>& values, std::span<T> to) {
  Memory& memory = backend.memory();
  Buffer<T> here(values.size(), memory.host_side());
  std::copy(values.begin(), values.end(), here.data());
  Write<T>(memory, to, here.span());
  memory.Wait();
}
template <class T>
Buffer<T> There(Backend<float>& backend, const std::vector<T>& values) {
  Buffer<T> there(values.size(), backend.memory());
  Send(backend, values, there.span());
  return there;
}
template <class T>
std::vector<T> Here(Backend<float>& backend, std::span<const T> there) {
  Memory& memory = backend.memory();
  Buffer<T> here(there.size(), memory.host_side());
  Read<T>(memory, here.span(), there);
  memory.Wait();
  return {here.data(), here.data() + here.size()};
}
template <class T>
std::vector<T> Here(Backend<float>& backend, const Buffer<T>& there) {
  return Here(backend, there.span());
}

class GpuTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      auto fake = std::make_unique<FakeGpu>();
      fake_ = fake.get();
      gpu_ = std::move(fake);
      backend_ = MakeFakeGpuBackend(*fake_);
      return;
    }
    const GpuSearch found = FindGpus();
    if (found.gpus.empty()) GTEST_SKIP() << found.why_none;
    gpu_ = OpenGpu(0);
    backend_ = MakeCudaBackend(*gpu_);
  }

  std::unique_ptr<Gpu> gpu_;
  FakeGpu* fake_ = nullptr;  // gpu_, unless that is real
  std::unique_ptr<Backend<float>> backend_;
};

inline std::string LoopsOrGpu(const ::testing::TestParamInfo<bool>& info) {
  return info.param ? "Gpu" : "Loops";
}

}  // namespace starling::net::testing
