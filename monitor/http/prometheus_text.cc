#include "monitor/http/prometheus_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "core/text.h"

namespace starling::monitor {
namespace {

std::string_view TypeName(PrometheusText::Type type) {
  switch (type) {
    case PrometheusText::Type::kCounter:
      return "counter";
    case PrometheusText::Type::kGauge:
      return "gauge";
    case PrometheusText::Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string EscapedValue(const std::string& value) {
  std::string escaped;
  for (const char c : ToUtf8(value)) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      if (c == '\\' || c == '"') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

void PrometheusText::Family(Type type, std::string_view name, std::string_view help) {
  family_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                 TypeName(type));
}

void PrometheusText::Sample(double value, const PrometheusLabels& labels) {
  Line("", labels, value);
}

void PrometheusText::Gauge(std::string_view name, std::string_view help, double value) {
  Family(Type::kGauge, name, help);
  Sample(value);
}

void PrometheusText::Histogram(std::string_view name, std::string_view help,
                               const std::vector<std::uint64_t>& counts,
                               const std::vector<std::uint64_t>& bounds, double sum) {
  Family(Type::kHistogram, name, help);
  const auto up_to = [&](std::size_t values) {
    const auto end = counts.begin() + static_cast<std::ptrdiff_t>(std::min(values, counts.size()));
    return static_cast<double>(std::accumulate(counts.begin(), end, std::uint64_t{0}));
  };
  const double all = up_to(counts.size());
  for (const std::uint64_t bound : bounds) {
    Line("_bucket", {{"le", std::to_string(bound)}}, up_to(bound + 1));
  }
  Line("_bucket", {{"le", "+Inf"}}, all);
  Line("_sum", {}, sum);
  Line("_count", {}, all);
}

void PrometheusText::Line(std::string_view suffix, const PrometheusLabels& labels, double value) {
  text_ += family_;
  text_ += suffix;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", i == 0 ? '{' : ',', labels[i].first,
                   EscapedValue(labels[i].second));
  }
  fmt::format_to(std::back_inserter(text_), "{} {}\n", labels.empty() ? "" : "}", Number(value));
}

}  // namespace starling::monitor
