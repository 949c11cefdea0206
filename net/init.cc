// Initial parameters; declared in net/model.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string_view>

#include "core/check.h"
#include "core/random.h"
#include "net/model.h"

namespace starling::net {
namespace {

using Vector = std::vector<double>;

double Dot(const Vector& a, const Vector& b) {
  constexpr std::size_t kLanes = 8;  // partial sums in a fixed order: fast and deterministic
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += a[i + j] * b[i + j];
  }
  for (; i < a.size(); ++i) lanes[0] += a[i] * b[i];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Returns `count` orthonormal vectors of `length` >= count, uniformly distributed: Gram-Schmidt
// over normal draws, in count^2 length steps. Each vector is orthogonalised twice, which makes it
// orthogonal to working precision (Giraud et al. 2005). A vector in the span of the previous ones
// is drawn again.
std::vector<Vector> GramSchmidt(std::size_t count, std::size_t length, RandomStream& random) {
  std::vector<Vector> basis;
  while (basis.size() < count) {
    Vector v(length);
    for (double& x : v) x = random.Normal();
    const double drawn = std::sqrt(Dot(v, v));
    for (int pass = 0; pass < 2; ++pass) {
      for (const Vector& b : basis) {
        const double along = Dot(v, b);
        for (std::size_t i = 0; i < length; ++i) v[i] -= along * b[i];
      }
    }
    const double left = std::sqrt(Dot(v, v));
    if (!(left > 1e-6 * drawn)) continue;
    for (double& x : v) x /= left;
    basis.push_back(std::move(v));
  }
  return basis;
}

struct Rotation {
  std::uint32_t a, b;  // the coordinates that it turns
  double cosine, sine;
};

// Kac's random walk: each round pairs the coordinates at random and turns each pair by a random
// angle. The image of a vector becomes uniformly distributed in a multiple of n log n turns (Pillai
// and Smith 2017), so in a multiple of log n rounds of n / 2. The sum of the fourth powers of its
// coordinates is 1 at first and about 3 / n on the sphere; a round leaves 3/4 of the difference,
// all rounds 1 / (300 n).
std::vector<Rotation> RandomRotations(std::size_t length, RandomStream& random) {
  const auto rounds =
      static_cast<std::size_t>(std::log(300.0 * static_cast<double>(length)) / std::log(4.0 / 3));
  std::vector<std::uint32_t> order(length);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<Rotation> rotations;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = length - 1; i > 0; --i) {
      std::swap(order[i], order[random.Below(static_cast<std::uint32_t>(i + 1))]);
    }
    for (std::size_t i = 0; i + 1 < length; i += 2) {
      const double angle = 2 * std::numbers::pi * random.UniformDouble();
      rotations.push_back({order[i], order[i + 1], std::cos(angle), std::sin(angle)});
    }
  }
  return rotations;
}

// Like GramSchmidt, each vector nearly uniformly distributed, in count length log(length) steps:
// the images of unit vectors under random rotations, a few at a time.
std::vector<Vector> RotatedUnitVectors(std::size_t count, std::size_t length,
                                       RandomStream& random) {
  constexpr std::size_t kTogether = 16;
  const std::vector<Rotation> rotations = RandomRotations(length, random);
  std::vector<Vector> basis(count, Vector(length));
  Vector block(length * kTogether);
  for (std::size_t first = 0; first < count; first += kTogether) {
    const std::size_t many = std::min(kTogether, count - first);
    std::ranges::fill(block, 0.0);
    for (std::size_t k = 0; k < many; ++k) block[(first + k) * kTogether + k] = 1;
    for (const Rotation& turn : rotations) {
      double *const a = &block[turn.a * kTogether], *const b = &block[turn.b * kTogether];
      for (std::size_t k = 0; k < kTogether; ++k) {
        const double x = a[k], y = b[k];
        a[k] = turn.cosine * x - turn.sine * y;
        b[k] = turn.sine * x + turn.cosine * y;
      }
    }
    for (std::size_t k = 0; k < many; ++k) {
      for (std::size_t i = 0; i < length; ++i) basis[first + k][i] = block[i * kTogether + k];
    }
  }
  return basis;
}

std::vector<Vector> OrthonormalVectors(std::size_t count, std::size_t length,
                                       RandomStream& random) {
  constexpr std::size_t kMostSteps = std::size_t{1} << 31;  // seconds of Gram-Schmidt
  constexpr std::size_t kFew = 256;  // vectors, which take as much memory as the rotations
  return count <= kFew || count * count * length <= kMostSteps
             ? GramSchmidt(count, length, random)
             : RotatedUnitVectors(count, length, random);
}

// The layers of a separate critic start like those of the actor.
std::string_view WithoutPrefix(std::string_view name) {
  constexpr std::string_view kCritic = "critic.";
  return name.starts_with(kCritic) ? name.substr(kCritic.size()) : name;
}

double GainOf(std::string_view name) {
  if (name.starts_with("policy.") && name.ends_with(".weight")) return 0.01;
  if (name == "value.weight") return 1.0;
  return name.ends_with(".weight") ? std::sqrt(2.0) : 1.0;  // recurrent ones end in _weight
}

bool IsHead(std::string_view name) {
  return name.starts_with("policy.") || name.starts_with("value.");
}

// Fills a weight (rows, columns).
void FillOrthogonal(std::size_t rows, std::size_t columns, double gain, RandomStream& random,
                    float* weight) {
  // The vectors are the columns of a tall matrix and the rows of a wide one.
  const bool tall = rows >= columns;
  const std::vector<Vector> vectors =
      tall ? OrthonormalVectors(columns, rows, random) : OrthonormalVectors(rows, columns, random);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      weight[r * columns + c] = static_cast<float>(gain * (tall ? vectors[c][r] : vectors[r][c]));
    }
  }
}

void FillUniform(std::span<float> values, std::size_t fan_in, RandomStream& random) {
  const double most = 1 / std::sqrt(fan_in);
  for (float& value : values) value = static_cast<float>(most * (2 * random.UniformDouble() - 1));
}

void FillNormal(std::span<float> values, std::size_t fan_in, double gain, RandomStream& random) {
  const double deviation = gain / std::sqrt(fan_in);
  for (float& value : values) {
    value = static_cast<float>(deviation * random.Normal());
  }
}

// The parameters that decide the logs of a policy's deviations at the start; empty for choices.
// They are the last ones of the policy: log_std, or the second half of the outputs' bias.
std::span<float> DeviationLogs(const ParameterLayout& layout, std::span<float> parameters) {
  std::span<float> logs;
  for (const Parameter& parameter : layout.parameters()) {
    const std::string_view name = parameter.name;
    if (!name.starts_with("policy.box.") && !name.starts_with("policy.tanh.")) continue;
    logs = parameters.subspan(parameter.offset, parameter.size);
    if (!name.ends_with(".log_std")) logs = logs.subspan(logs.size() / 2);
  }
  return logs;
}

}  // namespace

std::vector<float> InitialParameters(const ParameterLayout& layout, std::uint64_t seed,
                                     Initialisation init, double deviation) {
  RandomStream random(StreamId{.seed = seed, .purpose = Purpose::kInit});
  std::vector<float> parameters(layout.size(), 0.0f);
  std::size_t fan_in = 1;    // of the last weight: each bias follows its weight
  bool after_scale = false;  // and that of a layer norm its scale
  for (const Parameter& parameter : layout.parameters()) {
    if (parameter.offset >= layout.trained()) break;
    const std::string_view name = WithoutPrefix(parameter.name);
    const auto values = std::span(parameters).subspan(parameter.offset, parameter.size);
    const Initialisation way = IsHead(name) ? Initialisation::kOrthogonal : init;
    if (name.ends_with("weight")) {
      const std::size_t columns = parameter.shape.back();
      fan_in = parameter.size / columns;
      if (way == Initialisation::kOrthogonal) {
        FillOrthogonal(fan_in, columns, GainOf(name), random, values.data());
      } else if (way == Initialisation::kKaiming) {
        FillNormal(values, fan_in, GainOf(name), random);
      } else {
        FillUniform(values, fan_in, random);
      }
    } else if (name.ends_with(".scale")) {
      std::ranges::fill(values, 1.0f);
    } else if (way == Initialisation::kFanIn && !after_scale) {
      FillUniform(values, fan_in, random);
    }
    after_scale = name.ends_with(".scale");
    if (name.starts_with("lstm") && name.ends_with(".bias")) {
      const std::size_t width = parameter.size / 4;
      std::ranges::fill(values.subspan(width, width), 1.0f);  // the forget gate
    }
  }
  const auto logs = DeviationLogs(layout, parameters);
  CHECK(deviation == 1 || !logs.empty(), "the policy has no deviations");
  std::ranges::fill(logs, static_cast<float>(std::log(deviation)));
  return parameters;
}

}  // namespace starling::net
