// Orthogonal initial parameters; declared in net/model.h.
#include <cmath>
#include <cstddef>

#include "core/random.h"
#include "net/model.h"

namespace starling::net {
namespace {

using Vector = std::vector<double>;

double Dot(const Vector& a, const Vector& b) {
  constexpr std::size_t kLanes = 8;  // partial sums in a fixed order: fast and still deterministic
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

// `count` orthonormal vectors of `length` >= count, uniformly distributed: Gram-Schmidt over normal
// draws. Each vector is orthogonalised twice, after which it is orthogonal to working precision
// (Giraud et al. 2005). A draw that lies in the span of the others is drawn again.
std::vector<Vector> OrthonormalVectors(std::size_t count, std::size_t length,
                                       RandomStream& random) {
  std::vector<Vector> basis;
  while (basis.size() < count) {
    Vector v(length);
    for (double& x : v) x = static_cast<double>(random.Normal());
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

double GainOf(const std::string& name) {
  if (name == "policy.weight") return 0.01;
  if (name == "value.weight") return 1.0;
  return std::sqrt(2.0);
}

}  // namespace

std::vector<float> InitialParameters(const ParameterLayout& layout, std::uint64_t seed) {
  RandomStream random(StreamId{.seed = seed, .purpose = Purpose::kInit});
  std::vector<float> parameters(layout.size(), 0.0f);
  for (const Parameter& parameter : layout.parameters()) {
    if (!parameter.name.ends_with(".weight")) continue;
    const auto columns = static_cast<std::size_t>(parameter.shape.back());
    const std::size_t rows = parameter.size / columns;
    const bool tall = rows >= columns;
    const std::vector<Vector> vectors = tall ? OrthonormalVectors(columns, rows, random)
                                             : OrthonormalVectors(rows, columns, random);
    const double gain = GainOf(parameter.name);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        const double unit = tall ? vectors[c][r] : vectors[r][c];
        parameters[parameter.offset + r * columns + c] = static_cast<float>(gain * unit);
      }
    }
  }
  return parameters;
}

}  // namespace starling::net
