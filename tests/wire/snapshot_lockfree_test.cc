// The snapshot under writers and readers that race. Nothing of libzmq or of the rest of the room is
// included, so that ThreadSanitizer can watch all of it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "wire/snapshot.h"

namespace starling::wire {
namespace {

constexpr std::uint32_t kRaceTerm = 3;

// A float that belongs to one version and one place only, for as many versions as are written here.
float RaceValueAt(std::uint64_t version, std::size_t i) {
  const std::uint64_t mixed = (version * 0x9E3779B97F4A7C15 + i * 0xC2B2AE3D27D4EB4F) >> 41;
  return static_cast<float>(mixed);  // 23 bits, exact
}

// The learner's lanes: each writes its own slice of every version in turn, the last one to finish
// publishes, and no lane begins a version before the one two earlier is out.
class Lanes {
 public:
  Lanes(SnapshotWriter& writer, std::size_t lanes, std::uint64_t versions)
      : writer_(writer), lanes_(lanes), versions_(versions) {}

  void Run(std::size_t lane) {
    const std::size_t blocks = writer_.floats() / 16;
    const std::size_t begin = 16 * (blocks * lane / lanes_);
    const std::size_t end = 16 * (blocks * (lane + 1) / lanes_);
    std::vector<float> values(end - begin);
    for (std::uint64_t version = 0; version < versions_; ++version) {
      for (std::size_t i = begin; i < end; ++i) values[i - begin] = RaceValueAt(version, i);
      // Acquire: pairs with the release below.
      while (published_.load(std::memory_order_acquire) + 1 < version) std::this_thread::yield();
      writer_.Begin(version);
      writer_.Write(version, begin, values);
      std::atomic<std::size_t>& done = done_[version % done_.size()];
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == lanes_) {
        done.store(0, std::memory_order_relaxed);  // used again four versions later
        writer_.Publish({.term = kRaceTerm,
                         .version = version,
                         .steps = 5 * version,
                         .entropy = static_cast<double>(version) / 8});
        published_.store(version + 1, std::memory_order_release);
      }
    }
  }

 private:
  SnapshotWriter& writer_;
  const std::size_t lanes_;
  const std::uint64_t versions_;
  std::atomic<std::uint64_t> published_{0};  // versions
  std::array<std::atomic<std::size_t>, 4> done_{};
};

struct ReaderReport {
  std::uint64_t reads = 0, versions = 0, torn = 0, wrong_meta = 0, went_back = 0, too_old = 0;
};

// Reads until the last version has come; `eager` readers copy as often as they can, the others wait
// for something new.
ReaderReport ReadAll(SnapshotReader reader, std::uint64_t versions, bool eager) {
  ReaderReport report;
  std::vector<float> out(reader.floats());
  std::uint64_t newest = 0;
  bool any = false;
  while (!any || newest + 1 < versions) {
    const std::uint64_t wanted = any ? newest + (eager ? 0 : 1) : 0;
    SnapshotMeta meta;
    const bool announced = reader.Latest() >= wanted;
    if (!reader.Read(wanted, out, meta)) {
      if (!announced) std::this_thread::yield();
      continue;
    }
    ++report.reads;
    report.versions += !any || meta.version != newest ? 1 : 0;
    report.went_back += any && meta.version < newest ? 1 : 0;
    report.too_old += meta.version < wanted ? 1 : 0;
    report.wrong_meta += meta.term != kRaceTerm || meta.steps != 5 * meta.version ||
                                 meta.entropy != static_cast<double>(meta.version) / 8
                             ? 1
                             : 0;
    bool torn = false;
    for (std::size_t i = 0; i < out.size(); ++i) torn |= out[i] != RaceValueAt(meta.version, i);
    report.torn += torn ? 1 : 0;
    newest = meta.version;
    any = true;
  }
  return report;
}

// `readers` read while `lanes` write `versions`; no read is torn, mislabelled or older than asked.
void Race(std::size_t floats, std::size_t lanes, std::size_t readers, std::uint64_t versions) {
  SnapshotWriter writer("", floats, 1, kRaceTerm);
  Lanes writing(writer, lanes, versions);
  std::vector<ReaderReport> reports(readers);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < readers; ++r) {
    threads.emplace_back(
        [&, r] { reports[r] = ReadAll(SnapshotReader(writer), versions, r % 2 == 0); });
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    threads.emplace_back([&, lane] { writing.Run(lane); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ReaderReport& report : reports) {
    EXPECT_GT(report.versions, 0u);
    EXPECT_EQ(report.torn, 0u) << "of " << report.reads;
    EXPECT_EQ(report.wrong_meta, 0u);
    EXPECT_EQ(report.went_back, 0u);
    EXPECT_EQ(report.too_old, 0u);
  }
}

TEST(SnapshotLockfree, OneLaneThreeReaders) { Race(2048, 1, 3, 5000); }
TEST(SnapshotLockfree, TwoLanesTwoReaders) { Race(2048, 2, 2, 2000); }
TEST(SnapshotLockfree, FourLanesFourReaders) { Race(1024, 4, 4, 500); }
// So small that a reader is overtaken again and again while it copies.
TEST(SnapshotLockfree, TinyVersionsInQuickSuccession) { Race(16, 1, 3, 100'000); }

}  // namespace
}  // namespace starling::wire
