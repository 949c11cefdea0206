// The status pages for programs: pure functions of the learner's published status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "learner/run_status.h"

namespace starling::monitor {

// /healthz: whether the learner is at work.
struct Health {
  bool well = false;
  std::string sentence{};  // "ok", or the reason
  bool done = false;       // not well, because the run comes to its end
  bool over = false;       // not well, because no process of the run is here
};

// Well while the network thread's loop turns and the run goes on, also while it waits for actors.
// Not well before the first turn (`published` is null), after the end of the run or a stop signal,
// and kMaxSilentMs after the last status, which comes once a second. `now_ms` is of the steady
// clock.
inline constexpr std::int64_t kMaxSilentMs = 5000;
Health HealthOf(const learner::PublishedStatus* published, std::int64_t now_ms);

// /status.json: one JSON object on one line (docs/watching-a-run.md).
std::string StatusPage(const Config& config, const learner::PublishedStatus& published);

// /metrics: the status in the format of Prometheus. Names, units and meaning:
// docs/watching-a-run.md.
std::string MetricsPage(const Config& config, const learner::PublishedStatus& published);

// ---- Text in Prometheus' exposition format, version 0.0.4: families of samples, each with help
// and type.

// Names and values. Bytes of a value that are not UTF-8 are replaced.
using PrometheusLabels = std::vector<std::pair<std::string_view, std::string>>;

class PrometheusText {
 public:
  enum class Type : std::uint8_t { kCounter, kGauge, kHistogram };

  // Begins a family; it may stay without samples. REQUIRES: `name` is valid and was not begun
  // before; that of a counter ends in "_total".
  void Family(Type type, std::string_view name, std::string_view help);
  // Adds a sample to the newest family.
  void Sample(double value, const PrometheusLabels& labels = {});

  // A family with one sample.
  void Gauge(std::string_view name, std::string_view help, double value);

  // A family of one histogram: counts[i] is the number of values i, `sum` the sum of all values.
  // REQUIRES: `bounds` ascend. Values above the last bound are in the bucket +Inf alone.
  void Histogram(std::string_view name, std::string_view help,
                 const std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& bounds,
                 double sum);

  const std::string& text() const { return text_; }

 private:
  void Line(std::string_view suffix, const PrometheusLabels& labels, double value);

  std::string text_, family_;
};

}  // namespace starling::monitor
