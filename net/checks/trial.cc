#include "net/checks/trial.h"

#include "core/check.h"

namespace starling::net::checks {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20, kLine = 64;

// Rounding a factor to bf16 changes it by at most 2^-9 of its value, to TF32 by 2^-11 (2^-10 if it
// is truncated). In sums most of that cancels, but the largest error of many sums is several times
// the typical one.
double ToleranceOfFactors(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return 0;
    case Precision::kTf32:
      return 2e-3;
    case Precision::kBf16:
      return 2e-2;
  }
  return 0;
}

// Whether both are finite, both NaN or the same infinity.
bool SameKind(float actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::isfinite(actual);
}

double RelativeError(const std::vector<float>& actual, const std::vector<double>& expected,
                     double at_least) {
  double difference = 0, magnitude = at_least;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!SameKind(actual[i], expected[i])) return INFINITY;
    if (!std::isfinite(expected[i])) continue;
    difference = std::max(difference, std::fabs(actual[i] - expected[i]));
    magnitude = std::max(magnitude, std::fabs(expected[i]));
  }
  return difference == 0 ? 0 : difference / magnitude;
}

}  // namespace

Arena::Region Arena::Take(std::size_t bytes) {
  bytes = (bytes + kLine - 1) / kLine * kLine;
  for (; block_ < blocks_.size(); ++block_, used_ = 0) {
    Block& block = blocks_[block_];
    if (used_ + bytes > block.there.size()) continue;
    const std::size_t begin = std::exchange(used_, used_ + bytes);
    return {block.there.data() + begin, block.staged.data() + begin};
  }
  const std::size_t size = std::max(bytes, kBlockBytes);
  blocks_.push_back(
      {Buffer<std::byte>(size, memory_), Buffer<std::byte>(size, memory_.host_side())});
  used_ = bytes;
  return {blocks_.back().there.data(), blocks_.back().staged.data()};
}

void Arena::Reset() {
  memory_.Wait();
  block_ = used_ = 0;
}

Trial::Trial(Backend<float>& backend, Precision precision)
    : backend_(backend), precision_(precision), arena_(backend.memory()) {}

void Trial::Begin(std::string name) {
  arena_.Reset();
  ++case_;
  name_ = std::move(name);
}

std::vector<float> Trial::Values(int count) {
  std::vector<float> values(count);
  for (float& value : values) value = 2 * random_.Uniform() - 1;
  return values;
}

Floats Trial::Sparse(int count, double density) {
  std::vector<float> values = Values(count);
  if (density < 1) {
    for (float& value : values) {
      value = std::fabs(value) < density ? 1 + value : 0;  // in (1 - density, 1 + density)
    }
  }
  return Given(values);
}

Floats Trial::Mask(int count) {
  std::vector<float> values = Values(count);
  for (std::size_t i = 3; i < values.size(); i += 7) values[i] = 0;
  return Given(values);
}

int Trial::Between(int low, int high) {
  return low + static_cast<int>(random_.Below(high - low + 1));
}

void Trial::Expect(Floats& output, const char* what, double tolerance, double at_least) {
  const auto content = output.Read();
  Note(content.within ? RelativeError(content.values, output.exact, at_least) : INFINITY, tolerance,
       what);
}

void Trial::ExpectProducts(Floats& output, const char* what, double f32_tolerance, int terms) {
  // The root mean square of a product of two uniform numbers in [-1, 1] is 1/3.
  Expect(output, what, std::max(f32_tolerance, ToleranceOfFactors(precision_)),
         std::sqrt(terms) / 3);
}

void Trial::Note(double error, double tolerance, const char* what) {
  if (std::isnan(error)) error = INFINITY;
  const double share = error == 0 ? 0 : error / tolerance;
  if (share <= worst_share_) return;
  worst_share_ = share;
  worst_.error = error;
  worst_.tolerance = tolerance;
  worst_.where = fmt::format("{} of {}", what, name_);
}

const OpError& Trial::worst() const {
  CHECK(worst_share_ >= 0, "nothing was compared");
  return worst_;
}

}  // namespace starling::net::checks
