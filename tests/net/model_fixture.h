// For tests of whole nets: parameters, observations, and the proof of a gradient.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "net/model.h"
#include "tests/net/arrays.h"

namespace starling::net::testing {

template <class T>
std::vector<T> RandomParameters(const ParameterLayout& layout, RandomStream& random) {
  std::vector<T> parameters(layout.size(), T(0));
  for (const Parameter& p : layout.parameters()) {
    const double scale = p.name.ends_with(".bias") ? 0.1 : 1 / std::sqrt(p.size / p.shape.back());
    const auto values = Normals<T>(random, static_cast<int>(p.size), scale);
    std::copy(values.begin(), values.end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(p.offset));
  }
  return parameters;
}

template <class T>
void Observe(Model<T>& model, const std::vector<T>& observations) {
  std::copy(observations.begin(), observations.end(), model.observations().begin());
}

template <class T>
std::vector<T> Copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

// A third of the mask behind each observation.
inline void ForbidSome(const ModelSpec& spec, std::span<double> observations,
                       RandomStream& random) {
  const auto mask = static_cast<std::size_t>(spec.actions.mask());
  const auto row = static_cast<std::size_t>(spec.height * spec.width * spec.channels) + mask;
  for (std::size_t at = row; at <= observations.size(); at += row) {
    for (double& allowed : observations.subspan(at - mask, mask)) {
      if (random.Below(3) == 0) allowed = 0;
    }
  }
}

// The whole net in double: loss = dlogits . logits + dvalues . values over some of its steps, after
// a state that was carried over, through the ends of episodes.
inline void ProveGradient(const ModelSpec& spec, RandomStream& random, double tolerance = 1e-7) {
  const auto backend = MakeReferenceBackend<double>();
  const int steps = Between(random, 1, 3), envs = Between(random, 1, 3);
  const auto model = MakeModel(spec, *backend, {envs, steps + Between(random, 0, 1)});
  std::vector<double> parameters = RandomParameters<double>(model->layout(), random);
  Observe(*model, Normals<double>(random, static_cast<int>(model->observations().size())));
  ForbidSome(spec, model->observations(), random);
  model->Forward(parameters, 0);
  model->Carry(0);
  for (std::uint8_t& reset : model->resets()) reset = random.Below(4) == 0;
  auto dlogits = Normals<double>(random, steps * envs * spec.actions.outputs());
  const auto dvalues = Normals<double>(random, steps * envs);
  // Nothing comes back to a logit that is forbidden: the loss gives it no slope either.
  for (int t = 0; t < steps; ++t) model->Forward(parameters, t);
  for (std::size_t i = 0; i < dlogits.size(); ++i) {
    if (model->logits()[i] == static_cast<double>(kForbidden)) dlogits[i] = 0;
  }
  const auto loss = [&] {
    for (int t = 0; t < steps; ++t) model->Forward(parameters, t);
    double sum = 0;
    for (std::size_t i = 0; i < dlogits.size(); ++i) sum += dlogits[i] * model->logits()[i];
    for (std::size_t i = 0; i < dvalues.size(); ++i) sum += dvalues[i] * model->values()[i];
    return sum;
  };
  loss();
  std::vector<double> gradient(parameters.size(), NAN);
  model->Backward(parameters, steps, dlogits, dvalues, gradient);
  // In the gaps both sides are zero: nothing depends on the values there.
  ExpectGradient("gradient", parameters, gradient, loss, tolerance);
}

}  // namespace starling::net::testing
