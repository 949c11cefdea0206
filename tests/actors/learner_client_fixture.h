// A client where a scripted learner may be.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/learner_client.h"
#include "core/clock.h"
#include "tests/actors/scripted_learner.h"
#include "tests/support/temp_dir.h"

namespace starling::actors {

class LearnerClientTest : public testing::Test {
 protected:
  // A deadline against hanging tests, not an expectation.
  static constexpr std::int64_t kPatienceMs = 60'000;

  ClientOptions Options() {
    return {.find_endpoint =
                [this] {
                  const std::lock_guard lock(mutex_);
                  return endpoint_;
                },
            .connect_timeout_s = 60,
            .abandoned = [this] { return clock_.NowMs() > begin_ms_ + kPatienceMs; }};
  }
  // With this configuration a client gives up only because of the test.
  static std::string PatientConfig() { return ConfigWith("updates.in_flight=auto"); }
  static std::string ConfigWith(const std::string& setting,
                                const std::string& more = "actors.count=2") {
    return ToToml(ParseConfig(
        "", "test.toml",
        {"wire.timeout_s=600", "wire.heartbeat_ms=20", "staleness.deadline_s=600", setting, more}));
  }
  // A learner where clients look for one.
  std::unique_ptr<ScriptedLearner> Serve(wire::Welcome welcome,
                                         std::vector<wire::Body> after = {}) {
    MoveTo(Endpoint("control"));
    return std::make_unique<ScriptedLearner>(Endpoint("control"), std::move(welcome),
                                             std::move(after));
  }
  std::string Endpoint(const std::string& name) { return "ipc://" + (dir_ / name).string(); }
  void MoveTo(const std::string& endpoint) {
    const std::lock_guard lock(mutex_);
    endpoint_ = endpoint;
  }

  TempDir dir_;
  SteadyClock clock_;
  const std::int64_t begin_ms_ = clock_.NowMs();

 private:
  std::mutex mutex_;
  std::optional<std::string> endpoint_;
};

}  // namespace starling::actors
