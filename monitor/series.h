// A number over the time of a whole run, however long, in bounded room: means of equal spans of
// time, which grow as the run does.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace starling::monitor {

class Series {
 public:
  // At first a mean for each `span_s` seconds; once `most` of them (even, at least 2) are full, two
  // and two become one.
  explicit Series(double span_s = 0.5, std::size_t most = 1024);

  // Times do not go back; a value that is not finite is passed over.
  void Add(double at_s, double value);

  bool empty() const { return means_.empty(); }
  double span_s() const { return span_s_; }
  std::size_t size() const { return means_.size(); }
  double last() const { return last_; }  // the newest value; 0 if there is none

  // The mean of each of `columns` equal parts of [0, `until_s`): between two that have values those
  // that have none lie on the line between them; before the first and after the last is nothing.
  std::vector<std::optional<double>> Columns(double until_s, int columns) const;

 private:
  struct Mean {
    double sum = 0, weight = 0;
  };
  void Halve();

  double span_s_;
  const std::size_t most_;
  std::vector<Mean> means_;
  double last_ = 0;
};

// The end of an axis of time for a run `elapsed_s` long: 15 s, 30 s, 1 min, 2 min, 5 min ... so that
// a curve is stretched now and then and not all the time.
double NiceSpan(double elapsed_s);

}  // namespace starling::monitor
