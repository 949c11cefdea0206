// GRID.toml and the points of a sweep. Each point is checked against the configuration before any
// run starts. docs/sweeps-and-reports.md shows an example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/config/diagnostics.h"
#include "results/eval_results.h"

namespace starling::sweep {

// Largest number of runs in a sweep: catches typing errors in a grid.
inline constexpr std::size_t kMaxRuns = 10'000;

struct GridPoint {
  std::string name;                                         // name of its directory (PointName)
  std::vector<std::pair<std::string, std::string>> varied;  // keys of [grid], values as TOML
  Config config;  // resolved, with run.init_from; each run sets its seed, name and dir
};

struct Grid {
  std::filesystem::path file, config, dir;
  int at_once = 1;
  bool simulate = false;  // runs are simulated, not trained
  std::vector<std::uint64_t> seeds;
  results::EvalPlan eval;         // of each run's final weights
  std::vector<GridPoint> points;  // product of all values; the last key varies fastest
};

// Reads and checks a grid. Throws UserError that lists all mistakes, one per line, each with its
// location in the grid's file or in the configuration.
Grid ReadGrid(const std::filesystem::path& path);

// Keeps the points that have these values, each "KEY=VALUE" with a key of [grid], or the seeds of
// "run.seed=VALUE"; of several values of a key, one of them. A value is written as in the file, as
// after --set, or as in the names of points. Throws UserError if a key or a value is not in the
// grid.
void KeepOnly(Grid& grid, const std::vector<std::string>& only);

// ---- The file, before its points are built

struct GridValue {
  std::string toml;  // as in an override: 4, "unbounded", [64, 64]
  SourceLocation location;
};

struct GridKey {
  std::string name;  // "staleness.bound"
  SourceLocation location;
  std::vector<GridValue> values;
};

// A [[where]]: settings for the points that have, of every key of `when`, one of its values.
struct GridWhere {
  std::vector<GridKey> when;  // keys and values of [grid]
  std::vector<GridKey> set;   // as GridFile::set; none is a key of [grid]
};

struct GridFile {
  Grid plan;  // without points; `config` as written, "" if it is not given
  SourceLocation config_location;
  std::vector<GridKey> set, grid;  // of [set], with one value each; of [grid], in the file's order
  std::vector<GridWhere> wheres;   // in the file's order: later ones override earlier ones
};

// Reads `path` without checking whether the values suit their keys. Throws UserError if the file
// cannot be read or is not TOML.
GridFile ReadGridFile(const std::filesystem::path& path, Diagnostics& diagnostics);

// Reports conditions of a [[where]] that no point can meet.
void CheckConditions(const GridFile& file, Diagnostics& diagnostics);

bool Applies(const GridWhere& where, const GridPoint& point);

// ---- Names of directories: short, readable, and free of characters special to a shell

// Returns the last part of each key, or the whole key if two keys share the last part: "bound",
// "net.kind".
std::vector<std::string> ShortKeys(const std::vector<std::string>& keys);

// Returns a value in letters, digits and ". _ + -"; every run of other characters becomes one "-":
// [64, 64] is "64-64", "minatar/breakout" is "minatar-breakout". A name of more than 40 characters
// is cut and ends in a hash of the whole value.
std::string ValueName(std::string_view toml);

// Returns "bound=4,lr=0.001" for keys and values in TOML, or "base" if there are none. The name
// does not depend on the other values in the grid, so a sweep can grow. A name of more than 160
// characters is cut and ends in a hash.
std::string PointName(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace starling::sweep
