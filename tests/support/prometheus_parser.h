// A strict reader of Prometheus' exposition format 0.0.4: it refuses everything it does not know.
#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace starling {

struct PrometheusSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct PrometheusFamily {
  std::string type, help;
  std::vector<PrometheusSample> samples;
};

class PrometheusPage {
 public:
  // Throws std::runtime_error naming the line that is wrong.
  explicit PrometheusPage(const std::string& text) {
    if (!text.ends_with('\n')) throw std::runtime_error("the last line does not end");
    std::istringstream lines(text);
    while (std::getline(lines, line_)) Line();
    for (const auto& [name, family] : families_) {
      if (family.type == "histogram") CheckHistogram(name, family);
    }
  }

  const std::map<std::string, PrometheusFamily>& families() const { return families_; }
  // Of the only sample `name` with these labels; NaN if there is none.
  double Value(const std::string& name,
               const std::map<std::string, std::string>& labels = {}) const {
    for (const auto& [family_name, family] : families_) {
      for (const PrometheusSample& sample : family.samples) {
        if (sample.name == name && sample.labels == labels) return sample.value;
      }
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  void Require(bool good, const char* what) const {
    if (!good) throw std::runtime_error(std::string(what) + ": " + line_);
  }

  void Line() {
    static const std::regex kHelp("# HELP ([A-Za-z_:][A-Za-z0-9_:]*) (.+)");
    static const std::regex kType("# TYPE (.+) (counter|gauge|histogram)");
    std::smatch part;
    if (std::regex_match(line_, part, kHelp)) {
      family_ = part[1];
      Require(!families_.contains(family_), "a family begins twice");
      families_[family_].help = part[2];
    } else if (std::regex_match(line_, part, kType)) {
      Require(part[1] == family_, "a type of another family");
      PrometheusFamily& family = families_[family_];
      Require(family.type.empty() && family.samples.empty(), "a type too late");
      family.type = part[2];
      Require((family.type == "counter") == family_.ends_with("_total"),
              "a counter ends in _total, and nothing else does");
    } else {
      Sample();
    }
  }

  void Sample() {
    static const std::regex kSample(R"re(([A-Za-z_:][A-Za-z0-9_:]*)(?:\{([\s\S]+)\})? (\S+))re");
    std::smatch part;
    Require(std::regex_match(line_, part, kSample), "neither help nor type nor sample");
    PrometheusSample sample{.name = part[1], .labels = Labels(part[2]), .value = 0};
    const std::string number = part[3];
    char* end = nullptr;
    sample.value = std::strtod(number.c_str(), &end);
    Require(*end == '\0', "no number");
    PrometheusFamily& family = families_[family_];
    Require(!family.type.empty(), "a sample without a type");
    const std::string suffix =
        sample.name.starts_with(family_) ? sample.name.substr(family_.size()) : "?";
    const bool histogram = family.type == "histogram";
    Require(
        histogram ? suffix == "_bucket" || suffix == "_sum" || suffix == "_count" : suffix.empty(),
        "a sample of another family");
    if (family.type == "counter") {
      Require(sample.value >= 0 && std::isfinite(sample.value), "no count");
    }
    Require(seen_.emplace(sample.name, sample.labels).second, "a sample twice");
    family.samples.push_back(std::move(sample));
  }

  // `text`: NAME="VALUE",NAME="VALUE", or "".
  std::map<std::string, std::string> Labels(const std::string& text) const {
    static const std::regex kLabel(
        R"re(([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\[n"\\])*)"(?:,(?!$)|$))re");
    std::map<std::string, std::string> labels;
    for (auto at = text.begin(); at != text.end();) {
      std::smatch label;
      Require(
          std::regex_search(at, text.end(), label, kLabel, std::regex_constants::match_continuous),
          "no label");
      Require(labels.emplace(label[1], Unescaped(label[2])).second, "a label twice");
      at = label[0].second;
    }
    return labels;
  }

  static std::string Unescaped(const std::string& text) {
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool escaped = text[i] == '\\';
      if (escaped) ++i;
      value += escaped && text[i] == 'n' ? '\n' : text[i];
    }
    return value;
  }

  void CheckHistogram(const std::string& name, const PrometheusFamily& family) {
    line_ = name;
    double bound = -std::numeric_limits<double>::infinity(), count = 0;
    std::optional<double> all, sum;
    for (const PrometheusSample& sample : family.samples) {
      if (sample.name == name + "_bucket") {
        Require(sample.labels.size() == 1 && sample.labels.contains("le"), "a bucket has an le");
        const double le = std::strtod(sample.labels.at("le").c_str(), nullptr);
        Require(le > bound && sample.value >= count, "buckets ascend, and are cumulative");
        bound = le;
        count = sample.value;
      } else {
        (sample.name == name + "_count" ? all : sum) = sample.value;
      }
    }
    Require(std::isinf(bound) && all == count && sum.has_value(), "the last bucket holds all");
  }

  std::map<std::string, PrometheusFamily> families_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
  std::string line_, family_;
};

}  // namespace starling
