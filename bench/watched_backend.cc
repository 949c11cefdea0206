#include "bench/watched_backend.h"

#include <algorithm>
#include <barrier>
#include <thread>

#include "net/cpu/gemm.h"

namespace starling::bench {
namespace {

double Gflops(int n, double seconds) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<float> a(size, 0.5f), b(size, 0.25f), c(size);
  const std::vector<double> times = TimeManyNs(seconds, [&] {
    net::cpu::Gemm(
        {.rows = n, .depth = n, .columns = n, .a = a.data(), .b = b.data(), .c = c.data()});
  });
  return 2.0 * n * n * n / Least(times);
}

}  // namespace

double TotalFlops(const std::vector<OpCall>& calls) {
  double sum = 0;
  for (const OpCall& call : calls) sum += call.flops;
  return sum;
}

Flops FlopsOf(const net::ModelSpec& spec) {
  WatchedBackend backend;
  const auto model = net::MakeModel<float>(spec, backend, {});
  const std::vector<float> weights(model->layout().size()), dvalue(1),
      dlogits(static_cast<std::size_t>(model->outputs()));
  std::vector<float> gradient(weights.size());
  model->Forward(weights, 0);
  const double forward = TotalFlops(backend.TakeCalls());
  model->Backward(weights, 1, dlogits, dvalue, gradient);
  return {.forward = forward, .backward = TotalFlops(backend.TakeCalls())};
}

double BestSgemmGflops(double seconds, int threads) {
  double best = 0;
  for (const int n : {256, 512, 1024}) {
    std::vector<double> rates(static_cast<std::size_t>(threads));
    std::barrier together(threads);
    std::vector<std::jthread> workers;
    for (double& rate : rates) {
      workers.emplace_back([&] {
        net::cpu::PrepareThread();
        together.arrive_and_wait();
        rate = Gflops(n, seconds);
      });
    }
    workers.clear();  // joins
    best = std::max(best, Mean(rates));
  }
  return best;
}

}  // namespace starling::bench
