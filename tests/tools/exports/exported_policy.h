// Policies of every kind of net, and what our own nets make of the steps that exported ones are
// given, too.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <vector>

#include "actors/model_spec.h"
#include "actors/normalizer.h"
#include "net/loss.h"
#include "net/model.h"
#include "net/policy.h"
#include "net/running.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace starling::exports {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

inline constexpr int kRows = 256, kSteps = 4;  // 1,024 observations

struct Case {
  std::string name;
  envs::EnvSpec env;
  std::function<void(Config&)> configure = [](Config&) {};
};
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

inline envs::EnvSpec Pictures(int height, int width, int channels, ActionSpace actions) {
  return {.name = "pictures",
          .height = height,
          .width = width,
          .channels = channels,
          .actions = std::move(actions),
          .action_names = {}};
}
inline envs::EnvSpec Numbers(int count, ActionSpace actions) {
  envs::EnvSpec spec = Pictures(1, 1, count, std::move(actions));
  spec.low = -100, spec.high = 100;
  return spec;
}
inline ActionSpace Masked(ActionSpace actions) {
  actions.masked = true;
  return actions;
}
inline ActionSpace Box(ActionBounds bounds) {
  ActionSpace box = ActionSpace::Box({-1, -2, 0, 0.5f}, {1, 3, 10, 0.5f});
  if (bounds == ActionBounds::kClip) {  // tanh needs two bounds
    box = ActionSpace::Box({-1, -2, 0, -INFINITY, -INFINITY}, {1, 3, INFINITY, 0.1f, INFINITY});
  }
  box.bounds = bounds;
  return box;
}
inline std::function<void(Config&)> Layers(std::vector<std::string> layers,
                                           bool normalised = false) {
  return [=](Config& config) {
    config.net.kind = NetKind::kLayers;
    config.net.layers = layers;
    config.env.normalize_observations = normalised;
  };
}
inline envs::EnvSpec Entries(ActionSpace actions) {
  envs::EnvSpec spec = Numbers(6 * 5 * 2 + 3 + 4, std::move(actions));
  spec.entries = {{.name = "camera", .height = 6, .width = 5, .channels = 2},
                  {.name = "joints", .channels = 3, .low = -9, .high = 9},
                  {.name = "goal", .channels = 4, .low = -9, .high = 9}};
  return spec;
}

inline std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const NetKind kind : {NetKind::kMinatar, NetKind::kMlp}) {
    cases.push_back({std::string(NameOf(kind)), Pictures(10, 10, 4, ActionSpace::Choice(6)),
                     [kind](Config& config) { config.net.kind = kind; }});
  }
  for (const NetKind kind :
       {NetKind::kAtari, NetKind::kAtariLstm, NetKind::kNature, NetKind::kImpala}) {
    cases.push_back({std::string(NameOf(kind)), Pictures(42, 44, 2, ActionSpace::Choice(3)),
                     [kind](Config& config) { config.net.kind = kind; }});
  }
  const std::vector<std::string> odd{"conv 5 3x2/2 same", "relu", "max_pool 3x3/2 same",
                                     "residual 3x3", "tanh"};
  cases.push_back({"same", Pictures(11, 8, 3, ActionSpace::Choice(4)), Layers(odd)});
  cases.push_back({"gaps", Pictures(10, 5, 2, ActionSpace::Choice(3)),
                   Layers({"max_pool 1x1/2 same", "conv 3 1x2/3 same", "gru 4"})});
  cases.push_back({"norms", Pictures(7, 6, 2, ActionSpace::Choice(2)),
                   Layers({"conv 4 3x3", "layer_norm", "relu", "max_pool 2x2", "linear 9",
                           "layer_norm", "tanh"})});
  cases.push_back({"memory", Numbers(5, ActionSpace::Choices({3, 1, 4})),
                   Layers({"lstm 7", "gru 6", "linear 5", "relu"}, true)});
  cases.push_back(
      {"masked", Numbers(5, Masked(ActionSpace::Choices({3, 2}))), Layers({"linear 8", "relu"})});
  cases.push_back({"memories", Numbers(5, Masked(ActionSpace::Choice(3))), [](Config& config) {
                     Layers({"linear 6", "relu", "lstm 5"}, true)(config);
                     config.net.critic = Critic::kSeparate;
                   }});
  envs::EnvSpec matrix = Pictures(3, 4, 1, ActionSpace::Choice(3));
  matrix.low = -1;
  cases.push_back({"matrix", matrix, Layers({"conv 2 2x2", "relu"}, true)});
  cases.push_back({"normalised_pictures", Pictures(8, 8, 3, ActionSpace::Choice(3)),
                   Layers({"conv 4 3x3", "relu"}, true)});
  cases.push_back({"heads_alone", Numbers(4, ActionSpace::Choice(3)), Layers({})});
  for (const ActionBounds bounds : {ActionBounds::kClip, ActionBounds::kTanh}) {
    for (const Deviation deviation : {Deviation::kParameter, Deviation::kPredicted}) {
      cases.push_back({fmt::format("box_{}_{}", NameOf(bounds), NameOf(deviation)),
                       Numbers(6, Box(bounds)), [=](Config& config) {
                         Layers({"linear 8", "tanh"}, true)(config);
                         config.net.deviation = deviation;
                         config.net.critic = Critic::kSeparate;
                         config.env.normalize_rewards = true;
                       }});
    }
  }
  cases.push_back({"entries", Entries(ActionSpace::Choice(3)), [](Config& config) {
                     Layers({"linear 9", "relu"}, true)(config);
                     config.net.entries = {"camera: conv 3 3x3, relu, linear 6", "goal: linear 5"};
                     config.net.critic = Critic::kSeparate;
                   }});
  // The camera's numbers are a row of channels here.
  cases.push_back({"entries_convolved", Entries(ActionSpace::Choice(3)), [](Config& config) {
                     Layers({"conv 8 1x1", "residual 1x1", "max_pool 1x1", "layer_norm"})(config);
                     config.net.entries = {"camera:"};
                   }});
  cases.push_back({"entries_normed", Entries(ActionSpace::Choice(3)), [](Config& config) {
                     Layers({"layer_norm", "residual 1x1", "gru 5"})(config);
                     config.net.entries = {"camera: max_pool 2x2"};
                   }});
  cases.push_back({"entries_as_they_are", Entries(Masked(ActionSpace::Choice(3))),
                   Layers({"linear 9", "relu"})});
  return cases;
}

// The one of this name.
inline std::vector<Case> Cases(const std::string& name) {
  std::vector<Case> cases = Cases();
  std::erase_if(cases, [&](const Case& one) { return one.name != name; });
  return cases;
}

// The Python that `variable` names, or `usual`, an absolute path or one from the repository, or
// that of PATH.
inline std::string PythonOf(const char* variable, const char* usual) {
  if (const char* named = std::getenv(variable)) return named;
  const fs::path made = fs::path(STARLING_SOURCE_DIR) / usual;
  return fs::exists(made) ? made.string() : "python3";
}
inline bool Has(const std::string& python, const std::string& module) {
  const TempDir anywhere;
  const std::string looks =
      "import importlib.util, sys; sys.exit(importlib.util.find_spec('" + module + "') is None)";
  return RunProgram(anywhere, {python, "-c", looks}).status == 0;
}

class ExportedPolicy : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    config_.net.kind = NetKind::kLayers;
    GetParam().configure(config_);
    backend_ = net::MakeCpuBackend();
    model_ = net::MakeModel<float>(actors::ModelSpecOf(config_, env_), *backend_, {.envs = kRows});
    layout_ = actors::WithSums(model_->layout(), config_, env_);
    normalizer_ = std::make_unique<actors::Normalizer>(config_, env_, layout_, *backend_,
                                                       net::Batch{.envs = kRows});
    MakeWeights();
  }

  float Uniform(float low, float high) { return low + (high - low) * random_.Uniform(); }

  // Biases are not zero, and running sums hold a mean and a deviation, as after some training.
  void MakeWeights() {
    weights_ = net::InitialParameters(layout_, 1, Initialisation::kFanIn);
    for (const net::Parameter& p : layout_.parameters()) {
      const auto at = std::span(weights_).subspan(p.offset, p.size);
      if (p.name.ends_with(".sums")) {
        for (std::size_t i = 0; i < at.size(); i += net::kSumsOfNumber) {
          const double mean = Uniform(-2, 2), deviation = Uniform(0.1f, 3);
          net::PutSum(50.0, &at[i]);
          net::PutSum(50 * mean, &at[i + 1]);
          net::PutSum(50 * (mean * mean + deviation * deviation), &at[i + 2]);
        }
        continue;
      }
      for (float& weight : at) weight += Uniform(-0.1f, 0.1f);
      if (p.name.ends_with(".log_std")) at[0] = 11, at[1] = -12;  // beyond kMostLogDeviation
    }
  }

  nlohmann::json Kept(const std::string& name, const Floats& values, std::vector<int> shape) {
    const std::string file = fmt::format("{}-{}", step_, name);
    dir_.Write(file, {reinterpret_cast<const char*>(values.data()), 4 * values.size()});
    shape.insert(shape.begin(), kRows);
    return {{"shape", shape}, {"values", file}};
  }

  // The columns [first, first + width) of `rows`, whose rows have as many numbers as env_'s.
  Floats Columns(const Floats& rows, std::size_t first, std::size_t width) const {
    Floats columns;
    for (std::size_t at = first; at < rows.size(); at += env_.row()) {
      columns.insert(columns.end(), rows.begin() + static_cast<std::ptrdiff_t>(at),
                     rows.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    return columns;
  }

  nlohmann::json Inputs(const Floats& rows) {
    nlohmann::json inputs;
    const auto add = [&](const std::string& name, std::size_t first, const auto& array) {
      const int size = array.height * array.width * array.channels;
      const bool picture = array.height > 1 || array.width > 1;
      inputs[name] = Kept(name, Columns(rows, first, static_cast<std::size_t>(size)),
                          picture ? std::vector{array.height, array.width, array.channels}
                                  : std::vector{array.channels});
      return first + static_cast<std::size_t>(size);
    };
    std::size_t first = 0;
    for (const ObservationEntry& entry : env_.entries) {
      first = add("observation." + entry.name, first, entry);
    }
    if (env_.entries.empty()) first = add("observation", 0, env_);
    if (const int mask = env_.actions.mask(); mask > 0) {
      inputs["action_mask"] =
          Kept("action_mask", Columns(rows, first, static_cast<std::size_t>(mask)), {mask});
    }
    return inputs;
  }

  // What our net makes of a step.
  nlohmann::json Expected() {
    const ActionSpace& actions = env_.actions;
    const int outputs = actions.outputs(), width = actions.width();
    const Floats logits(model_->logits().begin(), model_->logits().end());
    std::vector<std::int32_t> taken(static_cast<std::size_t>(kRows * width));
    net::GreedyActions(kRows, model_->policy(), model_->logits(), taken);
    Floats action, mean, log_std;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const std::size_t k = i % static_cast<std::size_t>(width);
      action.push_back(actions.box() ? IntoBounds(FloatOf(taken[i]), actions.low[k],
                                                  actions.high[k], actions.bounds)
                                     : static_cast<float>(taken[i]));
    }
    nlohmann::json expected{
        {"action", Kept("action", action, {width})},
        {"value", Kept("value", {model_->values().begin(), model_->values().end()}, {})}};
    if (!actions.box()) {
      expected["logits"] = Kept("logits", logits, {outputs});
      return expected;
    }
    constexpr auto kMost = static_cast<float>(net::kMostLogDeviation);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const bool is_mean = i % static_cast<std::size_t>(outputs) < static_cast<std::size_t>(width);
      if (is_mean) mean.push_back(logits[i]);
      if (!is_mean) log_std.push_back(std::clamp(logits[i], -kMost, kMost));
    }
    expected["mean"] = Kept("mean", mean, {width});
    expected["log_std"] = Kept("log_std", log_std, {width});
    return expected;
  }

  // A step with rows of its own; a third of the episodes begins.
  nlohmann::json Step() {
    Floats rows(kRows * env_.row()), begins;
    const bool unit = env_.entries.empty() && env_.height > 1;
    constexpr std::array<float, 4> kAllowed{1, 0.5f, -1, 0};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t row = i / env_.row();
      const bool of_mask = i % env_.row() >= static_cast<std::size_t>(env_.obs_size());
      const bool constant = row % 3 != 0 && i % 3 == 0;  // a channel of three, in some rows
      rows[i] = of_mask            ? kAllowed[random_.Below(i % 2 == 0 ? 3 : 4)]
                : unit && constant ? static_cast<float>(row % 3 - 1) * 0.3f
                                   : Uniform(unit ? 0.0f : -3.0f, unit ? 1.0f : 3.0f);
    }
    for (int i = 0; i < kRows; ++i) {
      begins.push_back(step_ == 0 || random_.Below(3) == 0 ? 1.0f : 0.0f);
      model_->resets()[static_cast<std::size_t>(i)] = begins.back() != 0;
    }
    const std::span<float> seen =
        normalizer_->rows().empty() ? model_->observations() : normalizer_->rows();
    std::ranges::copy(rows, seen.begin());
    normalizer_->Standardize(weights_, {.envs = kRows}, model_->observations());
    model_->Forward(std::span<const float>(weights_).first(layout_.trained()), 0);
    nlohmann::json step{
        {"inputs", Inputs(rows)}, {"begins", Kept("begins", begins, {})}, {"expected", Expected()}};
    model_->Carry(0);
    ++step_;
    return step;
  }

  // Writes some steps as our net sees them, and has `python` compare the file that is there with
  // them (compare.py).
  void Compare(const std::string& python) {
    nlohmann::json steps;
    for (int i = 0; i < kSteps; ++i) steps.push_back(Step());
    dir_.Write("steps.json", steps.dump());
    const Finished finished = RunProgram(
        dir_, {python, "-B", fs::path(STARLING_SOURCE_DIR) / "tests/tools/exports/compare.py",
               dir_.path()});
    ASSERT_EQ(finished.status, 0) << finished.err;
    std::istringstream lines(finished.out);
    std::string name;
    int compared = 0;
    for (double worst; lines >> name >> worst; ++compared) {
      const bool exact = name == "action" && !env_.actions.box();
      EXPECT_LE(worst, exact ? 0 : 1e-4) << name;
    }
    EXPECT_EQ(compared, env_.actions.box() ? 4 : 3) << finished.out;
  }

  const TempDir dir_;
  const envs::EnvSpec env_ = GetParam().env;
  Config config_;
  std::unique_ptr<net::Backend<float>> backend_;
  std::unique_ptr<net::Model<float>> model_;
  net::ParameterLayout layout_;
  std::unique_ptr<actors::Normalizer> normalizer_;
  Floats weights_;
  RandomStream random_{StreamId{.seed = 41}};
  int step_ = 0;
};

}  // namespace starling::exports
