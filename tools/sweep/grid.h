// A sweep as it will be run: the points of a grid, every one of them tried out against the
// configuration before anything starts. docs/sweeps-and-reports.md shows one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/config/config.h"

namespace starling::sweep {

// What a sweep may have in all: a limit against slips of the pen.
inline constexpr std::size_t kMaxRuns = 10'000;

struct GridPoint {
  std::string name;  // of its directory (tools/sweep/names.h)
  std::vector<std::pair<std::string, std::string>> varied;  // keys of [grid], values as TOML
  Config config;  // resolved, run.init_from too; run.seed, run.name and run.dir are a run's
};

struct Grid {
  std::filesystem::path file, config, dir;
  int at_once = 1;
  bool simulate = false;  // runs are simulated, not trained
  std::vector<std::uint64_t> seeds;
  std::int64_t eval_episodes = 0;  // of the final weights of every run; 0: none
  std::vector<GridPoint> points;   // the product of all values, the last key fastest
};

// Throws UserError whose text lists every mistake, one line each, with its place in the grid's file
// or in the configuration.
Grid ReadGrid(const std::filesystem::path& path);

}  // namespace starling::sweep
