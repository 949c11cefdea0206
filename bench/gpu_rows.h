// A figure about a GPU, built row by row: a row that cannot be measured holds the reason, and the
// others are measured all the same.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/error.h"
#include "core/gpu.h"

namespace starling::bench {

class GpuRows {
 public:
  // The details begin with the GPU, or why there is none.
  explicit GpuRows(const Site& site) : GpuRows(site, FindGpus()) {}

  const Site& site() const { return site_; }
  bool has_gpu() const { return why_none_.empty(); }
  std::string& details() { return result_.details; }

  // Calls measure(row), which fills in the row and returns its numbers, unless there is no GPU.
  template <class Measure>
  void Add(const std::string& key, Row row, const Measure& measure) {
    std::string why = why_none_;
    try {
      if (why.empty()) result_.json[key] = measure(row);
    } catch (const Interrupted&) {
      throw;
    } catch (const UserError& error) {  // such as no room on it
      row.holds.reset();
      why = error.what();
    } catch (const std::exception& error) {
      Broken(error);
      row.holds = false;
      why = error.what();
    }
    if (!why.empty()) NotMeasured(key, why, row);
    result_.rows.push_back(std::move(row));
  }
  // Something failed that must not: the figure says so, and goes on.
  void Broken(const std::exception& error);
  Result Take() { return std::move(result_); }

 private:
  GpuRows(const Site& site, const GpuSearch& found);
  void NotMeasured(const std::string& key, const std::string& why, Row& row);

  const Site& site_;
  const std::string why_none_;
  Result result_;
};

}  // namespace starling::bench
