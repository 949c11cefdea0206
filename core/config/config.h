// The configuration of a run: plain typed structs, one per TOML section, with their defaults.
// configs/reference.toml explains every key; core/config/config_schema.cc is the one table that ties keys,
// ranges and members together. A Config that Load returned is valid: nothing below re-checks it.
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

namespace starling {

inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
// Of ToToml(config): a run's configuration is sent to each actor in one message.
inline constexpr std::size_t kMostConfigBytes = 48 * 1024;
// Of one gradient: their activations stay in memory.
inline constexpr std::int64_t kMostSamples = 1'000'000;

struct RunConfig {
  std::string name;  // default: the config file's name without .toml
  std::uint64_t seed = 1;
  std::uint64_t steps =
      5'000'000;            // environment steps over all actors; ends at the first update >= it
  std::string dir;          // default: runs/<name>
  std::string init_from{};  // a run or checkpoint whose weights a new run starts with; "" = none
  double metrics_s = 1;     // between two lines of metrics.jsonl
  bool tensorboard = true;  // event files for TensorBoard, beside metrics.jsonl

  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

struct EnvConfig {
  std::string name = "minatar/breakout";
  double sticky_actions = -1;       // chance that a frame repeats the last action; "auto" (-1 here)
  bool ramping = true;              // games grow harder, where they can
  std::string action_set = "full";  // "full", "minimal"

  // The wrappers, in the order in which they work (envs/wrappers).
  std::int64_t noop_max = 0;    // no-ops before an episode begins: 1 to noop_max of them
  std::int64_t repeat = 1;      // frames an action is repeated for
  bool max_pool = false;        // the maximum of the last two frames is seen
  bool life_loss_ends = false;  // a lost life is an end to the one who trains
  std::int64_t time_limit = 0;  // steps of the agent in an episode; 0 = no limit
  double reward_clip = 0;       // rewards are cut to [-reward_clip, reward_clip]; 0 = off
  bool pixels = false;          // 84 x 84 grey
  std::int64_t stack = 1;       // frames seen at once

  // The pace at which actors play (envs/paced.h); nobody else keeps it.
  double step_ms = 0;      // that a step of an actor's envs takes at least; 0 = as fast as they can
  double step_jitter = 0;  // each unroll's pace is uniform within step_ms +- this share of it

  // Envs in processes of their own (gym:, plugin: with isolate).
  std::string python = "auto";  // the interpreter with gymnasium
  std::string options{};        // JSON object: keyword arguments of gymnasium.make
  std::int64_t per_process = 8;
  double timeout_s = 5;  // a step that takes longer is given up
  bool isolate = false;  // plugin: in a process of its own

  friend bool operator==(const EnvConfig&, const EnvConfig&) = default;
};

struct ActorsConfig {
  std::int64_t count = 0;  // "auto" (0 here) = cores, or GPUs; resolved by Load
  std::int64_t envs_per_actor = 32;
  std::int64_t unroll = 5;          // steps per env in one gradient
  std::string backend = "cpu";      // what computes the net: "cpu", "cuda", "auto" (cuda if it can)
  std::string env_device = "auto";  // where the env is played: "auto", "cpu", "cuda"

  friend bool operator==(const ActorsConfig&, const ActorsConfig&) = default;
};

struct NetConfig {
  // "minatar", "atari", "atari_lstm", "nature", "mlp", or "layers"; "auto" = "layers" if there are
  // any, else "minatar"; resolved by Load
  std::string kind = "auto";
  std::vector<std::int64_t> hidden = {128};  // widths of the fully connected layers of such a kind
  std::vector<std::string> layers{};         // the whole stack, bottom up (net/stack.h)
  std::string init = "orthogonal";           // "orthogonal", "kaiming", "fan_in"
  std::string precision = "f32";             // "f32", "bf16", "tf32"
  std::int64_t stages = 1;

  friend bool operator==(const NetConfig&, const NetConfig&) = default;
};

struct LossConfig {
  double gamma = 0.99;
  double gae_lambda = 0.8;
  double value_coef = 0.5;
  double entropy = 0.03;                    // at step 0
  double entropy_end = 0.01;                // at run.steps
  std::string entropy_schedule = "linear";  // "linear", "exponential", "constant" (entropy)
  std::string reduction = "mean";           // "mean", "sum" (multiplies the gradient by the unroll)

  friend bool operator==(const LossConfig&, const LossConfig&) = default;
};

struct OptimizerConfig {
  std::string kind = "rmsprop";  // "rmsprop", "adam", "sgd"
  double lr = 3e-3;
  std::string lr_schedule = "linear";  // "linear" (to 0 at run.steps), "constant"
  std::int64_t warmup_steps = 0;       // the learning rate rises from 0 over so many
  double momentum = 0;                 // sgd, rmsprop
  double decay = 0.99;
  double epsilon = 1e-5;
  std::string epsilon_place =
      "outside";          // "outside", "inside" the square root (as in the A3C paper)
  bool centered = false;  // rmsprop: divides by the deviation from the mean gradient
  bool bias_correction = true;
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double clip_norm = 0.5;             // global norm, in the actor; 0 = off
  std::string scale_lr = "none";      // "none", "linear"

  friend bool operator==(const OptimizerConfig&, const OptimizerConfig&) = default;
};

struct UpdatesConfig {
  std::int64_t gradients =
      1;  // K: gradients wanted in one update; "auto" (0 here) = ceil(N / (bound + 1))
  std::int64_t in_flight = 0;   // grants an actor holds; "auto" (0 here) = 2 where the bound allows
  std::int64_t start_with = 0;  // "auto" (0 here) = actors.count
  double start_timeout_s = 30;
  double max_norm = 1e4;  // gradients with a larger global norm are refused

  friend bool operator==(const UpdatesConfig&, const UpdatesConfig&) = default;
};

struct StalenessConfig {
  std::uint64_t bound = kUnbounded;  // "unbounded" or an integer >= 0
  std::string on_exceed = "wait";    // "wait", "drop"
  std::string damping = "none";      // "none", "inverse"
  double deadline_s = 30;            // a grant not spent for so long ends

  friend bool operator==(const StalenessConfig&, const StalenessConfig&) = default;
};

struct LearnerConfig {
  std::string apply = "lanes";  // "lanes", "hogwild"
  std::int64_t threads = 1;     // that apply
  std::int64_t shards = 1;
  std::int64_t hash_every = 1000;  // updates between two hashes of the weights in the journal

  friend bool operator==(const LearnerConfig&, const LearnerConfig&) = default;
};

struct WireConfig {
  std::string endpoint =
      "auto";  // "auto" (ipc in the private place), "ipc://path", "tcp://host:port" (port 0 = any)
  // Files of CURVE keys (wire/keys.h), "" = none: the learner's own, and the directory of those who may
  // come in.
  std::string secret, allowed;
  std::string address;  // under which others reach this machine; not "": RUN/endpoint says it
  std::string gradient = "f32";
  double fetch_after_ms = 20;
  double heartbeat_ms = 500;
  double timeout_s = 10;          // a peer silent for so long is given up
  double connect_timeout_s = 60;  // an actor started before its learner waits so long
  std::string runtime_dir;        // "" = $XDG_RUNTIME_DIR, /dev/shm or /tmp, + /starling-<uid>

  friend bool operator==(const WireConfig&, const WireConfig&) = default;
};

struct CheckpointConfig {
  std::int64_t every_steps = 500'000;
  std::int64_t keep = 3;

  friend bool operator==(const CheckpointConfig&, const CheckpointConfig&) = default;
};

// Evaluation while training goes on.
struct EvalConfig {
  std::int64_t every_steps = 0;  // 0 = off
  std::int64_t episodes = 100;
  bool greedy = false;  // the likeliest action instead of a drawn one

  friend bool operator==(const EvalConfig&, const EvalConfig&) = default;
};

// `starling simulate`: the time that things take in a fleet that is not there. Read by nothing else.
struct SimulateConfig {
  double compute_ms = 3;        // one unroll and its gradient
  double compute_spread = 0.1;  // uniform, +- this share of it, drawn for every unroll
  double refresh_ms = 0.1;      // taking newer weights
  double network_ms = 0.1;      // a message, one way
  double receive_ms = 0.1;      // the learner's network thread, for a gradient
  double apply_ms = 0.1;        // the learner's lanes, for an update of one gradient
  double merge_ms = 0.05;       // and for every further gradient in it
  std::int64_t stragglers = 0;  // actors whose unrolls take straggler_factor times as long
  double straggler_factor = 10;
  double delayed_share = 0;  // of the gradients, under way for delayed_factor times network_ms
  double delayed_factor = 20;

  friend bool operator==(const SimulateConfig&, const SimulateConfig&) = default;
};

struct StatusConfig {
  std::int64_t port = 0;  // of the status pages, on 127.0.0.1; 0: off

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
  EvalConfig eval;
  SimulateConfig simulate;
  StatusConfig status;

  std::int64_t samples_per_gradient() const { return actors.envs_per_actor * actors.unroll; }

  friend bool operator==(const Config&, const Config&) = default;
};

// Where each key of a Config was set, so that a program that finds a mistake later (an environment
// nobody knows) can still point at it.
struct ConfigSource {
  std::map<std::string, std::string, std::less<>> where;

  // "file:line:column" or "--set section.key=value" for `key` = "section.key"; "" for a default.
  std::string Where(std::string_view key) const;
};

// What is wrong between keys, each right by itself: the keys it depends on, the one to point at first.
struct Contradiction {
  std::vector<std::string> keys;
  std::string sentence;
};
// Finds what core cannot know of: games, nets, sockets.
using ConfigCheck = std::function<std::vector<Contradiction>(const Config& resolved)>;

// Reads `path`, applies each override ("section.key=value"; the value is TOML, a bare word a
// string), resolves what is "auto" (cores, names, directories), and checks types, ranges and
// contradictions. Throws UserError whose text lists every mistake, one line each:
// "file:line:column: what was found, what is allowed, nearest known name"; mistakes of an override
// are located at "--set section.key=...". `source`, if given, learns where every key was set; what
// `check` finds is a mistake like any other, unless one of its keys has a mistake of its own.
Config LoadConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides = {},
                  ConfigSource* source = nullptr, const ConfigCheck& check = {});

// The same from text; `name` stands where the file's path would.
Config ParseConfig(const std::string& text, const std::string& name,
                   const std::vector<std::string>& overrides = {}, ConfigSource* source = nullptr,
                   const ConfigCheck& check = {});

// The whole effective configuration as TOML that ParseConfig reads back to an equal Config.
std::string ToToml(const Config& config);

}  // namespace starling
