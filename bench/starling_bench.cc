// starling-bench: measures the figures of the README in one run and prints them as Markdown.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/process.h"
#include "core/text.h"
#include "core/version.h"
#include "tools/doctor/machine.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;

struct Figure {
  const char* name;
  Result (*measure)(const Site&);
};
// In the order of the table.
constexpr Figure kFigures[] = {
    {"training", MeasureTraining},
    {"throughput", MeasureThroughput},
    {"scaling", MeasureScaling},
    {"efficiency", MeasureEfficiency},
    {"groups", MeasureGroups},
    {"mirrored", MeasureMirrored},
    {"parallel", MeasureParallel},
    {"ways", MeasureWays},
    {"time", MeasureTime},
    {"startup", MeasureStartup},
    {"wire", MeasureWire},
    {"encryption", MeasureEncryption},
    {"links", MeasureLinks},
    {"latency", MeasureLatency},
    {"apply", MeasureApply},
    {"lock", MeasureLock},
    {"staleness", MeasureStaleness},
    {"simulated", MeasureSimulated},
    {"reproducible", MeasureReproducible},
    {"memory", MeasureMemory},
    {"endurance", MeasureEndurance},
    {"large", MeasureLarge},
    {"long", MeasureLong},
    {"kernels", MeasureKernels},
    {"gpu-limits", MeasureGpuLimits},
    {"gpu-games", MeasureGpuGames},
    {"gpu-actors", MeasureGpuActors},
    {"gpu-products", MeasureGpuProducts},
    {"gpu-training", MeasureGpuTraining},
    {"ladder", MeasureLadder},
    {"envs", MeasureEnvs},
    {"policy", MeasurePolicy},
    {"seat", MeasureSeat},
};

constexpr std::string_view kGpu = "gpu";  // names all figures that begin with it

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Figure& figure : kFigures) names.emplace_back(figure.name);
  names.emplace_back(kGpu);
  return names;
}

bool IsOfGpu(const Figure& figure) { return std::string_view(figure.name).starts_with(kGpu); }

bool IsChosen(const Figure& figure, const std::vector<std::string>& only) {
  return only.empty() || std::ranges::count(only, figure.name) > 0 ||
         (IsOfGpu(figure) && std::ranges::count(only, kGpu) > 0);
}

// A private directory.
fs::path MakeScratch() {
  std::string path = (fs::temp_directory_path() / "starling-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    throw UserError("no directory can be made in " + fs::temp_directory_path().string() +
                    ": set TMPDIR to one that is writable");
  }
  return path;
}

struct Options {
  std::vector<std::string> only;
  std::optional<std::string> json;   // a file, or "" for standard output
  std::optional<fs::path> pictures;  // a directory
  fs::path root;                     // of the repository, or of a package
  bool quick = false;
};

// The command that repeats this bench.
std::string CommandOf(const Options& options) {
  std::string command = options.quick ? "scripts/bench --quick" : "scripts/bench";
  for (const std::string& figure : options.only) command += " " + figure;
  return command;
}

// If the programs of a figure fail, its row shows that, and the bench goes on.
Result Measure(const Figure& figure, const Site& site) {
  ThrowIfInterrupted(site.stop_fd);
  Tell(fmt::format("== {}", figure.name));
  try {
    return figure.measure(site);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    Tell(error.what());
    return {.rows = {{.what = figure.name, .measured = "could not be measured", .holds = false}},
            .broken = true};
  }
}

// Finds a path that cannot be written before anything is measured.
void CheckDirectory(const fs::path& directory, const std::string& option) {
  if (fs::is_directory(directory)) return;
  throw UserError(directory.string() + " is not a directory: make it, or change " + option);
}

// The root that is not named: this directory, or that of the package which this program is of.
fs::path DefaultRoot() {
  const fs::path package = ProgramDir().parent_path();
  return !fs::exists("bench/minatar.toml") && fs::exists(package / "bench/minatar.toml") ? package
                                                                                         : ".";
}

int Run(const Options& options) {
  const fs::path config = options.root / "bench/minatar.toml";
  if (!fs::exists(config)) {
    throw UserError(config.string() + " is not there: name the root of the repository (--root)");
  }
  if (options.json && !options.json->empty()) {
    CheckDirectory(fs::absolute(*options.json).parent_path(), "--json");
  }
  if (options.pictures) CheckDirectory(*options.pictures, "--pictures");
  const int stop_fd = CatchStopSignals();  // before there is anything to clean up
  const Scratch scratch(MakeScratch());
  const Site site{.programs = ProgramDir(),
                  .config = config,
                  .shipped = options.root / "configs",
                  .scratch = scratch.path,
                  .stop_fd = stop_fd,
                  .quick = options.quick};
  std::vector<NamedResult> results;
  bool broken = false, asks_gpu = false;
  for (const Figure& figure : kFigures) {
    if (!IsChosen(figure, options.only)) continue;
    asks_gpu = asks_gpu || IsOfGpu(figure);
    results.push_back({figure.name, Measure(figure, site)});
    broken = broken || results.back().result.broken;
    if (const std::string& svg = results.back().result.picture; options.pictures && !svg.empty()) {
      WriteFileAtomically(*options.pictures / fmt::format("{}.svg", figure.name), svg);
    }
  }
  const std::string hardware = doctor::HardwareLine(asks_gpu), command = CommandOf(options);
  const std::string json = ToJson(results, hardware, command, options.quick);
  const bool instead = options.json && options.json->empty();
  std::printf("%s",
              instead ? (json + "\n").c_str() : ToMarkdown(results, hardware, command).c_str());
  if (options.json && !instead) WriteFileAtomically(*options.json, json);
  return broken ? kExitFailed : kExitDone;
}

int Main(int argc, char** argv) {
  CLI::App app("Measures Starling's promises and prints them as a Markdown table.",
               "starling-bench");
  Options options;
  app.set_version_flag("--version", VersionLine("starling-bench"));
  app.add_option("FIGURE", options.only, "of " + Listed(Names()) + "; all if none is named")
      ->check(CLI::IsMember(Names()))
      ->type_name("");
  std::string json;
  CLI::Option* const keep =
      app.add_option("--json", json, "the numbers as JSON: into FILE, or instead of the table")
          ->expected(0, 1)
          ->type_name("FILE");
  app.add_option("--pictures", options.pictures,
                 "where to write the drawings of figures that have some")
      ->type_name("DIR");
  options.root = DefaultRoot();
  app.add_option("--root", options.root, "of the repository or package, for its configurations")
      ->type_name("DIR");
  app.add_flag("--quick", options.quick, "short runs, to see that everything works");
  InitLog("bench", LogLevel::kWarn);  // of a learner in this process
  try {
    app.parse(argc, argv);
    // "--json wire": the figure, not a file of that name.
    if (std::ranges::count(Names(), json) > 0) options.only.push_back(std::exchange(json, ""));
    if (*keep) options.json = json;
    return Run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUserError;
  } catch (const Interrupted&) {
    Tell("interrupted; nothing is left behind");
    return kExitInterrupted;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "starling-bench: %s\n", error.what());
    return dynamic_cast<const UserError*>(&error) != nullptr ? kExitUserError : kExitFailed;
  }
}

}  // namespace
}  // namespace starling::bench

int main(int argc, char** argv) { return starling::bench::Main(argc, argv); }
