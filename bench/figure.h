// A figure of the bench: a function that measures and returns rows of a table.
//
// A slow figure is shown, not asserted: the bench fails only if something breaks that must hold on
// any machine (the staleness bound, the same bits twice, kernels that agree, programs that
// succeed).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace starling::bench {

using Json = nlohmann::ordered_json;

// The surroundings of a bench.
struct Site {
  std::filesystem::path programs;  // directory of `starling` and its companions
  std::filesystem::path config;    // bench/minatar.toml, the default of all figures
  std::filesystem::path shipped;   // configs/
  std::filesystem::path scratch;   // private directory for runs, removed at the end
  int stop_fd = -1;                // readable: stop (core/process.h)
  bool quick = false;              // short runs, which only show that everything works

  // The verdict on a speed: none if the runs were too short to judge.
  std::optional<bool> Judged(bool holds) const {
    return quick ? std::nullopt : std::optional(holds);
  }
};

struct Row {
  std::string what;
  std::string measured{};
  std::string wanted{};         // the limit; "" = none
  std::optional<bool> holds{};  // nullopt: no limit, or the run was too short to judge
};

struct Result {
  std::vector<Row> rows{};
  std::string details{};  // Markdown below the table; may be empty
  Json json{};            // every number; null if the figure could not be measured
  std::string picture{};  // an SVG file, or ""
  bool broken = false;    // something broke that must hold on any machine
};

// A line of a Markdown table: "| a | b |\n".
std::string Line(const std::vector<std::string>& cells);
// The head of one, with the rule below it.
std::string Head(const std::vector<std::string>& cells);

struct NamedResult {
  std::string name;
  Result result;
};

// Returns the hardware, one table of all figures, and their details. `command` reproduces them.
std::string ToMarkdown(const std::vector<NamedResult>& results, const std::string& hardware,
                       const std::string& command);

// {"hardware", "command", "quick", "figures": {name: ...}}, one figure a line.
std::string ToJson(const std::vector<NamedResult>& results, const std::string& hardware,
                   const std::string& command, bool quick);

// Each throws std::runtime_error with a sentence if a program fails, Interrupted if site.stop_fd
// becomes readable.
Result MeasureTraining(const Site& site);
Result MeasureThroughput(const Site& site);
Result MeasureScaling(const Site& site);
Result MeasureEfficiency(const Site& site);
Result MeasureGroups(const Site& site);
Result MeasureMirrored(const Site& site);
Result MeasureParallel(const Site& site);
Result MeasureWays(const Site& site);
Result MeasureTime(const Site& site);
Result MeasureStartup(const Site& site);
Result MeasureWire(const Site& site);
Result MeasureEncryption(const Site& site);
Result MeasureLinks(const Site& site);
Result MeasureLatency(const Site& site);
Result MeasureApply(const Site& site);
Result MeasureLock(const Site& site);
Result MeasureStaleness(const Site& site);
Result MeasureSimulated(const Site& site);
Result MeasureReproducible(const Site& site);
Result MeasureMemory(const Site& site);
Result MeasureEndurance(const Site& site);
Result MeasureLarge(const Site& site);
Result MeasureLong(const Site& site);
Result MeasureKernels(const Site& site);
Result MeasureGpuLimits(const Site& site);
Result MeasureGpuGames(const Site& site);
Result MeasureGpuActors(const Site& site);
Result MeasureGpuProducts(const Site& site);
Result MeasureGpuTraining(const Site& site);
Result MeasureLadder(const Site& site);
Result MeasureEnvs(const Site& site);
Result MeasurePolicy(const Site& site);
Result MeasureSeat(const Site& site);

}  // namespace starling::bench
