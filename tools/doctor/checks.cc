#include "tools/doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"

namespace starling::doctor {
namespace {

// The news of the thread that runs the checks, for the thread that watches it.
class Progress {
 public:
  // ---- By the thread that runs

  void Begin(const Row& row) {
    const std::scoped_lock lock(mutex_);
    running_ = row, busy_ = true;
    changed_.notify_all();
  }
  // The check that Begin named has ended; its row, if it has one.
  void End(std::optional<Row> row) {
    const std::scoped_lock lock(mutex_);
    if (row) done_.push_back(std::move(*row));
    busy_ = false;
    changed_.notify_all();
  }
  void EndAll() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  bool watched() {
    const std::scoped_lock lock(mutex_);
    return !abandoned_;
  }

  // ---- By the thread that watches

  struct News {
    std::vector<Row> rows;  // since the last call
    bool ended = false;     // there will be no more
    bool hangs = false;     // the last row is that of a check that still runs
  };
  News Wait(double limit_s) {
    std::unique_lock lock(mutex_);
    // The limit begins with the check, however late that is.
    changed_.wait(lock, [&] { return busy_ || ended_ || !done_.empty(); });
    const std::chrono::duration<double> limit(limit_s);
    const bool moved =
        changed_.wait_for(lock, limit, [&] { return !busy_ || ended_ || !done_.empty(); });
    News news{.rows = std::exchange(done_, {}), .ended = ended_, .hangs = !moved};
    if (moved) return news;
    abandoned_ = true;
    running_.seconds = limit_s;
    running_.failure = fmt::format(
        "it hangs: not done in {:g} s (--limit); the checks after it were not done", limit_s);
    news.rows.push_back(running_);
    return news;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Behind mutex_:
  std::vector<Row> done_;
  Row running_;  // the newest, without a verdict
  bool busy_ = false, ended_ = false, abandoned_ = false;
};

// Returns whether it had a verdict.
bool RunOne(Progress& progress, const CheckGroup& group, const std::string& what,
            const std::function<Verdict()>& run) {
  Row row{.kind = group.kind, .device = group.device, .what = what};
  progress.Begin(row);
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.NowNs();
  bool judged = true;
  try {
    row.verdict = run();
  } catch (const std::exception& error) {
    judged = row.verdict.agrees = false;
    row.failure = error.what();
  }
  row.seconds = static_cast<double>(clock.NowNs() - begin_ns) / 1e9;
  progress.End(std::move(row));
  return judged;
}

// Frees what the checks of a group share; a driver may hang in it.
void Free(Progress& progress, CheckGroup& group) {
  progress.Begin({.kind = group.kind, .device = group.device, .what = "end"});
  group.start = {};
  group.checks.clear();
  progress.End(std::nullopt);
}

void RunAll(Progress& progress, std::vector<CheckGroup> groups) {
  FlushDenormals();  // as in an actor
  for (CheckGroup& group : groups) {
    if (!progress.watched()) return;
    if (!group.start || RunOne(progress, group, "start", group.start)) {
      for (const Check& check : group.checks) {
        if (!progress.watched()) return;
        RunOne(progress, group, check.what, check.run);
      }
    }
    Free(progress, group);  // before the next: a thread has one GPU open at a time
  }
  progress.EndAll();
}

}  // namespace

std::vector<CheckGroup> Only(const std::string& text, std::vector<CheckGroup> groups) {
  for (CheckGroup& group : groups) {
    std::erase_if(group.checks, [&](const Check& check) {
      const std::string name = fmt::format("{}: {}: {}", group.kind, group.device, check.what);
      return name.find(text) == std::string::npos;
    });
  }
  std::erase_if(groups, [](const CheckGroup& group) { return group.checks.empty(); });
  if (groups.empty()) {
    throw UserError(fmt::format(
        "--only: no check has \"{}\" in its name, such as \"ops: cpu: loss\": see starling doctor",
        text));
  }
  return groups;
}

std::thread RunChecks(std::vector<CheckGroup> groups, double limit_s,
                      const std::function<void(const Row&)>& on_row) {
  // A thread that hangs keeps the progress for itself.
  const auto progress = std::make_shared<Progress>();
  std::thread thread(
      [progress, groups = std::move(groups)]() mutable { RunAll(*progress, std::move(groups)); });
  for (;;) {
    const Progress::News news = progress->Wait(limit_s);
    for (const Row& row : news.rows) on_row(row);
    if (news.hangs) return thread;
    if (news.ended) break;
  }
  thread.join();
  return thread;
}

std::vector<CheckGroup> ChecksOf(const Machine& machine, Sizes sizes) {
  std::vector<CheckGroup> all = OpGroups(machine);
  for (auto groups : {GameGroups(machine, sizes), RolloutGroups(machine, sizes)}) {
    std::ranges::move(groups, std::back_inserter(all));
  }
  return all;
}

int GpuCount(const Machine& machine) { return static_cast<int>(machine.gpus.gpus.size()); }

std::string GpuName(const Machine& machine, int index) {
  return machine.gpus.gpus.size() == 1 ? "cuda" : fmt::format("cuda {}", index);
}

}  // namespace starling::doctor
