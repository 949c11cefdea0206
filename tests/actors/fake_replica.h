// Replicas on GPUs made of loops, one for each stage of a net.
#pragma once

#include <memory>
#include <utility>

#include "actors/replica.h"
#include "tests/net/fake_gpu_backend.h"
#include "tests/support/fake_gpu.h"

namespace starling::actors {

inline Replica ReplicaOn(std::unique_ptr<FakeGpu> gpu) {
  Replica replica{.gpu = {}, .backend = net::testing::MakeFakeGpuBackend(*gpu)};
  replica.gpu = std::move(gpu);
  replica.next = [](int /*stage*/) { return ReplicaOn(std::make_unique<FakeGpu>()); };
  return replica;
}

}  // namespace starling::actors
