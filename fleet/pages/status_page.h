// /status.json: a bulletin of the learner, with who is alive.
#pragma once

#include <cstdint>
#include <string>

#include "core/config.h"
#include "learner/bulletin.h"

namespace starling::fleet {

// One JSON object (docs/watching-a-run.md), on one line.
std::string StatusPage(const Config& config, const learner::Bulletin& bulletin);

}  // namespace starling::fleet
