// Whether a net has learnt from the numbers that a configuration gives.
#pragma once

#include <string>

#include "core/config/config.h"
#include "learner/storage/checkpoint.h"

namespace starling::learner {

// Throws UserError if the net of `from` has learnt from observations or rewards that were
// normalised otherwise than those of `config`. Pictures leave no parameters that could tell.
// `path`: of `from`.
void CheckSameNumbers(const Config& config, const Checkpoint& from, const std::string& path);

}  // namespace starling::learner
