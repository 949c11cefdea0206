// The configuration of a run: plain typed structs, one per TOML section, with their defaults.
// configs/reference.toml explains every key; core/config/config_schema.cc is the one table that
// ties keys, ranges and members together. A Config that LoadConfig returned is valid and is not
// checked again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/words.h"

namespace starling {

inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kNoDelay = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::int64_t kMaxInFlight = 16;                           // grants of an actor
inline constexpr double kNever = std::numeric_limits<double>::infinity();  // no return is so high
// Limit of ToToml(config), which each actor receives in one message.
inline constexpr std::size_t kMaxConfigBytes = 48 * 1024;
// Limit of the samples of one gradient, whose activations stay in memory.
inline constexpr std::int64_t kMaxSamples = 1'000'000;

struct RunConfig {
  std::string name;  // default: the config file's name without .toml
  std::uint64_t seed = 1;
  // Environment steps over all actors. The run ends at the first update that reaches them.
  std::uint64_t steps = 5'000'000;
  // It ends before at the first update after which the last 100 episodes have this mean return.
  double until_return = kNever;  // "never" or a number
  std::string dir;               // default: runs/<name>
  std::string init_from{};       // run or checkpoint with the first weights; "" = none
  double metrics_s = 1;          // seconds between two lines of metrics.jsonl
  bool tensorboard = true;       // also write event files for TensorBoard
  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

inline constexpr const char* kExternalEnv = "external";  // env.name, where nobody has named it

struct EnvConfig {
  std::string name = "minatar/breakout";
  double sticky_actions = -1;  // chance that a frame repeats the last action; -1 is "auto"
  bool ramping = true;         // games that can become harder do
  ActionSet action_set = ActionSet::kFull;
  ActionBounds action_bounds = ActionBounds::kClip;

  // The wrappers, in the order in which they are applied (envs/wrappers).
  std::int64_t noop_max = 0;    // an episode begins with 1 to noop_max no-ops; 0 = none
  std::int64_t repeat = 1;      // frames per action
  bool max_pool = false;        // observe the maximum of the last two frames
  bool life_loss_ends = false;  // a lost life ends the episode for training
  std::int64_t time_limit = 0;  // agent steps in an episode; 0 = no limit
  double reward_clip = 0;       // clip rewards to [-reward_clip, reward_clip]; 0 = off
  bool pixels = false;          // observe 84 x 84 grey pixels
  std::int64_t stack = 1;       // frames in an observation

  // By running statistics of all actors (actors/normalizer.h).
  bool normalize_observations = false, normalize_rewards = false;

  // Pace of training actors (envs/paced.h).
  double step_ms = 0;      // minimum duration of a step of all envs of an actor; 0 = none
  double step_jitter = 0;  // an unroll's pace is uniform in step_ms x [1 - jitter, 1 + jitter]

  // Envs in separate processes (ale:, gym:, plugin: with isolate).
  std::string python = "auto";  // interpreter with gymnasium, ale_py
  std::string options{};        // JSON object: keyword arguments of the env
  std::int64_t per_process = 8;
  double timeout_s = 5;  // limit for a step
  bool isolate = false;  // run a plugin in a separate process
  friend bool operator==(const EnvConfig&, const EnvConfig&) = default;
};

struct ActorsConfig {
  std::int64_t count = 0;  // 0 is "auto": one per core or GPU; resolved by LoadConfig
  std::int64_t envs_per_actor = 32;
  std::int64_t groups = 1;                          // of these envs
  std::int64_t unroll = 5;                          // steps per env in one gradient
  DeviceChoice backend = DeviceChoice::kCpu;        // device of the net; kAuto: ChooseBackend
  DeviceChoice env_device = DeviceChoice::kAuto;    // device of the envs
  Instructions instructions = Instructions::kAuto;  // of nets on the processor
  std::vector<std::string> command{};               // starts one, where the net is external
  friend bool operator==(const ActorsConfig&, const ActorsConfig&) = default;
};

struct NetConfig {
  NetKind kind = NetKind::kAuto;  // kAuto: kLayers if `layers` is not empty, else kMinatar
  std::vector<std::int64_t> hidden = {128};  // widths of fully connected layers; not of "layers"
  std::vector<std::string> layers{};         // the whole stack, bottom up (net/stack.h)
  std::vector<std::string> entries{};        // "NAME: LAYER, LAYER ..." of observed arrays
  std::string initial{};                     // file with the weights of an external one; "" = none
  Critic critic = Critic::kShared;
  Deviation deviation = Deviation::kParameter;
  double deviation_init = 1;  // of a policy over a box, at the start
  Initialisation init = Initialisation::kOrthogonal;
  Precision precision = Precision::kF32;
  std::int64_t stages = 1;
  bool external() const { return kind == NetKind::kExternal; }
  friend bool operator==(const NetConfig&, const NetConfig&) = default;
};

struct LossConfig {
  LossKind kind = LossKind::kA2c;
  double gamma = 0.99;
  double gae_lambda = 0.8;
  double value_coef = 0.5;
  double entropy = 0.03;      // at step 0
  double entropy_end = 0.01;  // at run.steps
  EntropySchedule entropy_schedule = EntropySchedule::kLinear;
  LossReduction reduction = LossReduction::kMean;
  bool normalize_advantage = false;          // over the samples of a gradient
  double clip = 0.2, value_clip = 0;         // ppo; value_clip 0 = off
  Proximal proximal = Proximal::kBehaviour;  // ppo
  friend bool operator==(const LossConfig&, const LossConfig&) = default;
};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kRmsProp;
  double lr = 3e-3;
  LrSchedule lr_schedule = LrSchedule::kLinear;
  std::int64_t warmup_steps = 0;  // environment steps in which the learning rate rises from 0
  double momentum = 0;            // sgd, rmsprop
  double decay = 0.99;
  double epsilon = 1e-5;
  EpsilonPlace epsilon_place = EpsilonPlace::kOutside;
  bool centered = false;  // rmsprop: divides by the deviation from the mean gradient
  bool bias_correction = true;
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double clip_norm = 0.5;             // global norm, in the actor; 0 = off
  LrScaling scale_lr = LrScaling::kNone;
  std::int64_t lr_samples = 0;  // of the updates that lr is for; 0 is "auto" = those of a gradient
  friend bool operator==(const OptimizerConfig&, const OptimizerConfig&) = default;
};

struct UpdatesConfig {
  Exchange exchange = Exchange::kLearner;  // who adds gradients up: a learner, or all ranks
  std::int64_t gradients = 1;  // K: gradients in one update; 0 is "auto" = ceil(N / (bound + 1))
  std::int64_t in_flight = 0;  // grants of an actor; 0 is "auto": 2, over tcp 3, if the bound fits
  std::int64_t epochs = 1, minibatches = 1;  // E, M: an unroll gives E x M gradients
  Shuffle shuffle = Shuffle::kEnvs;
  std::int64_t start_with = 0;  // 0 is "auto" = actors.count
  double start_timeout_s = 30;
  double max_norm = 1e4;  // the learner refuses gradients with a larger global norm
  friend bool operator==(const UpdatesConfig&, const UpdatesConfig&) = default;
};

struct StalenessConfig {
  std::uint64_t bound = kUnbounded;  // "unbounded" or an integer >= 0
  OnExceed on_exceed = OnExceed::kWait;
  std::uint64_t delay = kNoDelay;  // "none" or d: the staleness of every gradient
  Damping damping = Damping::kNone;
  Correction correction = Correction::kNone;
  double compensation = -1;  // lambda of delay compensation; -1 is "auto"
  double deadline_s = 30;    // lifetime of a grant that is not spent
  bool delayed() const { return delay != kNoDelay; }
  // Gradients that are under way at a time where each waits for its turn: K for each of d + 1
  // versions. REQUIRES: delayed().
  std::uint64_t under_way(std::int64_t gradients) const {
    return static_cast<std::uint64_t>(gradients) * (delay + 1);
  }
  friend bool operator==(const StalenessConfig&, const StalenessConfig&) = default;
};

struct LearnerConfig {
  ApplyMode apply = ApplyMode::kLanes;
  std::int64_t threads = 1;  // threads that apply updates
  std::int64_t shards = 1;
  std::int64_t hash_every = 1000;  // updates between two hashes of the weights in the journal
  friend bool operator==(const LearnerConfig&, const LearnerConfig&) = default;
};

struct WireConfig {
  // "auto" (ipc in the private runtime directory), "ipc://path", "tcp://host:port" (port 0 = any)
  std::string endpoint = "auto";
  std::string secret;   // file with the learner's secret CURVE key (wire/keys.h); "" = none
  std::string allowed;  // directory with the public keys of allowed peers; "" = none
  std::string address;  // host name for other machines, written to RUN/endpoint; "" = none
  NumberType gradient = NumberType::kF32, weights = NumberType::kF32;
  double fetch_after_ms = 20;
  double heartbeat_ms = 500;
  double timeout_s = 10;          // silence after which a peer counts as dead
  double connect_timeout_s = 60;  // how long an actor waits for a learner that has not started
  std::int64_t io_threads = 0;    // of each learner process; 0 is "auto" (IoThreads)
  std::string runtime_dir;        // "" = $XDG_RUNTIME_DIR, /dev/shm or /tmp, + /starling-<uid>
  friend bool operator==(const WireConfig&, const WireConfig&) = default;
};

struct CheckpointConfig {
  std::int64_t every_steps = 500'000;
  double every_s = 0;  // 0 = off
  std::int64_t keep = 3;
  Exactness exact = Exactness::kAuto;
  double cut_s = 1;    // grants are withheld for a cut at most so long
  double redo_s = 30;  // longest estimated time to do the updates since the last cut again
  friend bool operator==(const CheckpointConfig&, const CheckpointConfig&) = default;
};

struct JournalConfig {
  double keep = -1;  // GB; -1 is "all"
  std::uint64_t max_bytes() const {
    return keep < 0 ? std::numeric_limits<std::uint64_t>::max()
                    : static_cast<std::uint64_t>(keep * 1e9);
  }
  friend bool operator==(const JournalConfig&, const JournalConfig&) = default;
};

// Evaluation during training.
struct EvalConfig {
  std::int64_t every_steps = 0;  // 0 = off
  std::int64_t episodes = 100;
  bool greedy = false;  // take the most probable action instead of sampling
  friend bool operator==(const EvalConfig&, const EvalConfig&) = default;
};

// Durations in the fleet of `starling simulate`, its only user.
struct SimulateConfig {
  double compute_ms = 3;        // one unroll and its gradient
  double compute_spread = 0.1;  // an unroll takes compute_ms x [1 - spread, 1 + spread], uniform
  double refresh_ms = 0.1;      // an actor's copy of newer weights
  double network_ms = 0.1;      // a message, one way
  double receive_ms = 0.1;      // the learner's network thread, per gradient
  double apply_ms = 0.1;        // the learner's lanes, for an update of one gradient
  double merge_ms = 0.05;       // the lanes, for each further gradient in the update
  std::int64_t stragglers = 0;  // actors whose unrolls take straggler_factor times as long
  double straggler_factor = 10;
  double delayed_share = 0;  // share of gradients that need delayed_factor times network_ms
  double delayed_factor = 20;
  friend bool operator==(const SimulateConfig&, const SimulateConfig&) = default;
};

struct StatusConfig {
  std::int64_t port = 0;           // port of the status pages; 0 = off
  std::string bind = "127.0.0.1";  // address of this machine where they are served
  std::string token_file;          // file with the token that a reader must show; "" = none
  friend bool operator==(const StatusConfig&, const StatusConfig&) = default;
};

struct Config {
  RunConfig run;
  EnvConfig env;
  ActorsConfig actors;
  NetConfig net;
  LossConfig loss;
  OptimizerConfig optimizer;
  UpdatesConfig updates;
  StalenessConfig staleness;
  LearnerConfig learner;
  WireConfig wire;
  CheckpointConfig checkpoint;
  JournalConfig journal;
  EvalConfig eval;
  SimulateConfig simulate;
  StatusConfig status;

  // The keys, as "updates.in_flight", that are "auto" and have the value that LoadConfig worked out
  // from other keys. ToToml writes "auto" for them, so that a resumed run works them out again.
  std::vector<std::string> automatic{};

  std::int64_t samples_per_unroll() const { return actors.envs_per_actor * actors.unroll; }
  std::int64_t samples_per_gradient() const { return samples_per_unroll() / updates.minibatches; }
  // Environments or samples (updates.shuffle) that are dealt out to minibatches, to each as many.
  std::int64_t shuffled_units() const {
    return updates.shuffle == Shuffle::kEnvs ? actors.envs_per_actor : samples_per_unroll();
  }
  std::int64_t gradients_per_unroll() const { return updates.epochs * updates.minibatches; }
  // Whether gradients are computed on newer weights than those that played the unroll.
  bool reuses_data() const { return loss.kind == LossKind::kPpo || gradients_per_unroll() > 1; }
  friend bool operator==(const Config&, const Config&) = default;
};

// Where each key of a Config was set, for programs that find a mistake later (an unknown
// environment).
struct ConfigSource {
  std::map<std::string, std::string, std::less<>> where;

  // "file:line:column" or "--set section.key=value" for `key` = "section.key"; "" for a default.
  std::string Where(std::string_view key) const;
};

// Keys that contradict each other although each value is allowed. The message points at the first
// of the keys that was set.
struct Contradiction {
  std::vector<std::string> keys;
  std::string sentence;
};
// Finds contradictions that core cannot check: games, nets, sockets.
using ConfigCheck = std::function<std::vector<Contradiction>(const Config& resolved)>;

// Reads `path`, applies each override ("section.key=value"; the value is TOML, a bare word is a
// string), resolves "auto" values (cores, names, directories), and checks types, ranges and
// contradictions, including those that `check` finds. Throws UserError with every mistake, one line
// each: "file:line:column: the value, the allowed values, the nearest known name"; the place of a
// mistake in an override is "--set section.key=...". Fills `source`, if given.
Config LoadConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides = {},
                  ConfigSource* source = nullptr, const ConfigCheck& check = {});

// The same from text; `name` takes the place of the file's path.
Config ParseConfig(const std::string& text, const std::string& name,
                   const std::vector<std::string>& overrides = {}, ConfigSource* source = nullptr,
                   const ConfigCheck& check = {});

// One key of a configuration.
struct ConfigValue {
  std::string section, key, toml;  // "staleness", "bound", `4`
};
// Every key, in the order of the schema; those that are `automatic` with their values.
std::vector<ConfigValue> ConfigValues(const Config& config);

// Returns "optimizer.lr is 0.003 there and 0.001 here; ..." for the keys in which two
// configurations differ and which `count` (by default all), except run.name and run.dir; or "".
std::string Difference(const Config& there, const Config& here,
                       const std::function<bool(const std::string& key)>& count = {});

// The whole effective configuration as TOML that ParseConfig reads back to an equal Config: values
// that were "auto" stay so if other keys determine them, and actors.count, which is of a machine,
// is written as a number.
std::string ToToml(const Config& config);

}  // namespace starling
