// starling-bare: checks and measures the parts of an actor on a machine with a GPU and few
// libraries.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>

#include "bench/actor_speed.h"
#include "bench/bare/report.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/gpu.h"

namespace starling::bare {
namespace {

constexpr const char* kUsage =
    "starling-bare check [--quick] [--only TEXT] [--limit SECONDS]\n"
    "    holds the GPU to the plain loops on the host: ops, games, unrolls with their gradients. A "
    "line\n"
    "    each; exits with 1 if anything disagrees. --quick: small and short. --only: checks with "
    "TEXT in\n"
    "    their name. --limit (120): of one check.\n"
    "starling-bare bench [--quick] [--seconds SECONDS] [--json FILE]\n"
    "    how many steps a second an actor makes. --seconds (2): for each line.\n";

struct Options {
  bool bench = false, quick = false;
  std::string only, json;
  double limit_s = 120, seconds = 2;
};

double Number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0)) {
    throw UserError(fmt::format("\"{}\" is no number of seconds", text));
  }
  return value;
}

Options Parse(int argc, char** argv) {
  Options options;
  const std::string command = argc > 1 ? argv[1] : "";
  if (command != "check" && command != "bench") throw UserError(kUsage);
  options.bench = command == "bench";
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw UserError(word + " wants a value\n" + kUsage);
      return argv[i];
    };
    if (word == "--quick") {
      options.quick = true;
    } else if (word == (options.bench ? "--json" : "--only")) {
      (options.bench ? options.json : options.only) = value();
    } else if (word == (options.bench ? "--seconds" : "--limit")) {
      (options.bench ? options.seconds : options.limit_s) = Number(value());
    } else {
      throw UserError(fmt::format("\"{}\" is not known\n{}", word, kUsage));
    }
  }
  if (options.quick && options.bench) options.seconds = 0.2;
  return options;
}

void SayWhere() {
  const GpuSearch found = FindGpus();
  if (found.gpus.empty()) std::printf("no GPU: %s\n", found.why_none.c_str());
  for (const GpuInfo& gpu : found.gpus) std::printf("%s\n", bench::NameOf(gpu).c_str());
  std::fflush(stdout);
}

int Check(const Options& options) {
  Report report(options.only, options.limit_s);
  CheckOps(report);
  CheckGames(report, options.quick);
  CheckRollouts(report, options.quick);
  return report.End();
}

int Bench(const Options& options) {
  std::ofstream file;
  if (!options.json.empty()) {
    file.open(options.json);  // before anything is measured, to find a wrong path at once
    if (!file) throw UserError(options.json + " cannot be written");
  }
  const std::string json = MeasureSpeed(options.seconds, options.quick);
  if (file.is_open()) file << json << '\n';
  std::printf("done\n");
  return kExitDone;
}

int Main(int argc, char** argv) {
  try {
    const Options options = Parse(argc, argv);
    FlushDenormals();
    SayWhere();
    return options.bench ? Bench(options) : Check(options);
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kExitUserError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "starling-bare: %s\n", error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace starling::bare

int main(int argc, char** argv) { return starling::bare::Main(argc, argv); }
