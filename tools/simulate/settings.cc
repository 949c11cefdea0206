#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <system_error>

#include "core/config/config_rules.h"
#include "core/error.h"
#include "core/file.h"
#include "envs/registry.h"
#include "fleet/check_config.h"
#include "results/run_dir.h"
#include "tools/simulate/simulate.h"

namespace starling::simulate {
namespace {

// ---- Which configurations can be simulated

// Longest duration of a message or an unroll. 2^63 ns are a hundred thousand times as long.
constexpr double kLongestMs = 24 * 3600e3;

// Refuses foreign random numbers, real time, and devices other than the CPU.
void RefuseUnsupported(const Config& config, std::vector<Contradiction>& found) {
  const auto refuse = [&](bool unsupported, const char* key, const auto& value, const char* why) {
    if (!unsupported) return;
    found.push_back({{key}, fmt::format("{} = {} cannot be simulated: {}", key, value, why)});
  };
  refuse(config.net.external(), "net.kind", "\"external\"",
         "your own programs compute it, in real time");
  refuse(!config.net.external() && envs::IsForeign(config.env.name), "env.name",
         fmt::format("\"{}\"", config.env.name),
         "what it draws is not Starling's; only bundled envs can");
  refuse(config.actors.backend == DeviceChoice::kCuda, "actors.backend", "\"cuda\"",
         "all actors of a simulation share this machine's cores; leave it out or set it to "
         "\"cpu\"");
  refuse(config.actors.env_device == DeviceChoice::kCuda, "actors.env_device", "\"cuda\"",
         "leave it out or set it to \"cpu\"");
  refuse(config.net.precision == Precision::kTf32, "net.precision", "\"tf32\"",
         "only GPUs multiply it, and a simulation computes on the processor; use \"f32\"");
  constexpr const char* kOnce = "in virtual time each unroll gives one gradient";
  refuse(config.loss.kind == LossKind::kPpo, "loss.kind", "\"ppo\"", kOnce);
  refuse(config.updates.epochs > 1, "updates.epochs", config.updates.epochs, kOnce);
  refuse(config.updates.minibatches > 1, "updates.minibatches", config.updates.minibatches, kOnce);
  refuse(config.learner.apply == ApplyMode::kHogwild, "learner.apply", "\"hogwild\"",
         "which writes overlap is the processor's; leave it out or set it to \"lanes\"");
  refuse(config.eval.every_steps > 0, "eval.every_steps", config.eval.every_steps,
         "an evaluator plays in real time; starling eval plays with the weights at the end");
  refuse(config.status.port != 0, "status.port", config.status.port,
         "its pages are of a fleet at work; leave it out or set it to 0");
}

void RefuseTooManyStragglers(const Config& config, std::vector<Contradiction>& found) {
  if (config.simulate.stragglers <= config.actors.count) return;
  found.push_back({{"simulate.stragglers", "actors.count"},
                   fmt::format("simulate.stragglers = {} contradicts actors.count = {}",
                               config.simulate.stragglers, config.actors.count)});
}

// Milliseconds of an unroll of an actor that is no straggler: the shortest (`sign` -1) or the
// longest (`sign` 1) possible.
double UnrollMs(const Config& config, int sign) {
  const double pace = config.env.step_ms * static_cast<double>(config.actors.unroll);
  return config.simulate.compute_ms * (1 + sign * config.simulate.compute_spread) +
         pace * (1 + sign * config.env.step_jitter);
}

// Refuses deadlines under which every grant ends unspent.
void RefuseShortDeadlines(const Config& config, std::vector<Contradiction>& found) {
  const SimulateConfig& simulate = config.simulate;
  const bool all_are_slow = simulate.stragglers == config.actors.count;
  const double shortest =
      UnrollMs(config, -1) * (all_are_slow ? simulate.straggler_factor : 1) +
      simulate.network_ms * (1 + (simulate.delayed_share == 1 ? simulate.delayed_factor : 1)) +
      simulate.receive_ms;
  if (shortest < config.staleness.deadline_s * 1000) return;
  found.push_back(
      {{"simulate.compute_ms", "staleness.deadline_s"},
       fmt::format(
           "simulate.compute_ms = {} contradicts staleness.deadline_s = {}: with its way "
           "there and back, and the pace of its envs, the quickest gradient takes {:.4g} s, "
           "and its grant has ended by then",
           simulate.compute_ms, config.staleness.deadline_s, shortest / 1000)});
}

void RefuseEndlessTimes(const Config& config, std::vector<Contradiction>& found) {
  const SimulateConfig& simulate = config.simulate;
  const auto refuse = [&](const char* key, double factor, const char* part, double ms) {
    if (ms <= kLongestMs) return;
    found.push_back({{key},
                     fmt::format("{} = {} makes {} take {:.3g} days: more than one cannot be "
                                 "simulated",
                                 key, factor, part, ms / kLongestMs)});
  };
  refuse("simulate.straggler_factor", simulate.straggler_factor, "an unroll",
         UnrollMs(config, 1) * simulate.straggler_factor);
  refuse("simulate.delayed_factor", simulate.delayed_factor, "a gradient's way",
         simulate.network_ms * simulate.delayed_factor);
}

// ---- Times of a real run

constexpr double kMinGradients = 20;  // fewest gradients for a mean
constexpr double kMinMs = 1e-6;       // smallest compute_ms: 1 ns

bool WaitsForItsOwnOnly(const Config& config) {
  return config.staleness.bound == kUnbounded && config.updates.gradients == 1 &&
         config.updates.in_flight == 1;
}

// The keys whose values a run determines.
struct Time {
  const char* key;
  double SimulateConfig::*ms;
};
constexpr Time kTimes[] = {
    {"simulate.compute_ms", &SimulateConfig::compute_ms},
    {"simulate.refresh_ms", &SimulateConfig::refresh_ms},
    {"simulate.network_ms", &SimulateConfig::network_ms},
    {"simulate.receive_ms", &SimulateConfig::receive_ms},
    {"simulate.apply_ms", &SimulateConfig::apply_ms},
    {"simulate.merge_ms", &SimulateConfig::merge_ms},
};

std::string Listed(const SimulateConfig& simulate) {
  std::string text;
  for (const Time& time : kTimes) {
    const std::string name = std::string(time.key).substr(std::string("simulate.").size());
    text += fmt::format("{}{} {:.3g}", text.empty() ? "" : ", ", name, simulate.*time.ms);
  }
  return text;
}

Config ConfigOf(const std::filesystem::path& run_dir) {
  if (!std::filesystem::is_regular_file(run_dir / "config.toml")) {
    throw UserError(
        fmt::format("--times-from {}: it has no config.toml: not a run", run_dir.string()));
  }
  return LoadConfig(run_dir / "config.toml");
}

std::string MetricsOf(const std::filesystem::path& run_dir) {
  try {
    return ReadRegularFile(run_dir / "metrics.jsonl");
  } catch (const std::system_error&) {
    return "";
  }
}

}  // namespace

std::vector<Contradiction> CheckSimulation(const Config& config) {
  std::vector<Contradiction> found;
  RefuseUnsupported(config, found);
  RefuseTooManyStragglers(config, found);
  RefuseShortDeadlines(config, found);
  RefuseEndlessTimes(config, found);
  if (!found.empty()) return found;  // CheckConfig would start processes for foreign games
  Config settled = config;
  SettleSimulation(settled);
  return fleet::CheckConfig(settled);
}

void SettleSimulation(Config& config) {
  config.actors.backend = DeviceChoice::kCpu;
  config.actors.env_device = DeviceChoice::kAuto;
  config.learner.shards = 1;
  for (std::string WireConfig::*const of_a_network :
       {&WireConfig::secret, &WireConfig::allowed, &WireConfig::address}) {
    config.wire.*of_a_network = "";
  }
  config.wire.endpoint = "auto";
}

std::optional<SimulateConfig> TimesBetween(const learner::RunStatus& begin,
                                           const learner::RunStatus& end, const Config& config,
                                           SimulateConfig simulate) {
  // 1. Take the differences of the counters.
  const auto count = [](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to) - static_cast<double>(from);
  };
  const double gradients = count(begin.gradients.received, end.gradients.received);
  const double applied = count(begin.gradients.applied, end.gradients.applied);
  const double updates = count(begin.updates, end.updates);
  if (gradients < kMinGradients || updates < 1) return std::nullopt;

  // 2. Divide the times by the gradients.
  const auto each_ms = [&](double before, double after) {
    return std::max(0.0, 1000 * (after - before) / gradients);
  };
  const learner::TimeStatus::Actors &a = begin.time.actors, &b = end.time.actors;
  const double paced_ms = config.env.step_ms * static_cast<double>(config.actors.unroll);
  const auto busy = [](const auto& of) { return of.act + of.act_wait + of.gradient + of.push; };
  simulate.compute_ms = std::max(kMinMs, each_ms(busy(a), busy(b)) - paced_ms);
  simulate.refresh_ms = each_ms(a.refresh, b.refresh);
  const learner::TimeStatus::Learner &c = begin.time.learner, &d = end.time.learner;
  simulate.receive_ms = each_ms(c.receive + c.dispatch, d.receive + d.dispatch);
  const double ratio = simulate.apply_ms > 0 ? simulate.merge_ms / simulate.apply_ms : 1;
  const double lanes_ms = std::max(0.0, 1000 * (d.lanes - c.lanes));
  simulate.apply_ms = lanes_ms / (updates + ratio * (applied - updates));
  simulate.merge_ms = ratio * simulate.apply_ms;
  if (WaitsForItsOwnOnly(config)) {
    const double rest = each_ms(a.wait, b.wait) - simulate.receive_ms - simulate.apply_ms;
    simulate.network_ms = std::max(0.0, rest / 2);
  }
  return simulate;
}

std::optional<FirstAndLast> LastTermOf(std::string_view metrics) {
  std::optional<FirstAndLast> found;
  int lines = 0;  // of the term in `found`
  std::istringstream text{std::string(metrics)};
  for (std::string line; std::getline(text, line);) {
    const std::optional<learner::RunStatus> status = learner::ParseStatus(line);
    if (!status) continue;  // torn
    if (!found || found->last.term != status->term) {
      found = FirstAndLast{*status, *status};
      lines = 0;
    }
    found->last = *status;
    ++lines;
  }
  // At the first grant a learner resets its times, except for those of its lanes.
  if (found && found->first.phase == "waiting") {
    found->first.time = {.actors = {}, .learner = {.lanes = found->first.time.learner.lanes}};
  }
  if (lines == 1 && found->last.term > 1) return std::nullopt;
  if (lines == 1) found->first = {};
  return found;
}

std::vector<std::string> TakeTimes(const std::filesystem::path& run_dir,
                                   const std::vector<std::string>& keep, Config& config) {
  if (results::IsSimulated(run_dir)) {
    throw UserError(fmt::format(
        "--times-from {}: it was simulated itself; its config.toml has the times, this takes those "
        "of a real run",
        run_dir.string()));
  }
  // 1. The gradients of that run must be alike: a whole unroll each, and of the same size.
  const Config theirs = ConfigOf(run_dir);
  if (theirs.reuses_data()) {
    throw UserError(fmt::format(
        "--times-from {}: an unroll of that run has {} gradients and recomputes each (PPO, "
        "updates.epochs or updates.minibatches), so its times are not those of an unroll with one",
        run_dir.string(), theirs.gradients_per_unroll()));
  }
  if (theirs.samples_per_gradient() != config.samples_per_gradient()) {
    throw UserError(fmt::format(
        "--times-from {}: its gradients are of {} samples, those of this configuration of {}: its "
        "times would not be theirs",
        run_dir.string(), theirs.samples_per_gradient(), config.samples_per_gradient()));
  }
  // 2. Compute the times. The run must have been long enough.
  const auto lines = LastTermOf(MetricsOf(run_dir));
  const auto times =
      lines ? TimesBetween(lines->first, lines->last, theirs, config.simulate) : std::nullopt;
  if (!times || times->compute_ms <= kMinMs) {
    throw UserError(fmt::format(
        "--times-from {}: its metrics.jsonl does not tell how long things took: a run of a few "
        "seconds or more does",
        run_dir.string()));
  }
  // 3. Set the times, except those that the operator chose.
  for (const Time& time : kTimes) {
    if (std::ranges::count(keep, time.key) == 0) config.simulate.*time.ms = *times.*time.ms;
  }
  // 4. Describe them, with their limits.
  std::vector<std::string> said = {
      fmt::format("milliseconds, as in {}: {}", run_dir.string(), Listed(config.simulate))};
  if (!WaitsForItsOwnOnly(theirs)) {
    said.emplace_back(
        "that run does not tell network_ms, which is as configured: one with "
        "--set staleness.bound=unbounded --set updates.in_flight=1 does");
  }
  if (theirs.actors.count > UsableCores()) {
    said.push_back(fmt::format(
        "that run had {} actors and this machine has {} cores: if it ran here, its actors shared "
        "them, and these are times of actors that do",
        theirs.actors.count, UsableCores()));
  }
  return said;
}

}  // namespace starling::simulate
