// What training says of itself, several times a second, in a real run and in a simulated one: the part of
// the status line, of metrics.jsonl and so of the summary that is read off the pipeline and its counters.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/config/config.h"
#include "learner/counters.h"
#include "learner/pipeline.h"

namespace starling::learner {

// Of the newest gradient, as its actor said.
struct Losses {
  double policy = 0, value = 0, entropy = 0, grad_norm = 0;
};

// An object; learner/status.h reads it. `phase` as there. A number that is not finite is null.
nlohmann::ordered_json TrainingStatus(std::string_view phase, std::uint32_t term,
                                      const Config& config, const Pipeline& pipeline,
                                      const Counters& counters, const Losses& losses);

}  // namespace starling::learner
