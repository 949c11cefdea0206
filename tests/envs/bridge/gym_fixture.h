// For tests that need Gymnasium: without it they are skipped, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/config/config.h"
#include "core/error.h"
#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "tests/support/error_of.h"

namespace starling::envs {

// $STARLING_PYTHON, the interpreter that scripts/setup --gym made, or the system's.
inline std::string TestPython() { return FindPython("auto", "", STARLING_SOURCE_DIR); }

inline EnvConfig GymConfig(const std::string& id, const std::string& options = "") {
  EnvConfig config;
  config.name = kGymPrefix + id;
  config.python = TestPython();
  config.options = options;
  config.timeout_s = 60;
  return config;
}

inline std::string SpecErrorOf(const EnvConfig& config) {
  return ErrorOf([&] { SpecOf(config); });
}

// Why envs like `id` cannot be played here; "" if they can.
inline std::string NoGym(const std::string& id) {
  try {
    GymSpec(GymConfig(id));
  } catch (const UserError& error) {
    const std::string why = error.what();
    if (why.find("cannot import") != std::string::npos) return why;
  }
  return "";
}

}  // namespace starling::envs

#define STARLING_NEEDS_GYM(id)                           \
  do {                                                   \
    const std::string why = ::starling::envs::NoGym(id); \
    if (!why.empty()) GTEST_SKIP() << why;               \
  } while (false)
