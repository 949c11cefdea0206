// The matrix products that a net is made of, and how much of a net's time on a backend they take.
#pragma once

#include <string>
#include <vector>

#include "net/backend.h"
#include "net/stack.h"

namespace starling::bench {

// c (m, n) = a (m, k) . b (k, n), or c = a . bT with b (n, k).
struct Product {
  std::string what;  // "conv 16 8x8/4, backward weights"
  int m = 1, k = 1, n = 1;
  bool transposed = false;
  int times = 1;  // in an unroll and its gradient

  double flops() const { return 2.0 * m * k * n * times; }
};

// Of `steps` forward passes over `envs` samples each and one backward pass over all of them. Convolutions
// are products of patches; that of the backward pass over weights is written with the patches transposed, for
// there is no other op without the bias beside it. Nets of convolutions and linear layers only (CHECKed).
std::vector<Product> ProductsOf(const net::ModelSpec& spec, int envs, int steps);

struct ProductTimes {
  double whole_us = 0;     // forward and backward passes of the net as they are
  double products_us = 0;  // every product alone, summed
  double flops = 0;
  struct One {
    Product product;
    double us = 0;  // of all its times
  };
  std::vector<One> products;
  double share() const { return products_us / whole_us; }
};

// Medians over about `seconds`: the whole over random observations, recorded (Backend::Repeat) and
// repeated; then each product alone on random numbers, as LinearAccumulate or LinearBackwardInput, recorded
// too. Takes the ids from 0 on of `backend`.
ProductTimes MeasureProducts(net::Backend<float>& backend, const net::ModelSpec& spec, int envs,
                             int steps, double seconds);

// The net of the A3C paper (Mnih et al. 2016) for Atari: 84 x 84 x 4, hidden [256], 6 actions.
net::ModelSpec AtariSpec();
// Of its time, in products.
inline constexpr double kWantedInProducts = 0.6;

}  // namespace starling::bench
