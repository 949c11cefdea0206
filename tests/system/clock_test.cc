// The wall clock jumps by hours and years while a fleet works. It is only displayed: no process is
// expelled, late or waiting because of it.
#include <sys/mman.h>

#include <atomic>

#include "tests/system/run_fixture.h"

namespace starling {
namespace {

// The file that controls tests/system/jumping_clock.c in every process of a run.
class WallClock {
 public:
  explicit WallClock(const std::filesystem::path& path) {
    std::ofstream(path) << std::string(sizeof(Jump), '\0');
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const at = mmap(nullptr, sizeof(Jump), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) throw std::runtime_error("no clock");
    jump_ = static_cast<Jump*>(at);
  }
  ~WallClock() { munmap(jump_, sizeof(Jump)); }
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;

  void SetBy(std::chrono::seconds seconds) { jump_->seconds = seconds.count(); }
  std::int64_t seen() const { return jump_->seen; }

 private:
  struct Jump {
    std::atomic<std::int64_t> seconds, seen;
  };
  Jump* jump_ = nullptr;
};

class ClockTest : public RunTest {};

TEST_F(ClockTest, AWallClockThatIsSetChangesNothing) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer wants to be loaded first";
#endif
  WallClock clock(dir_ / "clock");
  const auto train = StartTrain(
      {Steps(kEndless), "actors.count=2", "staleness.bound=4", "wire.endpoint=tcp://127.0.0.1:0",
       "staleness.deadline_s=30", "run.metrics_s=0.2", "checkpoint.every_steps=16000"},
      {fmt::format("LD_PRELOAD={}", STARLING_JUMPING_CLOCK),
       fmt::format("JUMPING_CLOCK={}", (dir_ / "clock").string())});
  ASSERT_TRUE(AwaitActors(*train, 2));
  const auto lines = [&] { return std::ranges::count(TextOf(run() / "metrics.jsonl"), '\n'); };
  using std::chrono::hours;
  for (const auto by : {hours(5), hours(-24 * 365), hours(24 * 365 * 10), hours(0)}) {
    const std::int64_t seen = clock.seen();
    clock.SetBy(by);
    const auto before = lines();
    ASSERT_TRUE(Eventually([&] { return lines() >= before + 6 || !train->Running(); }));
    ASSERT_TRUE(train->Running()) << train->err();
    EXPECT_TRUE(by.count() == 0 || clock.seen() > seen);
  }
  const json summary = Interrupt(*train);
  EXPECT_EQ(summary["actors"]["restarted"], 0);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  EXPECT_EQ(CountInLog(" joined (pid "), 2u);
}

}  // namespace
}  // namespace starling
