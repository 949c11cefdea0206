// The contents of GRID.toml: keys and values with their locations in the file. grid.h checks the
// values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/diagnostics.h"

namespace starling::sweep {

struct GridValue {
  std::string toml;  // as in an override: 4, "unbounded", [64, 64]
  SourceLocation location;
};

struct GridKey {
  std::string name;  // "staleness.bound"
  SourceLocation location;
  std::vector<GridValue> values;
};

struct GridFile {
  std::filesystem::path file;
  std::filesystem::path config;  // "": not given
  SourceLocation config_location;
  std::filesystem::path dir;
  int at_once = 1;
  bool simulate = false;
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  std::int64_t eval_episodes = 100;
  std::vector<GridKey> set;   // one value per key
  std::vector<GridKey> grid;  // in the order of the file
};

// Reads `path` without checking whether the values suit their keys. Throws UserError if the file
// cannot be read or is not TOML.
GridFile ReadGridFile(const std::filesystem::path& path, Diagnostics& diagnostics);

}  // namespace starling::sweep
