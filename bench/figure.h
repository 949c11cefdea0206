// What every figure of the bench is: a function that measures and returns rows of a table.
//
// A slow figure is shown, not asserted: only what must hold on any machine (the staleness bound,
// the same bits twice, kernels that agree, programs that end well) makes the bench fail.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace starling::bench {

// Where and how a bench works.
struct Site {
  std::filesystem::path programs;  // directory of `starling` and its companions
  std::filesystem::path config;    // bench/minatar.toml: what is measured if nothing else is said
  std::filesystem::path shipped;   // configs/
  std::filesystem::path scratch;   // for run directories; ours alone, removed at the end
  int stop_fd = -1;                // readable: give up (core/process.h)
  bool quick = false;              // short runs that only show that everything works
};

struct Row {
  std::string what;
  std::string measured{};
  std::string wanted{};         // empty: nothing is asked of it
  std::optional<bool> holds{};  // absent: not asked, or too quick a run to say
};

// A drawing that stands alone.
struct Picture {
  std::string file;  // its name
  std::string svg;
};

struct Result {
  std::vector<Row> rows;
  std::string details{};  // Markdown that follows the table; may be empty
  std::string json{};     // an object, as text
  std::vector<Picture> pictures{};
  bool broken = false;  // something that must hold on any machine does not
};

// Each takes what it needs from `site` and throws std::runtime_error with a sentence if a program
// fails, Interrupted if site.stop_fd says so.
Result MeasureTraining(const Site& site);
Result MeasureThroughput(const Site& site);
Result MeasureScaling(const Site& site);
Result MeasureEfficiency(const Site& site);
Result MeasureTime(const Site& site);
Result MeasureStartup(const Site& site);
Result MeasureWire(const Site& site);
Result MeasureLatency(const Site& site);
Result MeasureApply(const Site& site);
Result MeasureLock(const Site& site);
Result MeasureStaleness(const Site& site);
Result MeasureSimulated(const Site& site);
Result MeasureReproducible(const Site& site);
Result MeasureMemory(const Site& site);
Result MeasureKernels(const Site& site);
Result MeasureGpu(const Site& site);
Result MeasureLadder(const Site& site);
Result MeasureEnvs(const Site& site);
Result MeasureGym(const Site& site);  // a part of envs

}  // namespace starling::bench
