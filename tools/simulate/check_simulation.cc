#include <fmt/format.h>

#include <algorithm>

#include "fleet/check_config.h"
#include "tools/simulate/simulate.h"

namespace starling::simulate {
namespace {

// Longest duration of a message or an unroll. 2^63 ns are a hundred thousand times as long.
constexpr double kLongestMs = 24 * 3600e3;

// Refuses foreign random numbers, real time, and devices other than the CPU.
void RefuseUnsupported(const Config& config, std::vector<Contradiction>& found) {
  const auto refuse = [&](bool unsupported, const char* key, const auto& value, const char* why) {
    if (!unsupported) return;
    found.push_back({{key}, fmt::format("{} = {} cannot be simulated: {}", key, value, why)});
  };
  refuse(config.env.name.starts_with("gym:") || config.env.name.starts_with("plugin:"), "env.name",
         fmt::format("\"{}\"", config.env.name),
         "what it draws is not Starling's; only bundled envs can");
  refuse(config.actors.backend == DeviceChoice::kCuda, "actors.backend", "\"cuda\"",
         "all actors of a simulation share this machine's cores; leave it out or set it to "
         "\"cpu\"");
  refuse(config.actors.env_device == DeviceChoice::kCuda, "actors.env_device", "\"cuda\"",
         "leave it out or set it to \"cpu\"");
  refuse(config.net.precision == Precision::kTf32, "net.precision", "\"tf32\"",
         "only GPUs multiply it, and a simulation computes on the processor; use \"f32\"");
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

}  // namespace starling::simulate
