// A trained policy as tensors with the names and layouts of PyTorch, and what PyTorch needs to know
// of its layers. policy_in_torch.py reads both.
//
//   layers        as checkpoints name them (net/model.h), but "entries.0.conv1" without the name
//                 of the entry. Convolutions (out, in, height, width), fully connected layers
//                 (out, in), lstm and gru as LSTMCell and GRUCell. A picture has its channels
//                 first, also where a layer takes its numbers as a row; several arrays together
//                 keep our order
//   heads         policy.weight, value.weight; log_std of a box
//   observations  observation0_mean and _scale, float64, if numbers are normalised
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
