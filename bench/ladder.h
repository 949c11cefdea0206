// Ladders: an op of the nets in several versions, numbered as they were found. The product holds the
// last; the others stay here for what they taught (ladder_linear.cc, ladder_conv.cc).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/figure.h"

namespace starling::bench {

// One version of an op, bound to its data. It writes all of the outputs, or answers false with
// nothing written: it leaves such data to kernel 1.
struct Kernel {
  const char* name;
  std::function<bool()> run;
};

struct Ladder {
  std::string op;                         // and its data
  std::vector<Kernel> kernels;            // number 1 first; it takes everything
  std::vector<std::span<float>> outputs;  // what each of them writes
};

struct Rung {
  const char* name;
  bool ran = false;  // it took the data; or else nothing below is known
  double us = 0;     // median
  double error = 0;  // largest difference from kernel 1, relative to an output's largest value
};

inline constexpr double kMostError = 1e-5;

// Compares the kernels, then times them for `seconds`.
std::vector<Rung> Climb(const Ladder& ladder, double seconds);

// Adds a row; the result is broken if kernels disagree.
void AddRow(const std::string& op, const std::vector<Rung>& rungs, Result& result);

}  // namespace starling::bench
