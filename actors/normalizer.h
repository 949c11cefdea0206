// Normalised observations and rewards (env.normalize_observations, env.normalize_rewards): pictures
// each by itself, all else by running statistics of the whole fleet (docs/normalization.md).
//
// The running statistics are among the weights, as sums (net/running.h). The rows that the
// environments give lie here, and the net gets them standardized by the weights that play: so all
// samples of an unroll are normalised alike, however often its data is used, and its own sums are
// not in it yet.
//
// Thread safety: none; one thread. All arrays lie in the backend's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "core/memory.h"
#include "core/state_bytes.h"
#include "envs/env.h"
#include "net/backend.h"
#include "net/model.h"
#include "net/parameters.h"

namespace starling::actors {

// Appends the running sums that `config` asks for to `net`, and returns it: "observations.sums", or
// "observations.0.NAME.sums" for each entry, and "returns.sums". Pictures have none.
net::ParameterLayout WithSums(net::ParameterLayout net, const Config& config,
                              const envs::EnvSpec& spec);

class Normalizer {
 public:
  // For the net of `batch`, whose rows are the environments of each step. `layout`: WithSums'.
  // `backend` must outlive it.
  Normalizer(const Config& config, const envs::EnvSpec& spec, const net::ParameterLayout& layout,
             net::Backend<float>& backend, const net::Batch& batch);

  // Rows of observations (steps, envs, row) as the environments give them; empty: the net takes
  // them as they are.
  std::span<float> rows() { return rows_.span(); }

  // The following are ops of the backend. `weights` are those of the layout.

  // Writes the rows of `block`, standardized, to the same rows of `net`, the net's observations.
  void Standardize(std::span<const float> weights, const net::Block& block, std::span<float> net);
  // Scales the rewards (block.envs) of `block`. `resets` (block.envs): where an episode begins.
  void Scale(std::span<const float> weights, const net::Block& block,
             std::span<const std::uint8_t> resets, std::span<float> rewards);
  // Writes the sums of the first `steps` steps, each divided by `samples`, to `to`: the floats of a
  // gradient behind those that are trained.
  void Sum(int steps, int samples, std::span<float> to);
  // The step after the last of `steps` becomes step 0, the returns so far with it. Rows of
  // observations are carried by their owner.
  void Carry(int steps);

  // What the next unroll needs beside rows().
  void Fields(StateBytes& state);

 private:
  // Columns of a row.
  struct Columns {
    int first = 0, width = 0;
    int cells = 0;                         // of a picture; numbers and masks have 0
    const net::Parameter* sums = nullptr;  // of numbers; pictures and masks have none
  };
  std::span<float> ReturnsAt(int step) {  // before a step: (envs)
    return returns_.span().subspan(Size(step * batch_.envs), Size(batch_.envs));
  }
  static std::size_t Size(int count) { return static_cast<std::size_t>(count); }

  net::Backend<float>& backend_;
  const net::Batch batch_;
  const int row_;
  const double gamma_;
  const std::size_t trained_;
  std::vector<Columns> columns_;  // of all of a row; none without normalised observations
  const net::Parameter* return_sums_ = nullptr;
  Buffer<float> rows_;
  Buffer<float> returns_;  // (steps, envs): discounted, before each step
};

}  // namespace starling::actors
