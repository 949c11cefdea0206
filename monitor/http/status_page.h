// /status.json: a bulletin of the learner, with who is alive.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "learner/bulletin.h"

namespace starling::monitor {

// One JSON object (docs/watching-a-run.md), on one line.
std::string StatusPage(const Config& config, const learner::Bulletin& bulletin);

}  // namespace starling::monitor
