// `starling stop` in this process; tests/system/stop_test.cc stops real fleets.
#include "tools/stop/stop.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "core/config/config.h"
#include "core/error.h"
#include "tests/support/temp_dir.h"
#include "wire/runtime_dir.h"

namespace starling::stop {
namespace {

// Each reading is ten seconds after the one before.
class HurryingClock final : public Clock {
 public:
  std::int64_t NowNs() const override { return now_ns_ += 10'000'000'000; }
  std::int64_t seconds() const { return now_ns_ / 1'000'000'000; }

 private:
  mutable std::int64_t now_ns_ = 0;
};

// The learner is this process, which ignores the signal.
TEST(RunStop, WaitsItsTimeoutByItsClock) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "place");
  Config config;
  config.wire.runtime_dir = (dir / "place").string();
  dir.Write("run/config.toml", ToToml(config));
  const auto place =
      wire::RuntimeDir::Create(wire::RuntimeRoot(config.wire.runtime_dir), dir / "run");
  const auto before = ::signal(SIGTERM, SIG_IGN);
  const HurryingClock clock;
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunStop({.run_dir = (dir / "run").string(), .timeout_s = 30}, clock), kExitFailed);
  ::signal(SIGTERM, before);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("did not end within 30 s: it may be writing its last checkpoint"));
  EXPECT_EQ(clock.seconds(), 40) << "begin at 10, end at 40";
}

}  // namespace
}  // namespace starling::stop
