#include "core/config/config_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/config/contradictions.h"
#include "core/text.h"

namespace starling {
namespace {

constexpr std::int64_t kMaxPort = 65'535;

// Checks the keys that switch on a feature of an optimizer. Numbers that only tune one (decay,
// beta1, ...) are allowed with every kind, so that kinds can be compared.
void CheckOptimizer(const OptimizerConfig& optimizer, Contradictions& found) {
  const OptimizerKind kind = optimizer.kind;
  const auto refuse = [&](const std::string& key, const std::string& value, const char* why) {
    Add(found, {"optimizer." + key, "optimizer.kind"},
        "optimizer.{} = {} contradicts optimizer.kind = \"{}\": {}", key, value, NameOf(kind), why);
  };
  if (optimizer.momentum > 0 && kind == OptimizerKind::kAdam) {
    refuse("momentum", fmt::format("{}", optimizer.momentum),
           "Adam's own momentum is optimizer.beta1");
  }
  if (optimizer.centered && kind != OptimizerKind::kRmsProp) {
    refuse("centered", "true", "only \"rmsprop\" can be centred");
  }
  if (optimizer.epsilon_place == EpsilonPlace::kInside && kind == OptimizerKind::kAdam) {
    refuse("epsilon_place", "\"inside\"", "Adam adds epsilon outside the square root");
  }
  if (!optimizer.bias_correction && kind == OptimizerKind::kAdam) {
    refuse("bias_correction", "false", "Adam always corrects");
  }
}

void CheckSchedules(const Config& config, Contradictions& found) {
  const OptimizerConfig& optimizer = config.optimizer;
  if (std::cmp_greater(optimizer.warmup_steps, config.run.steps)) {
    Add(found, {"optimizer.warmup_steps", "run.steps"},
        "optimizer.warmup_steps = {} contradicts run.steps = {}: the run would end before "
        "optimizer.lr is reached",
        optimizer.warmup_steps, config.run.steps);
  }
  const LossConfig& loss = config.loss;
  if (loss.entropy_schedule == EntropySchedule::kExponential &&
      (loss.entropy == 0 || loss.entropy_end == 0)) {
    const std::string zero = loss.entropy == 0 ? "loss.entropy" : "loss.entropy_end";
    Add(found, {zero, "loss.entropy_schedule"},
        "{} = 0 contradicts loss.entropy_schedule = \"exponential\": no factor leads to or "
        "from 0; take a small number or \"linear\"",
        zero);
  }
}

// What gradients of one unroll are, and what else cannot be while there are several.
void CheckReuse(const Config& config, Contradictions& found) {
  const LossConfig& loss = config.loss;
  const UpdatesConfig& updates = config.updates;
  const bool divides = config.shuffled_units() % updates.minibatches == 0;
  if (!divides && updates.shuffle == Shuffle::kEnvs) {
    Add(found, {"updates.minibatches", "actors.envs_per_actor"},
        "updates.minibatches = {} contradicts actors.envs_per_actor = {}: each minibatch has as "
        "many environments, so take a divisor of {}",
        updates.minibatches, config.actors.envs_per_actor, config.actors.envs_per_actor);
  }
  if (!divides && updates.shuffle == Shuffle::kSamples) {
    Add(found, {"updates.minibatches", "actors.envs_per_actor", "actors.unroll"},
        "updates.minibatches = {} contradicts actors.envs_per_actor = {} and actors.unroll = {}: "
        "all minibatches have equally many samples, so take a divisor of {}",
        updates.minibatches, config.actors.envs_per_actor, config.actors.unroll,
        config.shuffled_units());
  }
  const std::int64_t samples = config.samples_per_gradient();
  if (loss.normalize_advantage && divides && samples == 1) {
    Add(found, {"loss.normalize_advantage", "updates.minibatches"},
        "loss.normalize_advantage = true contradicts updates.minibatches = {}: a gradient has one "
        "sample then, whose normalised advantage is always 0",
        updates.minibatches);
  }
  if (loss.kind != LossKind::kPpo) {
    if (loss.value_clip > 0) {
      Add(found, {"loss.value_clip", "loss.kind"},
          "loss.value_clip = {} contradicts loss.kind = \"{}\": only \"ppo\" clips values",
          loss.value_clip, NameOf(loss.kind));
    }
    if (loss.proximal == Proximal::kGrant) {
      Add(found, {"loss.proximal", "loss.kind"},
          "loss.proximal = \"grant\" contradicts loss.kind = \"{}\": only \"ppo\" has a ratio",
          NameOf(loss.kind));
    }
  }
  if (config.reuses_data() && config.net.stages > 1) {
    Add(found,
        {"net.stages", updates.epochs > 1        ? "updates.epochs"
                       : updates.minibatches > 1 ? "updates.minibatches"
                                                 : "loss.kind"},
        "net.stages = {} contradicts {}: a net in stages computes one gradient of an unroll, on "
        "the "
        "weights that played it",
        config.net.stages,
        updates.epochs > 1        ? fmt::format("updates.epochs = {}", updates.epochs)
        : updates.minibatches > 1 ? fmt::format("updates.minibatches = {}", updates.minibatches)
                                  : "loss.kind = \"ppo\"");
  }
}

void CheckNet(const NetConfig& net, Contradictions& found) {
  if (net.kind != NetKind::kLayers && !net.layers.empty()) {
    Add(found, {"net.layers", "net.kind"},
        "net.layers contradicts net.kind = \"{}\": the layers are the whole net, so leave "
        "net.kind out or set it to \"layers\"",
        NameOf(net.kind));
  }
  const bool fixed = net.kind != NetKind::kMlp && net.kind != NetKind::kLayers;
  if (fixed && net.hidden.size() != 1) {
    Add(found, {"net.hidden", "net.kind"},
        "net.hidden has {} widths, which contradicts net.kind = \"{}\": it takes exactly 1, "
        "as in [128]",
        net.hidden.size(), NameOf(net.kind));
  }
  if (net.critic == Critic::kSeparate && net.stages > 1) {
    Add(found, {"net.critic", "net.stages"},
        "net.critic = \"separate\" contradicts net.stages = {}: stages cut one stack of layers, "
        "and these are two; set net.critic = \"shared\" or net.stages = 1",
        net.stages);
  }
}

// What only Starling's own actors do contradicts programs of the user's.
void CheckExternal(const Config& config, Contradictions& found) {
  if (!config.net.external()) {
    const auto refuse = [&](const char* key) {
      Add(found, {key, "net.kind"},
          "{} contradicts net.kind = \"{}\": it is for \"external\", a net of your own programs",
          key, NameOf(config.net.kind));
    };
    if (!config.net.initial.empty()) refuse("net.initial");
    if (!config.actors.command.empty()) refuse("actors.command");
    return;
  }
  if (config.net.initial.empty()) {
    Add(found, {"net.initial", "net.kind"},
        "net.kind = \"external\" needs net.initial, a safetensors file with the first weights: its "
        "names and shapes are the net");
  }
  const auto refuse = [&](bool wrong, const std::string& key, const std::string& value,
                          const char* why) {
    if (!wrong) return;
    Add(found, {key, "net.kind"}, "{} = {} contradicts net.kind = \"external\": {}", key, value,
        why);
  };
  constexpr const char* kTheirs = "your own programs choose the loss and compute the gradients";
  const UpdatesConfig& updates = config.updates;
  refuse(config.loss.kind == LossKind::kPpo, "loss.kind", "\"ppo\"", kTheirs);
  refuse(updates.epochs > 1, "updates.epochs", fmt::format("{}", updates.epochs), kTheirs);
  refuse(updates.minibatches > 1, "updates.minibatches", fmt::format("{}", updates.minibatches),
         kTheirs);
  refuse(config.env.normalize_observations, "env.normalize_observations", "true",
         "your own programs see the observations");
  refuse(config.env.normalize_rewards, "env.normalize_rewards", "true",
         "your own programs see the rewards");
  refuse(config.net.stages > 1, "net.stages", fmt::format("{}", config.net.stages),
         "your own programs compute it");
  refuse(updates.exchange == Exchange::kAllreduce, "updates.exchange", "\"allreduce\"",
         "ranks compute nets that Starling knows");
  refuse(config.learner.shards > 1, "learner.shards", fmt::format("{}", config.learner.shards),
         "the checkpoints of shards do not hold the names of its tensors");
  const bool no_samples = std::ranges::count(config.automatic, "optimizer.lr_samples") > 0;
  refuse(config.optimizer.scale_lr != LrScaling::kNone && no_samples, "optimizer.scale_lr",
         fmt::format("\"{}\"", NameOf(config.optimizer.scale_lr)),
         "how many samples a gradient of your own programs has is not known here; set "
         "optimizer.lr_samples");
  refuse(config.eval.every_steps > 0, "eval.every_steps",
         fmt::format("{}", config.eval.every_steps),
         "only your own programs can play with it; leave it out");
  refuse(config.checkpoint.exact == Exactness::kTrue, "checkpoint.exact", "true",
         "the states of your own programs are not known here");
}

void CheckEnv(const Config& config, Contradictions& found) {
  const EnvConfig& env = config.env;
  if (env.max_pool && env.repeat < 2) {
    Add(found, {"env.max_pool", "env.repeat"},
        "env.max_pool = true contradicts env.repeat = 1: it takes the maximum of the last two "
        "of the repeated frames, so repeat at least 2");
  }
  if (env.step_jitter > 0 && env.step_ms == 0) {
    Add(found, {"env.step_jitter", "env.step_ms"},
        "env.step_jitter = {} contradicts env.step_ms = 0, under which there is no pace to "
        "vary",
        env.step_jitter);
  }
  // Even the fastest unroll would exceed the deadline of its grant.
  const double unroll_s =
      env.step_ms * (1 - env.step_jitter) * static_cast<double>(config.actors.unroll) / 1000;
  if (unroll_s >= config.staleness.deadline_s) {
    Add(found, {"env.step_ms", "staleness.deadline_s"},
        "env.step_ms = {} contradicts staleness.deadline_s = {}: an unroll of {} steps takes "
        "{:.4g} s at least, and its grant has ended by then",
        env.step_ms, config.staleness.deadline_s, config.actors.unroll, unroll_s);
  }
}

void CheckActors(const Config& config, Contradictions& found) {
  const ActorsConfig& actors = config.actors;
  if (actors.env_device == DeviceChoice::kCuda && actors.backend == DeviceChoice::kCpu) {
    Add(found, {"actors.env_device", "actors.backend"},
        "actors.env_device = \"cuda\" contradicts actors.backend = \"cpu\": games on a GPU "
        "are for a net on the same GPU: set actors.backend = \"cuda\", or actors.env_device = "
        "\"auto\"");
  }
  if (config.net.precision == Precision::kTf32 && actors.backend == DeviceChoice::kCpu) {
    Add(found, {"net.precision", "actors.backend"},
        "net.precision = \"tf32\" contradicts actors.backend = \"cpu\": only GPUs multiply "
        "it; use \"f32\"");
  }
  if (actors.groups > actors.envs_per_actor) {
    Add(found, {"actors.groups", "actors.envs_per_actor"},
        "actors.groups = {} contradicts actors.envs_per_actor = {}: a group has at least one "
        "environment",
        actors.groups, actors.envs_per_actor);
  }
  if (config.net.stages > actors.groups) {
    Add(found, {"net.stages", "actors.groups"},
        "net.stages = {} contradicts actors.groups = {}: each stage works on another group of "
        "environments, so set actors.groups = {} or more",
        config.net.stages, actors.groups, config.net.stages);
  }
  if (config.samples_per_unroll() > kMaxSamples) {
    Add(found, {"actors.envs_per_actor", "actors.unroll"},
        "actors.envs_per_actor = {} contradicts actors.unroll = {}: their product, the samples "
        "of one unroll, may be at most {}, because what the net computed for them stays in memory",
        actors.envs_per_actor, actors.unroll, kMaxSamples);
  }
}

void CheckWire(const WireConfig& wire, Contradictions& found) {
  if (wire.heartbeat_ms * 2 > wire.timeout_s * 1000) {
    Add(found, {"wire.heartbeat_ms", "wire.timeout_s"},
        "wire.heartbeat_ms = {} contradicts wire.timeout_s = {}: at least two beats must fit "
        "into the timeout",
        wire.heartbeat_ms, wire.timeout_s);
  }
  if (wire.secret.empty() != wire.allowed.empty()) {
    Add(found, {"wire.secret", "wire.allowed"},
        "wire.secret = \"{}\" contradicts wire.allowed = \"{}\": keys need both, the "
        "learner's own and the list of the allowed ones",
        wire.secret, wire.allowed);
  }
  // Keys and an address are for tcp only.
  if (OverTcp(wire)) return;
  if (!wire.secret.empty()) {
    Add(found, {"wire.secret", "wire.endpoint"},
        "wire.secret = \"{}\" contradicts wire.endpoint = \"{}\": only tcp has keys; the "
        "permissions of its file guard an ipc socket",
        wire.secret, wire.endpoint);
  }
  if (!wire.address.empty()) {
    Add(found, {"wire.address", "wire.endpoint"},
        "wire.address = \"{}\" contradicts wire.endpoint = \"{}\": other machines reach this "
        "one over tcp only",
        wire.address, wire.endpoint);
  }
}

// Returns the port of a tcp endpoint, or 0 for any free port and for other endpoints.
std::int64_t TcpPort(std::string_view endpoint) {
  if (!endpoint.starts_with("tcp://")) return 0;
  const auto port = ParseNumber(endpoint.substr(endpoint.rfind(':') + 1));
  return static_cast<std::int64_t>(port.value_or(0));
}

void CheckLearner(const Config& config, Contradictions& found) {
  if (config.learner.shards > 1 && config.learner.apply == ApplyMode::kHogwild) {
    Add(found, {"learner.shards", "learner.apply"},
        "learner.shards = {} contradicts learner.apply = \"hogwild\": shards apply the same "
        "updates in the same order, so use \"lanes\"",
        config.learner.shards);
  }
  if (config.checkpoint.exact == Exactness::kTrue && config.learner.apply == ApplyMode::kHogwild) {
    Add(found, {"checkpoint.exact", "learner.apply"},
        "checkpoint.exact = true contradicts learner.apply = \"hogwild\", whose updates no run "
        "repeats; use \"lanes\"");
  }
  const std::int64_t first = TcpPort(config.wire.endpoint);
  if (first > 0 && first + config.learner.shards - 1 > kMaxPort) {
    Add(found, {"learner.shards", "wire.endpoint"},
        "learner.shards = {} contradicts wire.endpoint = \"{}\": each shard takes a port "
        "after the learner's, and {} is the last there is",
        config.learner.shards, config.wire.endpoint, kMaxPort);
  }
}

void CheckStatus(const Config& config, Contradictions& found) {
  const std::int64_t first = TcpPort(config.wire.endpoint), port = config.status.port;
  if (port == 0 || first == 0 || port < first || port >= first + config.learner.shards) return;
  Add(found, {"status.port", "wire.endpoint"},
      "status.port = {} contradicts wire.endpoint = \"{}\": that is {} that actors connect to",
      port, config.wire.endpoint, config.learner.shards > 1 ? "one of the ports" : "the port");
}

}  // namespace

std::vector<Contradiction> FindContradictions(const Config& config) {
  Contradictions found;
  CheckUpdates(config, found);
  CheckReuse(config, found);
  CheckNet(config.net, found);
  CheckExternal(config, found);
  CheckEnv(config, found);
  CheckActors(config, found);
  CheckWire(config.wire, found);
  CheckLearner(config, found);
  CheckStatus(config, found);
  CheckOptimizer(config.optimizer, found);
  CheckSchedules(config, found);
  return found;
}

}  // namespace starling
