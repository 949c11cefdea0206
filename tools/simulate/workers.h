// The real threads of a simulation, shared by its actors: they play and compute gradients.
//
// An unroll starts when its actor starts it in virtual time, and is needed when its gradient
// arrives in virtual time; in between, the threads work ahead on all cores. The unrolls of an actor
// run in order, and depend only on its weights and its past, so the number of threads changes only
// the speed.
//
// Thread safety: Compute and the destructor belong to one thread.
#pragma once

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "actors/rollout.h"
#include "core/config/config.h"
#include "wire/protocol.h"

namespace starling::simulate {

// A vector of the net, shared by its copies. It is not zero at first: all of it is written anyway.
struct Floats {
  explicit Floats(std::size_t count)
      : size(count), data(std::make_shared_for_overwrite<float[]>(count)) {}
  std::span<float> span() const { return {data.get(), size}; }

  std::size_t size;
  std::shared_ptr<float[]> data;
};

// The weights of one version, shared by all unrolls on it.
struct Weights {
  std::uint64_t version = 0;
  double entropy = 0;  // coefficient of this version
  Floats values;
};

struct Computed {
  Floats values;           // the gradient
  wire::Gradient message;  // its description
};

class Workers {
 public:
  // `incarnation` is that of all actors.
  Workers(const Config& config, std::uint32_t incarnation, int threads);
  ~Workers();  // waits for the unrolls that have started; others may be dropped
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts the next unroll of `slot` with its gradient, on these weights.
  std::future<Computed> Compute(std::uint32_t slot, std::shared_ptr<const Weights> weights);

 private:
  struct Actor {
    boost::asio::strand<boost::asio::thread_pool::executor_type> strand;  // keeps unrolls in order
    std::unique_ptr<actors::Rollout> rollout;  // made by the first unroll; only the strand uses it
  };

  const Config config_;
  const std::uint32_t incarnation_;
  boost::asio::thread_pool pool_;
  std::vector<Actor> actors_;  // by slot
};

}  // namespace starling::simulate
