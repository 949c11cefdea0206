// The policies of starling.h.
#include <fmt/format.h>
#include <omp.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/model_spec.h"
#include "actors/policy.h"
#include "api/guard.h"
#include "api/quiet.h"
#include "api/starling.h"
#include "core/signals_blocked.h"
#include "net/stack.h"
#include "results/trained.h"

using starling::UserError;

// A member that is added to a struct must make it larger: there is no room behind the last one.
static_assert(sizeof(starling_policy_options) ==
                  offsetof(starling_policy_options, seed) + sizeof(std::uint64_t) &&
              sizeof(starling_spaces) == offsetof(starling_spaces, steps) + sizeof(std::uint64_t) &&
              sizeof(starling_array) == offsetof(starling_array, reserved) + sizeof(std::int32_t));

// What a handle stands for.
struct starling_policy {
  starling_policy(starling::results::TrainedPolicy of, const starling_policy_options& options)
      : trained(std::move(of)),
        envs(options.envs == 0 ? 1 : options.envs),
        policy(trained.config, trained.env, trained.checkpoint.weights, envs, options.seed,
               options.greedy != 0),
        taken(Size(envs * actions().width())) {
    for (const std::string& name : trained.env.action_names) names.push_back(name.c_str());
    for (const starling::ObservationEntry& entry : trained.env.entries) arrays.push_back(entry);
    if (arrays.empty()) {
      const auto& env = trained.env;
      arrays.push_back({"observation", env.height, env.width, env.channels, env.low, env.high});
    }
  }

  static std::size_t Size(int count) { return static_cast<std::size_t>(count); }
  const starling::ActionSpace& actions() const { return trained.env.actions; }
  std::size_t numbers() const { return Size(trained.env.obs_size()); }
  std::size_t mask() const { return Size(actions().mask()); }

  const starling::results::TrainedPolicy trained;
  const int envs;
  starling::actors::Policy policy;
  std::vector<std::int32_t> taken;  // (envs, width)
  std::vector<const char*> names;
  std::vector<starling::ObservationEntry> arrays;
  bool seen = false;  // an observation
};

namespace starling::api {
namespace {

constexpr int kMostEnvs = 1 << 20;

// While it lives, oneDNN computes in the calling thread alone. Then the number of OpenMP's threads
// and the stack of signal handlers are the caller's again (net/cpu/gemm.h sets both).
class AsGuest {
 public:
  AsGuest() {
    sigaltstack(nullptr, &stack_);
    omp_set_dynamic(0);
    omp_set_num_threads(1);
  }
  ~AsGuest() {
    omp_set_num_threads(threads_);
    omp_set_dynamic(dynamic_);
    sigaltstack(&stack_, nullptr);
  }
  AsGuest(const AsGuest&) = delete;
  AsGuest& operator=(const AsGuest&) = delete;

 private:
  const int dynamic_ = omp_get_dynamic(), threads_ = omp_get_max_threads();
  stack_t stack_{};
};

// Returns the place of the first number that is not finite, or numbers.size().
std::size_t FirstNotFinite(std::span<const float> numbers) {
  constexpr std::uint32_t kExponent = 0x7f800000;  // all ones: infinite, or not a number
  const auto exponent = [](float x) { return std::bit_cast<std::uint32_t>(x) & kExponent; };
  std::uint32_t largest = 0;  // without a branch, so that it is vectorised
  for (const float x : numbers) largest = std::max(largest, exponent(x));
  if (largest < kExponent) return numbers.size();
  const auto found = std::ranges::find(numbers, kExponent, exponent);
  return static_cast<std::size_t>(found - numbers.begin());
}

// Throws UserError if one of the numbers (envs, width) is not finite.
void CheckObserved(std::span<const float> numbers, std::size_t width) {
  const std::size_t at = FirstNotFinite(numbers);
  if (at == numbers.size()) return;
  throw UserError(fmt::format("observations: number {} of environment {} is {}", at % width,
                              at / width, numbers[at]));
}

// Throws UserError if one of the net's numbers (envs, width) is not finite.
void CheckEvaluated(std::span<const float> numbers, std::size_t envs) {
  const std::size_t at = FirstNotFinite(numbers);
  if (at == numbers.size()) return;
  throw UserError(
      fmt::format("the net makes {} of the observation of environment {}: it is too large, or the "
                  "weights are damaged",
                  numbers[at], at / (numbers.size() / envs)));
}

// Throws UserError if a mask (envs, values) allows no value of a choice.
void CheckMask(std::span<const std::uint8_t> mask, const ActionSpace& actions) {
  const std::size_t values = mask.size() == 0 ? 1 : static_cast<std::size_t>(actions.values());
  for (std::size_t row = 0; row < mask.size(); row += values) {
    std::size_t first = row;
    for (std::size_t choice = 0; choice < actions.counts.size(); ++choice) {
      const auto count = static_cast<std::size_t>(actions.counts[choice]);
      if (std::ranges::count(mask.subspan(first, count), 0) ==
          std::ssize(mask.subspan(first, count))) {
        throw UserError(fmt::format("mask: it allows no value of choice {} of environment {}",
                                    choice, row / values));
      }
      first += count;
    }
  }
}

// Writes rows (envs, row): the numbers, and the mask behind them.
void Show(std::span<const float> numbers, std::span<const std::uint8_t> mask, int envs,
          std::span<float> rows) {
  const auto n = static_cast<std::size_t>(envs);
  const std::size_t of_numbers = numbers.size() / n, of_mask = mask.size() / n;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = rows.subspan(i * (of_numbers + of_mask), of_numbers + of_mask);
    std::ranges::copy(numbers.subspan(i * of_numbers, of_numbers), row.begin());
    std::ranges::copy(mask.subspan(i * of_mask, of_mask), row.last(of_mask).begin());
  }
}

// A point of a box between its bounds.
void IntoBounds(const ActionSpace& box, std::span<std::int32_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t k = i % box.low.size();
    words[i] = WordOf(starling::IntoBounds(FloatOf(words[i]), box.low[k], box.high[k], box.bounds));
  }
}

void Act(starling_policy& policy, const float* observations, const std::uint8_t* mask,
         void* actions) {
  // 1. Check all arguments, before anything changes.
  const auto envs = static_cast<std::size_t>(policy.envs);
  const std::span numbers(observations, envs * policy.numbers());
  const std::span allowed(mask, envs * policy.mask());
  CheckObserved(numbers, policy.numbers());
  CheckMask(allowed, policy.actions());
  // 2. Evaluate them.
  const AsGuest guest;
  // A handler of the caller's would write into the heap: oneDNN's code points the stack register
  // there.
  const SignalsBlocked uninterrupted;
  Show(numbers, allowed, policy.envs, policy.policy.rows());
  policy.seen = false;
  policy.policy.Evaluate();
  CheckEvaluated(policy.policy.outputs(), envs);
  CheckEvaluated(policy.policy.values(), envs);
  policy.seen = true;
  // 3. Act.
  if (actions == nullptr) return;
  policy.policy.Take(policy.taken);
  std::ranges::fill(policy.policy.begins(), std::uint8_t{0});
  if (policy.actions().box()) IntoBounds(policy.actions(), policy.taken);
  std::memcpy(actions, policy.taken.data(), policy.taken.size() * sizeof(std::int32_t));
}

std::unique_ptr<starling_policy> Open(const char* path, const starling_policy_options& options) {
  Require(path, "path");
  if (options.envs < 0 || options.envs > kMostEnvs) {
    throw UserError(
        fmt::format("options->envs is {}: it is at least 1, at most {}", options.envs, kMostEnvs));
  }
  const AsGuest guest;
  BeQuiet();
  results::TrainedPolicy trained = results::LoadPolicy(path);
  trained.checkpoint.optimizer_state.clear();
  trained.checkpoint.optimizer_state.shrink_to_fit();
  return std::make_unique<starling_policy>(std::move(trained), options);
}

starling_spaces SpacesOf(const starling_policy& policy) {
  const envs::EnvSpec& env = policy.trained.env;
  const ActionSpace& actions = env.actions;
  const bool box = actions.box();
  return {.size = sizeof(starling_spaces),
          .env = env.name.c_str(),
          .envs = policy.envs,
          .arrays = static_cast<std::int32_t>(policy.arrays.size()),
          .numbers = env.obs_size(),
          .mask = actions.mask(),
          .box = box,
          .width = actions.width(),
          .counts = box ? nullptr : actions.counts.data(),
          .low = box ? actions.low.data() : nullptr,
          .high = box ? actions.high.data() : nullptr,
          .action_names = policy.names.empty() ? nullptr : policy.names.data(),
          .outputs = actions.outputs(),
          .has_memory = net::HasMemory(actors::ModelSpecOf(policy.trained.config, env)),
          .steps = policy.trained.checkpoint.steps};
}

// Copies `of_last`, what the net has made of the last observations.
void Tell(const starling_policy* policy, std::span<const float> of_last, float* to,
          const char* name) {
  Require(to, name);
  if (!policy->seen) throw UserError("no observation was given to starling_policy_act yet");
  std::ranges::copy(of_last, to);
}

}  // namespace
}  // namespace starling::api

using starling::api::Guarded;
using starling::api::Require;

starling_status starling_policy_open(const char* path, const starling_policy_options* options,
                                     starling_policy** policy) {
  if (policy != nullptr) *policy = nullptr;
  return Guarded([&] {
    Require(policy, "policy");
    starling_policy_options known{};
    if (options != nullptr) known = starling::api::Read(options, "options");
    *policy = starling::api::Open(path, known).release();
  });
}

void starling_policy_close(starling_policy* policy) { delete policy; }

starling_status starling_policy_spaces(const starling_policy* policy, starling_spaces* spaces) {
  return Guarded([&] {
    Require(policy, "policy");
    starling::api::Write(starling::api::SpacesOf(*policy), spaces, "spaces");
  });
}

starling_status starling_policy_array(const starling_policy* policy, int32_t index,
                                      starling_array* array) {
  return Guarded([&] {
    Require(policy, "policy");
    if (index < 0 || index >= std::ssize(policy->arrays)) {
      throw UserError(
          fmt::format("index is {}: an observation has {} arrays", index, policy->arrays.size()));
    }
    const starling::ObservationEntry& entry = policy->arrays[static_cast<std::size_t>(index)];
    starling::api::Write<starling_array>({.size = sizeof(starling_array),
                                          .name = entry.name.c_str(),
                                          .height = entry.height,
                                          .width = entry.width,
                                          .channels = entry.channels,
                                          .low = entry.low,
                                          .high = entry.high,
                                          .reserved = 0},
                                         array, "array");
  });
}

const char* starling_policy_checkpoint(const starling_policy* policy) {
  return policy == nullptr ? "" : policy->trained.path.c_str();
}

const char* starling_policy_config(const starling_policy* policy) {
  return policy == nullptr ? "" : policy->trained.checkpoint.config.c_str();
}

starling_status starling_policy_act(starling_policy* policy, const float* observations,
                                    const uint8_t* mask, void* actions) {
  return Guarded([&] {
    Require(policy, "policy");
    Require(observations, "observations");
    if ((mask != nullptr) != (policy->mask() > 0)) {
      throw UserError(mask == nullptr
                          ? "mask is NULL: this policy was trained with masks of actions"
                          : "mask must be NULL: this policy was trained without masks");
    }
    starling::api::Act(*policy, observations, mask, actions);
  });
}

starling_status starling_policy_values(const starling_policy* policy, float* values) {
  return Guarded([&] {
    Require(policy, "policy");
    starling::api::Tell(policy, policy->policy.values(), values, "values");
  });
}

starling_status starling_policy_outputs(const starling_policy* policy, float* outputs) {
  return Guarded([&] {
    Require(policy, "policy");
    starling::api::Tell(policy, policy->policy.outputs(), outputs, "outputs");
  });
}

starling_status starling_policy_reset(starling_policy* policy, const uint8_t* begins) {
  return Guarded([&] {
    Require(policy, "policy");
    const auto marks = policy->policy.begins();
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (begins == nullptr || begins[i] != 0) marks[i] = 1;
    }
  });
}

starling_status starling_policy_seed(starling_policy* policy, uint64_t seed) {
  return Guarded([&] {
    Require(policy, "policy");
    policy->policy.Seed(seed);
  });
}
