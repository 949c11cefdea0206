// The numbers in a chart: round ticks for an axis and the bars of a staleness histogram, which the
// screen and tools/report share; and numbers over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace starling::monitor {

struct Axis {
  double low = 0, high = 1;            // its ends; low < high
  std::vector<double> ticks;           // within [low, high], ascending
  std::vector<std::string> tick_text;  // a label per tick, all in one unit: "0", "0.5M", "1M"
};

// Returns an axis over [low, high] with about `wanted` ticks at 1, 2 or 5 times a power of ten.
// `round` moves the ends out to ticks. Equal ends are moved apart.
Axis MakeAxis(double low, double high, int wanted, bool round);

// A histogram of staleness in bins of equal width.
struct StalenessBins {
  // Bin i: gradients of staleness [i * width, (i + 1) * width).
  std::vector<std::uint64_t> counts{};
  std::uint64_t width = 1;
  bool open = false;  // the last bin also holds every larger staleness

  std::uint64_t total() const;
  double Share(std::size_t bin) const;  // of all gradients, 0 to 1; 0 without gradients
};

// histogram[i] is the number of gradients of staleness i. REQUIRES: bins >= 1, width >= 1.
StalenessBins BinStaleness(const std::vector<std::uint64_t>& histogram, std::size_t bins,
                           std::uint64_t width);

// Returns the least staleness that `permille` of 1000 gradients do not exceed; 0 without gradients.
std::uint64_t StalenessQuantile(const std::vector<std::uint64_t>& histogram,
                                std::uint64_t permille);

// ---- Numbers over time: over a whole run, and over its last seconds

// A number over a whole run in bounded memory: its means over equal spans of time. The spans grow
// with the run.
class Series {
 public:
  // Keeps a mean for each `span_s` seconds. When `limit` of them are full, neighbours merge and
  // `span_s` doubles. REQUIRES: `limit` is even and at least 2.
  explicit Series(double span_s = 0.5, std::size_t limit = 1024);

  // Ignores a value that is not finite. REQUIRES: times do not go back.
  void Add(double at_s, double value);

  bool empty() const { return means_.empty(); }
  double span_s() const { return span_s_; }
  std::size_t size() const { return means_.size(); }
  double last() const { return last_; }  // the newest value; 0 before the first

  // Returns the mean over each of `columns` equal parts of [0, `until_s`). Parts without values are
  // interpolated between their neighbours; nullopt before the first value and after the last.
  std::vector<std::optional<double>> Columns(double until_s, int columns) const;

 private:
  struct Mean {
    double sum = 0, weight = 0;
  };
  void Halve();

  double span_s_;
  const std::size_t limit_;
  std::vector<Mean> means_;
  double last_ = 0;
};

// The newest points of a quantity that grows: for rates and shares over the last seconds.
template <class T>
class Window {
 public:
  struct Point {
    std::int64_t ms = 0;
    T value{};
  };

  explicit Window(std::int64_t span_ms) : span_ms_(span_ms) {}

  // Keeps the points of the last `span_ms` and the newest one before them. REQUIRES: `now_ms` does
  // not go back.
  void Add(std::int64_t now_ms, T value) {
    points_.push_back({now_ms, std::move(value)});
    while (points_.size() > 2 && points_[1].ms <= now_ms - span_ms_) points_.pop_front();
  }
  void Clear() { points_.clear(); }

  bool empty() const { return points_.empty(); }
  // REQUIRES: !empty().
  const Point& first() const { return points_.front(); }
  const Point& last() const { return points_.back(); }
  // From the first point to the last; 0 with fewer than two points.
  std::int64_t passed_ms() const { return empty() ? 0 : last().ms - first().ms; }

 private:
  std::int64_t span_ms_;
  std::deque<Point> points_;
};

// Steps per second over the last `window_ms`. Starts again when the steps go back: then a learner
// has resumed from a checkpoint.
class RateMeter {
 public:
  explicit RateMeter(std::int64_t window_ms = 10'000) : steps_(window_ms) {}
  void Add(std::int64_t now_ms, std::uint64_t steps) {
    if (!steps_.empty() && steps < steps_.last().value) steps_.Clear();
    steps_.Add(now_ms, steps);
  }
  // Returns 0 until two points are known.
  double PerSecond() const {
    if (steps_.passed_ms() <= 0) return 0;
    return static_cast<double>(steps_.last().value - steps_.first().value) * 1000.0 /
           static_cast<double>(steps_.passed_ms());
  }

 private:
  Window<std::uint64_t> steps_;
};

// The unit for a time axis over `longest_s`: hours from two hours on, minutes from five minutes on.
struct TimeUnit {
  double seconds;
  const char* name;  // "s", "min", "h"
};
TimeUnit TimeUnitFor(double longest_s);

// Returns the end of the time axis for a run of `elapsed_s`: 15 s, 30 s, 1 min, 2 min, 5 min, ...
// Steps of this kind rescale a curve only now and then.
double NiceSpan(double elapsed_s);

}  // namespace starling::monitor
