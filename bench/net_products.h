// The matrix products that a net is made of, and how much of a net's time on a backend they take.
//
// Of core and net alone, as bench/actor_speed.h is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/backend.h"
#include "net/stack.h"

namespace starling::bench {

enum class Pass { kForward, kBackwardWeights, kBackwardInput };

// An op of a net, and the product that it is: rows of `in` numbers (patches, of a convolution) meet
// weights (in, out).
struct Product {
  std::string what;  // "conv 16 8x8/4, backward weights"
  Pass pass = Pass::kForward;
  std::optional<net::ConvShape> conv;  // absent: a fully connected layer
  net::LinearShape shape;
  int samples = 1, rows = 1;
  int times = 1;  // in an unroll and its gradient

  double flops() const { return 2.0 * rows * shape.in * shape.out * times; }
};

// Of `steps` forward passes over `envs` samples each, and one backward pass over all of them. Of
// nets of convolutions and fully connected layers (CHECKed).
std::vector<Product> ProductsOf(const net::ModelSpec& spec, int envs, int steps);

struct ProductTimes {
  struct One {
    Product product;
    double op_us = 0, product_us = 0;  // all its times
    double counted_us() const { return product_us < op_us ? product_us : op_us; }
  };
  double whole_us = 0;  // forward passes and the backward pass of the net as it is
  std::vector<One> products;

  double products_us() const;
  double flops() const;
  double share() const { return products_us() / whole_us; }
};

// Medians over about `seconds`, of what is recorded and repeated (Backend::Repeat): the whole over
// random numbers; every op of it alone; and its product alone, without patches, bias, activation
// and mask, as an op of a fully connected layer (which for its weights sums the gradient of the
// bias, too). An op that is done without such a product and faster counts with its own time. Takes
// the ids of `backend` from 0 on.
ProductTimes MeasureProducts(net::Backend<float>& backend, const net::ModelSpec& spec, int envs,
                             int steps, double seconds);

// The net of the A3C paper (Mnih et al. 2016) for Atari: 84 x 84 x 4, hidden [256], 6 actions.
net::ModelSpec AtariSpec();
// Of its time, in products.
inline constexpr double kWantedInProducts = 0.6;

}  // namespace starling::bench
