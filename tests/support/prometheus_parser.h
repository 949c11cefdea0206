// A strict reader of Prometheus' exposition format 0.0.4: it refuses everything it does not know.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
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
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      line_ = text.substr(at, end - at);
      at_ = 0;
      if (line_.starts_with("# HELP ")) {
        Help();
      } else if (line_.starts_with("# TYPE ")) {
        Type();
      } else {
        Sample();
      }
      at = end + 1;
    }
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

  std::string Name(bool colons) {
    const std::size_t begin = at_;
    const auto fits = [&](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return std::isalpha(byte) || c == '_' || (colons && c == ':') ||
             (at_ > begin && std::isdigit(byte));
    };
    while (at_ < line_.size() && fits(line_[at_])) ++at_;
    Require(at_ > begin, "no name");
    return line_.substr(begin, at_ - begin);
  }
  void Skip(char c) {
    Require(at_ < line_.size() && line_[at_] == c, "something else was expected");
    ++at_;
  }

  void Help() {
    at_ = 7;
    family_ = Name(true);
    Skip(' ');
    Require(!families_.contains(family_), "a family begins twice");
    families_[family_].help = line_.substr(at_);
    Require(at_ < line_.size(), "no help");
  }
  void Type() {
    at_ = 7;
    Require(Name(true) == family_, "a type of another family");
    Skip(' ');
    PrometheusFamily& family = families_[family_];
    Require(family.type.empty() && family.samples.empty(), "a type too late");
    family.type = line_.substr(at_);
    static const std::set<std::string> kTypes = {"counter", "gauge", "histogram"};
    Require(kTypes.contains(family.type), "no such type");
    const bool total = family_.ends_with("_total");
    Require((family.type == "counter") == total, "a counter ends in _total, and nothing else does");
  }

  void Sample() {
    PrometheusSample sample;
    sample.name = Name(true);
    if (at_ < line_.size() && line_[at_] == '{') Labels(sample.labels);
    Skip(' ');
    const std::string number = line_.substr(at_);
    char* end = nullptr;
    sample.value = std::strtod(number.c_str(), &end);
    Require(!number.empty() && *end == '\0', "no number, or something behind it");
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

  void Labels(std::map<std::string, std::string>& labels) {
    Skip('{');
    do {
      const std::string name = Name(false);
      Skip('=');
      Require(labels.emplace(name, LabelValue()).second, "a label twice");
    } while (line_[at_] == ',' && ++at_ > 0);
    Skip('}');
  }
  std::string LabelValue() {
    Skip('"');
    std::string value;
    for (; at_ < line_.size() && line_[at_] != '"'; ++at_) {
      if (line_[at_] != '\\') {
        value += line_[at_];
        continue;
      }
      const char c = ++at_ < line_.size() ? line_[at_] : '?';
      Require(c == 'n' || c == '\\' || c == '"', "no such escape");
      value += c == 'n' ? '\n' : c;
    }
    Skip('"');
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
  std::size_t at_ = 0;
};

}  // namespace starling
