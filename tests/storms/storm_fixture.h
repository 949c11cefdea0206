// A supervised run whose processes are killed again and again, watched on its status page.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <random>

#include "tests/support/http_client.h"
#include "tests/support/plain_tcp.h"
#include "tests/system/run_fixture.h"

namespace starling {

class StormTest : public RunTest {
 protected:
  // Until the test ends it.
  std::unique_ptr<Process> StartStorm(Strings settings) {
    settings.insert(settings.end(), {Steps(kEndless), fmt::format("status.port={}", port_.port())});
    return StartTrain(settings);
  }
  // Null while there is no page.
  json Status() const {
    json status = json::parse(Get(port_.port(), "/status.json").body, nullptr, false);
    return status.is_object() ? status : json();
  }
  const ReservedPort port_;
  std::mt19937 random_{static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()) + 11};
};

}  // namespace starling
