// /metrics: the learner's bulletin in the format of Prometheus.
#pragma once

#include <string>

#include "core/config/config.h"
#include "learner/bulletin.h"

namespace starling::monitor {

// Names, units and meaning: docs/watching-a-run.md.
std::string MetricsPage(const Config& config, const learner::Bulletin& bulletin);

}  // namespace starling::monitor
