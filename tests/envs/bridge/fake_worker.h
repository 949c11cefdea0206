// The fake worker of fake_worker.py as a program for Worker and WorkerEnvs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "envs/bridge/worker.h"

namespace starling::envs {

// `options` is the text of a JSON object.
inline WorkerProgram FakeWorker(const std::string& options = "{}") {
  return {.argv = {"python3", STARLING_SOURCE_DIR "/tests/envs/bridge/fake_worker.py"},
          .settings = {{"env", "fake"}, {"options", nlohmann::json::parse(options)}},
          .name = "fake"};
}

}  // namespace starling::envs
