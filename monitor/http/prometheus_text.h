// Text in Prometheus' exposition format, version 0.0.4: families of samples, each with its help and type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::monitor {

// Names and their values, which may be any UTF-8; what is none is replaced.
using PrometheusLabels = std::vector<std::pair<std::string_view, std::string>>;

class PrometheusText {
 public:
  enum class Type : std::uint8_t { kCounter, kGauge, kHistogram };

  // Begins a family, which may stay without samples. `name` is a valid one that was not begun before; a
  // counter's ends in "_total".
  void Family(Type type, std::string_view name, std::string_view help);
  // A sample of the family that was begun last.
  void Sample(double value, const PrometheusLabels& labels = {});

  // A family with one sample.
  void Counter(std::string_view name, std::string_view help, double value);
  void Gauge(std::string_view name, std::string_view help, double value);

  // A family of one histogram. counts[i] values were i; what is above the last of `bounds` (ascending,
  // below counts.size() or beyond it) is in the bucket +Inf alone. `sum` of all values.
  void Histogram(std::string_view name, std::string_view help,
                 const std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& bounds,
                 double sum);

  const std::string& text() const { return text_; }

 private:
  void Line(std::string_view suffix, const PrometheusLabels& labels, double value);

  std::string text_, family_;
};

}  // namespace starling::monitor
