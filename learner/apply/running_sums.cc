#include "learner/apply/running_sums.h"

#include <cstddef>

#include "core/check.h"
#include "net/running.h"

namespace starling::learner {

void AddToSums(std::uint64_t samples, std::span<const float> mean, std::span<float> sums) {
  CHECK(mean.size() == sums.size(), "{} sums, {} of an update", sums.size(), mean.size());
  const auto all = static_cast<float>(samples);
  for (std::size_t number = 0; number < sums.size(); number += net::kSumsOfNumber) {
    const float count = sums[number] + all * mean[number];
    const float keep = count > kSumsWindow ? kSumsWindow / count : 1.0f;
    for (std::size_t i = number; i < number + net::kSumsOfNumber; ++i) {
      sums[i] = keep * (sums[i] + all * mean[i]);
    }
  }
}

}  // namespace starling::learner
