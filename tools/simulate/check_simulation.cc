#include "tools/simulate/check_simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "fleet/check_config.h"

namespace starling::simulate {
namespace {

// Longest duration of a message or an unroll. 2^63 ns are a hundred thousand times as long.
constexpr double kLongestMs = 24 * 3600e3;

// Refuses foreign random numbers, real time, and devices other than the CPU.
void RefuseWhatIsElsewhere(const Config& config, std::vector<Contradiction>& found) {
  for (const char* elsewhere : {"gym:", "plugin:"}) {
    if (!config.env.name.starts_with(elsewhere)) continue;
    found.push_back({{"env.name"},
                     fmt::format("env.name = \"{}\" cannot be simulated: what it draws is not "
                                 "Starling's; only bundled envs can",
                                 config.env.name)});
  }
  if (config.actors.backend == DeviceChoice::kCuda) {
    found.push_back({{"actors.backend"},
                     "actors.backend = \"cuda\" cannot be simulated: all actors of a simulation "
                     "share this machine's cores; leave it out or set it to \"cpu\""});
  }
  if (config.actors.env_device == DeviceChoice::kCuda) {
    found.push_back({{"actors.env_device"},
                     "actors.env_device = \"cuda\" cannot be simulated: leave it out or set it to "
                     "\"cpu\""});
  }
  if (config.net.precision == Precision::kTf32) {
    found.push_back({{"net.precision"},
                     "net.precision = \"tf32\" cannot be simulated: only GPUs multiply it, and a "
                     "simulation computes on the processor; use \"f32\""});
  }
  if (config.learner.apply == ApplyMode::kHogwild) {
    found.push_back({{"learner.apply"},
                     "learner.apply = \"hogwild\" cannot be simulated: which writes overlap is "
                     "the processor's; leave it out or set it to \"lanes\""});
  }
  if (config.eval.every_steps > 0) {
    found.push_back({{"eval.every_steps"},
                     fmt::format("eval.every_steps = {} cannot be simulated: an evaluator plays in "
                                 "real time; starling eval plays with the weights at the end",
                                 config.eval.every_steps)});
  }
  if (config.status.port != 0) {
    found.push_back(
        {{"status.port"},
         fmt::format("status.port = {} cannot be simulated: its pages are of a fleet at "
                     "work; leave it out or set it to 0",
                     config.status.port)});
  }
}

void RefuseStragglersThatAreNotThere(const Config& config, std::vector<Contradiction>& found) {
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
void RefuseDeadlinesThatNobodyMeets(const Config& config, std::vector<Contradiction>& found) {
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

void RefuseTimesBeyondTheClock(const Config& config, std::vector<Contradiction>& found) {
  const SimulateConfig& simulate = config.simulate;
  const auto refuse = [&](const char* key, double factor, const char* what, double ms) {
    if (ms <= kLongestMs) return;
    found.push_back({{key},
                     fmt::format("{} = {} makes {} take {:.3g} days: more than one cannot be "
                                 "simulated",
                                 key, factor, what, ms / kLongestMs)});
  };
  refuse("simulate.straggler_factor", simulate.straggler_factor, "an unroll",
         UnrollMs(config, 1) * simulate.straggler_factor);
  refuse("simulate.delayed_factor", simulate.delayed_factor, "a gradient's way",
         simulate.network_ms * simulate.delayed_factor);
}

}  // namespace

std::vector<Contradiction> CheckSimulation(const Config& config) {
  std::vector<Contradiction> found;
  RefuseWhatIsElsewhere(config, found);
  RefuseStragglersThatAreNotThere(config, found);
  RefuseDeadlinesThatNobodyMeets(config, found);
  RefuseTimesBeyondTheClock(config, found);
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
