// A figure of the bench: a function that measures and returns rows of a table.
//
// A slow figure is shown, not asserted: the bench fails only if something breaks that must hold on
// any machine (the staleness bound, the same bits twice, kernels that agree, programs that
// succeed).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace starling::bench {

// The surroundings of a bench.
struct Site {
  std::filesystem::path programs;  // directory of `starling` and its companions
  std::filesystem::path config;    // bench/minatar.toml, the default of all figures
  std::filesystem::path shipped;   // configs/
  std::filesystem::path scratch;   // private directory for runs, removed at the end
  int stop_fd = -1;                // readable: stop (core/process.h)
  bool quick = false;              // short runs, which only show that everything works
};

struct Row {
  std::string what;
  std::string measured{};
  std::string wanted{};         // the limit; "" = none
  std::optional<bool> holds{};  // nullopt: no limit, or the run was too short to judge
};

// An SVG file.
struct Picture {
  std::string file;  // name
  std::string svg;
};

struct Result {
  std::vector<Row> rows;
  std::string details{};  // Markdown below the table; may be empty
  std::string json{};     // the text of a JSON object
  std::vector<Picture> pictures{};
  bool broken = false;  // something broke that must hold on any machine
};

// Each throws std::runtime_error with a sentence if a program fails, Interrupted if site.stop_fd
// becomes readable.
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
Result MeasureGym(const Site& site);  // part of MeasureEnvs

}  // namespace starling::bench
