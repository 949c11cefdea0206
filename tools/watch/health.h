// `starling watch RUN_OR_DIR --health`: an answer for the health check of a container, without a
// port.
#pragma once

#include <filesystem>
#include <string>

#include "core/clock.h"

namespace starling::watch {

struct HealthAnswer {
  bool well = false;
  std::string text{};  // lines
};

// Of a run: the sentence of /healthz; well, too, while it comes to its end. Of a directory: that of
// every run whose processes are at work on this machine; well if all are.
HealthAnswer HealthIn(const std::filesystem::path& target, const Clock& clock);

}  // namespace starling::watch
