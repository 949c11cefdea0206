// The configuration's words: an enum for each key whose value is one of a few names, and WordsOf(),
// the names in the order of the enumerators. Files, messages and command lines use these names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace starling {

// env.action_set
enum class ActionSet : std::uint8_t { kFull, kMinimal };
constexpr auto WordsOf(ActionSet) { return std::array{"full", "minimal"}; }

// env.action_bounds: how a point of the whole space gets into a box of actions.
enum class ActionBounds : std::uint8_t { kClip, kTanh };
constexpr auto WordsOf(ActionBounds) { return std::array{"clip", "tanh"}; }

// actors.backend, actors.env_device
enum class DeviceChoice : std::uint8_t { kAuto, kCpu, kCuda };
constexpr auto WordsOf(DeviceChoice) { return std::array{"auto", "cpu", "cuda"}; }

// actors.instructions (core/instructions.h). kAvx2: x86-64-v3. kAvx512: x86-64-v4. kAmx: that,
// avx512_bf16 and amx_bf16. LoadConfig resolves kAuto.
enum class Instructions : std::uint8_t { kAuto, kNative, kAvx2, kAvx512, kAmx };
constexpr auto WordsOf(Instructions) {
  return std::array{"auto", "native", "avx2", "avx512", "amx"};
}

// net.kind: kLayers is the stack of net.layers, kExternal a net of the user's own programs, which
// no part of Starling computes, every other kind a fixed one (net/stack.cc). LoadConfig resolves
// kAuto.
enum class NetKind : std::uint8_t {
  kAuto,
  kMinatar,
  kAtari,
  kAtariLstm,
  kNature,
  kImpala,
  kMlp,
  kLayers,
  kExternal
};
constexpr auto WordsOf(NetKind) {
  return std::array{"auto",   "minatar", "atari",  "atari_lstm", "nature",
                    "impala", "mlp",     "layers", "external"};
}

// net.init
enum class Initialisation : std::uint8_t { kOrthogonal, kKaiming, kFanIn };
constexpr auto WordsOf(Initialisation) { return std::array{"orthogonal", "kaiming", "fan_in"}; }

// net.critic: whether the value head stands on the policy's layers or on its own copy of them.
enum class Critic : std::uint8_t { kShared, kSeparate };
constexpr auto WordsOf(Critic) { return std::array{"shared", "separate"}; }

// net.deviation of a policy over a box: parameters of the net, or functions of the observation.
enum class Deviation : std::uint8_t { kParameter, kPredicted };
constexpr auto WordsOf(Deviation) { return std::array{"parameter", "predicted"}; }

// net.precision, of the factors of large products; sums are always f32. kTf32 keeps 10 of 23 bits,
// on GPUs only.
enum class Precision : std::uint8_t { kF32, kBf16, kTf32 };
constexpr auto WordsOf(Precision) { return std::array{"f32", "bf16", "tf32"}; }

// loss.kind
enum class LossKind : std::uint8_t { kA2c, kPpo };
constexpr auto WordsOf(LossKind) { return std::array{"a2c", "ppo"}; }

// loss.proximal: the policy that the ratio of PPO is taken against. kBehaviour: the one that
// played; kGrant: that of the weights at the first gradient of the unroll.
enum class Proximal : std::uint8_t { kBehaviour, kGrant };
constexpr auto WordsOf(Proximal) { return std::array{"behaviour", "grant"}; }

// updates.shuffle: whether minibatches get whole environments or single samples.
enum class Shuffle : std::uint8_t { kEnvs, kSamples };
constexpr auto WordsOf(Shuffle) { return std::array{"envs", "samples"}; }

// loss.entropy_schedule
enum class EntropySchedule : std::uint8_t { kLinear, kExponential, kConstant };
constexpr auto WordsOf(EntropySchedule) { return std::array{"linear", "exponential", "constant"}; }

// loss.reduction: the gradient of kSum is `unroll` times that of kMean.
enum class LossReduction : std::uint8_t { kMean, kSum };
constexpr auto WordsOf(LossReduction) { return std::array{"mean", "sum"}; }

// optimizer.kind
enum class OptimizerKind : std::uint8_t { kRmsProp, kAdam, kSgd };
constexpr auto WordsOf(OptimizerKind) { return std::array{"rmsprop", "adam", "sgd"}; }

// optimizer.lr_schedule: kLinear falls to 0 at run.steps.
enum class LrSchedule : std::uint8_t { kLinear, kConstant };
constexpr auto WordsOf(LrSchedule) { return std::array{"linear", "constant"}; }

// optimizer.epsilon_place: outside or inside (the A3C paper) the square root
enum class EpsilonPlace : std::uint8_t { kOutside, kInside };
constexpr auto WordsOf(EpsilonPlace) { return std::array{"outside", "inside"}; }

// optimizer.scale_lr
enum class LrScaling : std::uint8_t { kNone, kLinear, kSqrt };
constexpr auto WordsOf(LrScaling) { return std::array{"none", "linear", "sqrt"}; }

// staleness.on_exceed
enum class OnExceed : std::uint8_t { kWait, kDrop };
constexpr auto WordsOf(OnExceed) { return std::array{"wait", "drop"}; }

// staleness.damping
enum class Damping : std::uint8_t { kNone, kInverse, kSqrt };
constexpr auto WordsOf(Damping) { return std::array{"none", "inverse", "sqrt"}; }

// staleness.correction (learner/apply/correction.h)
enum class Correction : std::uint8_t { kNone, kDelayCompensated, kDelayCompensatedAdaptive, kGap };
constexpr auto WordsOf(Correction) {
  return std::array{"none", "delay_compensated", "delay_compensated_adaptive", "gap"};
}

// updates.exchange
enum class Exchange : std::uint8_t { kLearner, kAllreduce };
constexpr auto WordsOf(Exchange) { return std::array{"learner", "allreduce"}; }

// learner.apply
enum class ApplyMode : std::uint8_t { kLanes, kHogwild };
constexpr auto WordsOf(ApplyMode) { return std::array{"lanes", "hogwild"}; }

// checkpoint.exact; kAuto: wherever the envs can be saved
enum class Exactness : std::uint8_t { kAuto, kTrue, kFalse };
constexpr auto WordsOf(Exactness) { return std::array{"auto", "true", "false"}; }

// wire.gradient, wire.weights
enum class NumberType : std::uint8_t { kF32, kBf16 };
constexpr auto WordsOf(NumberType) { return std::array{"f32", "bf16"}; }

// An enum of this header.
template <class Enum>
concept WordEnum = requires(Enum value) {
  WordsOf(value);
};

constexpr const char* NameOf(WordEnum auto value) {
  return WordsOf(value)[static_cast<std::size_t>(value)];
}

// Returns the value with this name, or nullopt if there is none.
template <WordEnum Enum>
constexpr std::optional<Enum> FindWord(std::string_view name) {
  const auto words = WordsOf(Enum{});
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace starling
