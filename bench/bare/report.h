// The parts of starling-bare. The report of checks: a line for each, a summary at the end, and a
// time limit.
//
// Thread safety: one thread calls it; a thread of its own watches the time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace starling::bare {

struct Verdict {
  bool agrees = true;
  std::string text;
};

class Report {
 public:
  // Runs only checks whose name contains `only`. A check that takes more than `limit_s` or aborts
  // ends the process with a line of its own.
  Report(std::string only, double limit_s);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // Runs a check and prints its line. An exception counts as a failure.
  void Check(const std::string& name, const std::function<Verdict()>& check);
  void Skip(const std::string& name, const std::string& why);

  // Prints the counts. Returns the exit status.
  int End();

 private:
  void Watch(std::stop_token stop);
  void Say(const char* what, const std::string& name, const std::string& text) const;

  const std::string only_;
  const double limit_s_;
  int agreed_ = 0, failed_ = 0, skipped_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int begun_ = 0;      // checks; behind mutex_
  bool busy_ = false;  // behind mutex_, as is current_
  std::string current_;
  std::jthread watcher_;
};

// The checks of `starling-bare check`: they compare the GPU, if there is one, with the plain loops
// on the host. quick: small shapes and few steps, for slow machines and under slow tools
// (sanitizers).
void CheckOps(Report& report);                   // every backend and precision, op by op
void CheckGames(Report& report, bool quick);     // the same actions, the same games, bit for bit
void CheckRollouts(Report& report, bool quick);  // whole unrolls and their gradients

// `starling-bare bench`: prints the speed of actors with and without the GPU, about `seconds` for
// each line. Returns every number as a JSON object. A line that cannot be measured holds the
// reason.
std::string MeasureSpeed(double seconds, bool quick);

}  // namespace starling::bare
