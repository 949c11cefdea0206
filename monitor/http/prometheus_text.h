// Text in Prometheus' exposition format, version 0.0.4: families of samples, each with help and
// type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::monitor {

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
