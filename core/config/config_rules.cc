#include "core/config/config_rules.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <thread>

#include "core/gpu.h"

namespace starling {
namespace {

constexpr std::int64_t kMostPort = 65'535;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Free-running actors have a natural staleness of about N / K - 1; this is the K that fits the
// bound.
std::int64_t GradientsFor(std::int64_t actors, std::uint64_t bound) {
  if (bound >= static_cast<std::uint64_t>(actors)) return 1;
  return CeilDiv(actors, static_cast<std::int64_t>(bound) + 1);
}

// With a second grant an actor computes while its last gradient is applied. Worth it where the
// natural staleness of so many grants fits the bound; elsewhere actors would only wait for each
// other more.
std::int64_t GrantsFor(std::int64_t actors, std::int64_t gradients, std::uint64_t bound) {
  if (bound == 0) return 1;
  const std::int64_t natural = CeilDiv(2 * actors, gradients) - 1;
  return static_cast<std::uint64_t>(natural) <= bound ? 2 : 1;
}

// Switches of an optimizer that the chosen kind does not have. What only tunes one (decay, beta1, ...)
// may stay where it is while kinds are compared.
void CheckOptimizer(const OptimizerConfig& optimizer, std::vector<Contradiction>& found) {
  const std::string& kind = optimizer.kind;
  const auto refuse = [&](const std::string& key, const std::string& value, const char* why) {
    found.push_back({{"optimizer." + key, "optimizer.kind"},
                     fmt::format("optimizer.{} = {} contradicts optimizer.kind = \"{}\": {}", key,
                                 value, kind, why)});
  };
  if (optimizer.momentum > 0 && kind == "adam") {
    refuse("momentum", fmt::format("{}", optimizer.momentum),
           "Adam's own momentum is optimizer.beta1");
  }
  if (optimizer.centered && kind != "rmsprop") {
    refuse("centered", "true", "only \"rmsprop\" can be centred");
  }
  if (optimizer.epsilon_place == "inside" && kind == "adam") {
    refuse("epsilon_place", "\"inside\"", "Adam adds epsilon outside the square root");
  }
  if (!optimizer.bias_correction && kind == "adam") {
    refuse("bias_correction", "false", "Adam always corrects");
  }
}

void CheckSchedules(const Config& config, std::vector<Contradiction>& found) {
  const OptimizerConfig& optimizer = config.optimizer;
  if (static_cast<std::uint64_t>(optimizer.warmup_steps) > config.run.steps) {
    found.push_back({{"optimizer.warmup_steps", "run.steps"},
                     fmt::format("optimizer.warmup_steps = {} contradicts run.steps = {}: the run "
                                 "would end before optimizer.lr is reached",
                                 optimizer.warmup_steps, config.run.steps)});
  }
  const LossConfig& loss = config.loss;
  if (loss.entropy_schedule == "exponential" && (loss.entropy == 0 || loss.entropy_end == 0)) {
    const std::string zero = loss.entropy == 0 ? "loss.entropy" : "loss.entropy_end";
    found.push_back({{zero, "loss.entropy_schedule"},
                     fmt::format("{} = 0 contradicts loss.entropy_schedule = \"exponential\": no "
                                 "factor leads to or from 0; take a small number or \"linear\"",
                                 zero)});
  }
}

// Adds a sentence about keys that contradict each other.
using Refuse = std::function<void(std::vector<std::string> keys, std::string sentence)>;

void CheckUpdates(const Config& config, const Refuse& refuse) {
  const ActorsConfig& actors = config.actors;
  const UpdatesConfig& updates = config.updates;
  if (config.staleness.bound == 0 && updates.in_flight != 1) {
    refuse(
        {"updates.in_flight", "staleness.bound"},
        fmt::format("updates.in_flight = {} contradicts staleness.bound = 0, under which an actor "
                    "holds exactly 1 grant",
                    updates.in_flight));
  }
  if (updates.start_with > actors.count) {
    refuse({"updates.start_with", "actors.count"},
           fmt::format(
               "updates.start_with = {} contradicts actors.count = {}: so many will never join",
               updates.start_with, actors.count));
  }
  if (updates.gradients > actors.count * updates.in_flight) {
    refuse(
        {"updates.gradients", "actors.count", "updates.in_flight"},
        fmt::format("updates.gradients = {} contradicts actors.count = {} with updates.in_flight = "
                    "{}: at most {} gradients can be held",
                    updates.gradients, actors.count, updates.in_flight,
                    actors.count * updates.in_flight));
  }
}

void CheckNet(const Config& config, const Refuse& refuse) {
  if (config.net.kind != "layers" && !config.net.layers.empty()) {
    refuse({"net.layers", "net.kind"},
           fmt::format("net.layers contradicts net.kind = \"{}\": the layers are the whole net, so "
                       "leave net.kind out or set it to \"layers\"",
                       config.net.kind));
  }
  const bool fixed = config.net.kind != "mlp" && config.net.kind != "layers";
  if (fixed && config.net.hidden.size() != 1) {
    refuse({"net.hidden", "net.kind"},
           fmt::format("net.hidden has {} widths, which contradicts net.kind = \"{}\": it takes "
                       "exactly 1, as in [128]",
                       config.net.hidden.size(), config.net.kind));
  }
}

void CheckEnv(const Config& config, const Refuse& refuse) {
  if (config.env.max_pool && config.env.repeat < 2) {
    refuse(
        {"env.max_pool", "env.repeat"},
        "env.max_pool = true contradicts env.repeat = 1: it takes the maximum of the last two of "
        "the repeated frames, so repeat at least 2");
  }
  if (config.env.step_jitter > 0 && config.env.step_ms == 0) {
    refuse({"env.step_jitter", "env.step_ms"},
           fmt::format("env.step_jitter = {} contradicts env.step_ms = 0, under which there is no "
                       "pace to vary",
                       config.env.step_jitter));
  }
  const double unroll_s = config.env.step_ms * (1 - config.env.step_jitter) *
                          static_cast<double>(config.actors.unroll) / 1000;
  if (unroll_s >= config.staleness.deadline_s) {
    refuse({"env.step_ms", "staleness.deadline_s"},
           fmt::format(
               "env.step_ms = {} contradicts staleness.deadline_s = {}: an unroll of {} steps "
               "takes {:.4g} s at least, and its grant has ended by then",
               config.env.step_ms, config.staleness.deadline_s, config.actors.unroll, unroll_s));
  }
}

void CheckActors(const Config& config, const Refuse& refuse) {
  const ActorsConfig& actors = config.actors;
  if (actors.env_device == "cuda" && actors.backend == "cpu") {
    refuse({"actors.env_device", "actors.backend"},
           "actors.env_device = \"cuda\" contradicts actors.backend = \"cpu\": games on a GPU are "
           "for a "
           "net on the same GPU, so set actors.backend = \"cuda\"");
  }
  if (config.net.precision == "tf32" && actors.backend == "cpu") {
    refuse(
        {"net.precision", "actors.backend"},
        "net.precision = \"tf32\" contradicts actors.backend = \"cpu\": only GPUs multiply it; use "
        "\"f32\"");
  }
  if (config.samples_per_gradient() > kMostSamples) {
    refuse(
        {"actors.envs_per_actor", "actors.unroll"},
        fmt::format("actors.envs_per_actor = {} contradicts actors.unroll = {}: their product, the "
                    "samples of one gradient, may be at most {}",
                    actors.envs_per_actor, actors.unroll, kMostSamples));
  }
}

void CheckWire(const Config& config, const Refuse& refuse) {
  if (config.wire.heartbeat_ms * 2 > config.wire.timeout_s * 1000) {
    refuse({"wire.heartbeat_ms", "wire.timeout_s"},
           fmt::format(
               "wire.heartbeat_ms = {} contradicts wire.timeout_s = {}: at least two beats must "
               "fit into the timeout",
               config.wire.heartbeat_ms, config.wire.timeout_s));
  }
  const WireConfig& wire = config.wire;
  if (wire.secret.empty() != wire.allowed.empty()) {
    refuse(
        {"wire.secret", "wire.allowed"},
        fmt::format("wire.secret = \"{}\" contradicts wire.allowed = \"{}\": keys need both, the "
                    "learner's own and the list of those who may come in",
                    wire.secret, wire.allowed));
  }
  if (!wire.secret.empty() && !wire.endpoint.starts_with("tcp://")) {
    refuse({"wire.secret", "wire.endpoint"},
           fmt::format(
               "wire.secret = \"{}\" contradicts wire.endpoint = \"{}\": only tcp has keys; the "
               "permissions of its file guard an ipc socket",
               wire.secret, wire.endpoint));
  }
  if (!wire.address.empty() && !wire.endpoint.starts_with("tcp://")) {
    refuse({"wire.address", "wire.endpoint"},
           fmt::format("wire.address = \"{}\" contradicts wire.endpoint = \"{}\": other machines "
                       "reach this one over tcp only",
                       wire.address, wire.endpoint));
  }
}

// Of a tcp endpoint; 0 if it is none, or any free port.
std::int64_t TcpPort(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  std::int64_t port = 0;
  if (!endpoint.starts_with("tcp://")) return 0;
  std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
  return port;
}

void CheckLearner(const Config& config, const Refuse& refuse) {
  if (config.learner.shards > 1 && config.learner.apply == "hogwild") {
    refuse({"learner.shards", "learner.apply"},
           fmt::format("learner.shards = {} contradicts learner.apply = \"hogwild\": shards apply "
                       "the same updates in the same order, so use \"lanes\"",
                       config.learner.shards));
  }
  const std::int64_t first = TcpPort(config.wire.endpoint);
  if (first > 0 && first + config.learner.shards - 1 > kMostPort) {
    refuse({"learner.shards", "wire.endpoint"},
           fmt::format("learner.shards = {} contradicts wire.endpoint = \"{}\": each shard takes a "
                       "port behind the learner's, and {} is the last there is",
                       config.learner.shards, config.wire.endpoint, kMostPort));
  }
}

void CheckStatus(const Config& config, const Refuse& refuse) {
  const std::int64_t first = TcpPort(config.wire.endpoint), port = config.status.port;
  if (port == 0 || first == 0 || port < first || port >= first + config.learner.shards) return;
  refuse({"status.port", "wire.endpoint"},
         fmt::format("status.port = {} contradicts wire.endpoint = \"{}\": that is {} where "
                     "the actors come in",
                     port, config.wire.endpoint,
                     config.learner.shards > 1 ? "one of the ports" : "the port"));
}

}  // namespace

std::int64_t UsableCores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(CPU_COUNT(&mask), 1);
  return std::max(std::thread::hardware_concurrency(),
                  1u);  // more processors than a cpu_set_t holds
}

std::int64_t ActorsThatFit(const ActorsConfig& actors) {
  if (actors.count != 0) return actors.count;
  if (actors.backend == "cpu") return UsableCores();
  const auto gpus = static_cast<std::int64_t>(FindGpus().gpus.size());
  return gpus > 0 ? gpus : UsableCores();
}

void ResolveAuto(Config& config, const std::string& file, std::int64_t actors_that_fit) {
  if (config.run.name.empty()) config.run.name = std::filesystem::path(file).stem().string();
  if (config.run.name.empty()) config.run.name = "run";
  if (config.run.dir.empty()) config.run.dir = "runs/" + config.run.name;
  if (config.actors.count == 0) {
    config.actors.count = std::clamp<std::int64_t>(actors_that_fit, 1, 1024);
  }
  if (config.net.kind == "auto") config.net.kind = config.net.layers.empty() ? "minatar" : "layers";
  if (config.updates.start_with == 0) config.updates.start_with = config.actors.count;
  if (config.updates.gradients == 0) {
    config.updates.gradients = GradientsFor(config.actors.count, config.staleness.bound);
  }
  if (config.updates.in_flight == 0) {
    config.updates.in_flight =
        GrantsFor(config.actors.count, config.updates.gradients, config.staleness.bound);
  }
}

std::vector<Contradiction> FindContradictions(const Config& config) {
  std::vector<Contradiction> found;
  const Refuse refuse = [&](std::vector<std::string> keys, std::string sentence) {
    found.push_back({std::move(keys), std::move(sentence)});
  };
  CheckUpdates(config, refuse);
  CheckNet(config, refuse);
  CheckEnv(config, refuse);
  CheckActors(config, refuse);
  CheckWire(config, refuse);
  CheckLearner(config, refuse);
  CheckStatus(config, refuse);
  CheckOptimizer(config.optimizer, found);
  CheckSchedules(config, found);
  return found;
}

}  // namespace starling
