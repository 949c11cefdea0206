#include "learner/apply/running_sums.h"

#include <cstddef>

#include "core/check.h"
#include "net/running.h"

namespace starling::learner {

void AddToSums(std::uint64_t samples, std::span<const float> mean, std::span<float> sums) {
  CHECK(mean.size() == sums.size(), "{} sums, {} of an update", sums.size(), mean.size());
  const auto all = static_cast<double>(samples);
  for (std::size_t number = 0; number < sums.size(); number += net::kSumsOfNumber) {
    const auto sum = [&](std::size_t i) {
      return net::SumAt(&sums[number + i]) + all * net::SumAt(&mean[number + i]);
    };
    const double count = sum(0), keep = count > kSumsWindow ? kSumsWindow / count : 1;
    for (std::size_t i = 0; i < 3; ++i) net::PutSum(keep * sum(i), &sums[number + i]);
  }
}

}  // namespace starling::learner
