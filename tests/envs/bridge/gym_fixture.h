// For tests that need Gymnasium: without it they are skipped, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/config/config.h"
#include "core/error.h"
#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

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

namespace starling::envs {

// Tests of envs that a Python module of the user's own registers.
class GymModuleTest : public testing::Test {
 protected:
  GymModuleTest(const char* file, const char* text) : file_(file), text_(text) {}
  void SetUp() override {
    STARLING_NEEDS_GYM("CartPole-v1");
    dir_.Write(file_, text_);
    ASSERT_EQ(::setenv("PYTHONPATH", dir_.path().c_str(), 1), 0);
  }
  void TearDown() override { ::unsetenv("PYTHONPATH"); }

 private:
  const char *const file_, *const text_;
  TempDir dir_;
};

}  // namespace starling::envs
