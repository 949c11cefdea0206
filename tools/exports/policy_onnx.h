// A trained policy as an ONNX model: what a run's net does with one step of N environments.
//
//   inputs   observation (N, H, W, C) or (N, n); of several arrays, observation.NAME for each: what
//            the environment gives, before normalisation, which is in the graph
//            action_mask (N, M), if there are masks: not 0 where a value is allowed
//            state.LAYER.h, state.LAYER.c (N, width) of recurrent layers: zeros where an episode
//            begins, else the output of the last step
//   outputs  of choices: logits (N, values of all choices); of a box: mean, log_std (N, width)
//            action (N, width): the likeliest; integers, or floats between the bounds of the box
//            value (N)
//            next_state.LAYER.h, next_state.LAYER.c
//
// Pure functions.
#pragma once

#include <map>
#include <span>
#include <string>

#include "core/config/config.h"
#include "envs/env.h"

namespace starling::exports {

// The bytes of the file. `weights` are all of the run's, running sums included (results::LayoutOf);
// `properties` is kept beside the graph. Throws UserError if it would be 2 GB or larger.
std::string PolicyOnnx(const Config& config, const envs::EnvSpec& env,
                       std::span<const float> weights,
                       const std::map<std::string, std::string>& properties = {});

}  // namespace starling::exports
