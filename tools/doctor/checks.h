// Checks that the backends of this machine compute correctly, and how they are run: one after the
// other, each with a time limit.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "actors/rollout.h"
#include "core/config/config.h"
#include "core/gpu.h"
#include "envs/env.h"
#include "net/backend.h"
#include "tools/doctor/machine.h"

namespace starling::doctor {

struct Verdict {
  bool agrees = true;
  std::string text{};                // "3.1e-07 of 3e-06"
  nlohmann::ordered_json numbers{};  // the same for programs: {"error", "tolerance"}
};

struct Check {
  std::string what;  // "loss"
  std::function<Verdict()> run;
};

// Checks of one kind on one device.
struct CheckGroup {
  std::string kind;                  // "ops"
  std::string device;                // "cuda tf32"
  std::function<Verdict()> start{};  // makes what the checks share; may be empty
  std::vector<Check> checks{};
};

struct Row {
  std::string kind, device, what;
  Verdict verdict{};
  // What kept the check from a verdict: the message of its exception, or that it hangs. Or "".
  std::string failure{};
  double seconds = 0;

  bool ok() const { return failure.empty() && verdict.agrees; }
};

// Leaves out the checks whose name, "ops: cuda tf32: loss", does not contain `text`. Throws
// UserError if none is left.
std::vector<CheckGroup> Only(const std::string& text, std::vector<CheckGroup> groups);

// Runs the checks in order, in a thread of their own, and calls on_row() here after each; `start`
// is a check of that name. An exception is the failure of its row; if `start` throws, the group
// ends. A check that takes more than `limit_s` hangs: the checks behind it are left out, and the
// thread that it keeps is returned. Otherwise the returned thread is not joinable. REQUIRES:
// on_row() does not throw.
[[nodiscard]] std::thread RunChecks(std::vector<CheckGroup> groups, double limit_s,
                                    const std::function<void(const Row&)>& on_row);

// ---- The checks of a machine

// The sizes of games and unrolls. Small ones are for slow tools, too (sanitizers).
enum class Sizes { kSmall, kLarge };

std::vector<CheckGroup> ChecksOf(const Machine& machine, Sizes sizes);

// Every op beside the reference (ops.cc).
using MakeBackend = std::function<std::shared_ptr<net::Backend<float>>()>;
// `on`: the instructions or the GPU that it computes with, for the row of its start.
CheckGroup OpGroup(const std::string& device, const std::string& on, Precision precision,
                   const MakeBackend& make);
std::vector<CheckGroup> OpGroups(const Machine& machine);

// Every bundled game on a GPU beside the same on the host, bit for bit (games.cc).
using MakeGames = std::function<std::unique_ptr<envs::VecEnv>(
    const EnvConfig& config, int num_envs, const envs::EnvSeed& seed, int steps, Gpu& gpu)>;
Verdict CompareGames(const EnvConfig& config, int num_envs, int steps, Gpu& gpu,
                     const MakeGames& make);
std::vector<CheckGroup> GameGroups(const Machine& machine, Sizes sizes);

// Unrolls with their gradients: on a GPU beside the host's, and twice on one device (rollouts.cc).
using MakeRollout = std::function<std::unique_ptr<actors::Rollout>()>;
Verdict CompareRollouts(const MakeRollout& there, const MakeRollout& here, int unrolls,
                        double tolerance);
Verdict RolloutTwice(const MakeRollout& make);
std::vector<CheckGroup> RolloutGroups(const Machine& machine, Sizes sizes);

int GpuCount(const Machine& machine);
// "cuda" of a machine with one GPU, else "cuda 1".
std::string GpuName(const Machine& machine, int index);

}  // namespace starling::doctor
