// The real threads of a simulation, shared by its actors: they play and compute gradients.
//
// An unroll starts when its actor starts it in virtual time, and is needed when its gradient
// arrives in virtual time; in between, the threads work ahead on all cores. The unrolls of an actor
// run on one thread in order, and depend only on its weights and its past, so the number of threads
// changes only the speed.
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

// The weights of one version, shared by all unrolls on it.
struct Weights {
  std::uint64_t version = 0;
  double entropy = 0;  // coefficient of this version
  std::vector<float> values;
};

struct Computed {
  std::vector<float> values;  // the gradient
  wire::Gradient message;     // its description
};

class Workers {
 public:
  // `incarnation` is that of all actors.
  Workers(const Config& config, std::uint32_t incarnation, int threads);
  ~Workers();  // drops the unrolls that have not started
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts the next unroll of `slot` with its gradient, on these weights.
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
