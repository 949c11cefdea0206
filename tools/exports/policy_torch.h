// A trained policy as tensors with the names and layouts of PyTorch, and what PyTorch needs to know
// of its layers. policy_in_torch.py reads both.
//
//   convolutions  weight (out, in, height, width), fully connected layers (out, in), lstm and gru
//                 as LSTMCell and GRUCell; pictures have their channels first, also where a layer
//                 above them takes their numbers as a row
//   heads         policy.weight, value.weight; log_std of a box
//   observations  observation0_mean and _scale, float64, if numbers are normalised
//
// Pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "envs/env.h"

namespace starling::exports {

struct TorchTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> floats{};
  std::vector<double> doubles{};  // instead, of normalisation
};

struct TorchPolicy {
  std::vector<TorchTensor> tensors;
  std::string description;  // JSON
};

// `weights` are all of the run's, running sums included (results::LayoutOf).
TorchPolicy PolicyTorch(const Config& config, const envs::EnvSpec& env,
                        std::span<const float> weights);

// Writes a file of safetensors, whose metadata are the description, under kPolicyKey, and
// `properties`. Throws std::system_error.
void WriteTorchPolicy(const std::filesystem::path& path, const TorchPolicy& policy,
                      std::map<std::string, std::string> properties = {});
inline constexpr std::string_view kPolicyKey = "starling.policy";

// The text of policy_in_torch.py.
extern const char kPolicyInTorch[];

}  // namespace starling::exports
