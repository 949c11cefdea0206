// A supervised run whose processes are killed again and again, watched on its status page.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/http_client.h"
#include "tests/support/reserved_port.h"
#include "tests/system/run_fixture.h"

namespace starling {

class StormTest : public RunTest {
 protected:
  using Clock = std::chrono::steady_clock;

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
  static double SecondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  // The smallest value that 99 of 100 are not above.
  static double P99(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return values[(values.size() * 99 + 99) / 100 - 1];
  }
  void Tell(const std::string& what, const std::vector<double>& seconds) {
    std::cout << fmt::format("{}: {} times, p99 {:.2f} s\n", what, seconds.size(), P99(seconds));
    RecordProperty(what, std::to_string(P99(seconds)));
  }
  // Ends the run as Ctrl-C does.
  void EndIt(Process& train) {
    train.Signal(SIGINT);
    EXPECT_EQ(WaitFor(train), 130) << said_;
    ExpectSound(Summary());
    ExpectNothingLeft();
  }

  const ReservedPort port_;
  std::mt19937 random_{static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()) + 11};
};

}  // namespace starling
