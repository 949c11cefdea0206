// The matrix products of a net, and their share of the net's time on a backend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/stack.h"

namespace starling::bench {

enum class Pass { kForward, kBackwardWeights, kBackwardInput };

// An op of a net as a product: (rows, in) numbers (patches, for a convolution) times weights
// (in, out).
struct Product {
  std::string what;  // "conv 16 8x8/4, backward weights"
  Pass pass = Pass::kForward;
  std::optional<net::ConvShape> conv;  // nullopt: a fully connected layer
  net::LinearShape shape;
  int samples = 1, rows = 1;
  int times = 1;  // in an unroll and its gradient

  double flops() const { return 2.0 * rows * shape.in * shape.out * times; }
};

// The products of `steps` forward passes over `envs` samples each, and of one backward pass over
// all of them. REQUIRES: the net has only convolutions and fully connected layers.
std::vector<Product> ProductsOf(const net::ModelSpec& spec, int envs, int steps);

struct ProductTimes {
  struct One {
    Product product;
    double op_us = 0, product_us = 0;  // times product.times
    double counted_us() const { return product_us < op_us ? product_us : op_us; }
  };
  double whole_us = 0;  // all forward passes and the backward pass of the net
  std::vector<One> products;

  double products_us() const {
    double sum = 0;
    for (const One& one : products) sum += one.counted_us();
    return sum;
  }
  double flops() const {
    double sum = 0;
    for (const One& one : products) sum += one.product.flops();
    return sum;
  }
  double share() const { return products_us() / whole_us; }
};

// Returns medians over about `seconds` of recorded and replayed work (Backend::Repeat): the whole
// net on random numbers; every op alone; and its product alone, without patches, bias, activation
// and mask, as an op of a fully connected layer (whose backward pass also sums the gradient of the
// bias). An op that is faster than its product counts with its own time. Uses the ids of `backend`
// from 0 on.
ProductTimes MeasureProducts(net::Backend<float>& backend, const net::ModelSpec& spec, int envs,
                             int steps, double seconds);

// The net of the A3C paper (Mnih et al. 2016) for Atari: 84 x 84 x 4, hidden [256], 6 actions.
net::ModelSpec AtariSpec();
// The net of bench/minatar.toml: Breakout's 10 x 10 x 4, hidden [128], 6 actions.
net::ModelSpec MinatarSpec();

}  // namespace starling::bench
