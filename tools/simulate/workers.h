// The real threads of a simulation: they play and compute the gradients of its actors, which share
// them.
//
// An unroll is begun when its actor virtually begins it, and needed when its gradient virtually
// arrives: between the two the threads work ahead, as many as there are cores. An actor is always
// computed by the same thread, in its own order, and what it computes depends on its weights and on
// its past alone: so the number of threads changes nothing but the speed.
//
// Thread safety: Compute and the destructor belong to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "core/config/config.h"
#include "core/queue.h"
#include "wire/protocol.h"

namespace starling::simulate {

struct Weights {
  std::uint64_t version = 0;
  double entropy = 0;  // coefficient that belongs to them
  std::vector<float> values;
};

struct Computed {
  std::vector<float> values;  // the gradient
  wire::Gradient message;     // its description
};

class Workers {
 public:
  // `incarnation`: of all actors.
  Workers(const Config& config, std::uint32_t incarnation, int threads);
  ~Workers();  // what is not begun is not computed
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // The next unroll of `slot`, on these weights, and its gradient.
  std::future<Computed> Compute(std::uint32_t slot, std::shared_ptr<const Weights> weights);

 private:
  struct Job {
    std::uint32_t slot = 0;
    std::shared_ptr<const Weights> weights;
    std::promise<Computed> result;
  };
  struct Worker {
    explicit Worker(std::size_t jobs) : queue(jobs) {}
    BoundedQueue<Job> queue;
    std::atomic<bool> stop{false};
    std::thread thread;
  };
  void Run(Worker& worker) const;

  const Config config_;
  const std::uint32_t incarnation_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace starling::simulate
