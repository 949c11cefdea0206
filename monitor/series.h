// A number over a whole run in bounded memory: its means over equal spans of time. The spans grow
// with the run.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace starling::monitor {

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

// Returns the end of the time axis for a run of `elapsed_s`: 15 s, 30 s, 1 min, 2 min, 5 min, ...
// Steps of this kind rescale a curve only now and then.
double NiceSpan(double elapsed_s);

}  // namespace starling::monitor
