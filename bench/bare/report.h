// What checks say: a line each, a summary at the end, and that they come to an end at all.
//
// Thread safety: one thread calls; another of its own watches the time.
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
  // Only checks whose name contains `only` are done. One that takes more than `limit_s` ends the
  // process, with a line that says so, as does one that aborts.
  Report(std::string only, double limit_s);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // What it throws is a line, too.
  void Check(const std::string& name, const std::function<Verdict()>& check);
  void Skip(const std::string& name, const std::string& why);

  // Prints how many there were. The exit status.
  int End();

 private:
  void Watch(std::stop_token stop);
  void Say(const char* what, const std::string& name, const std::string& text) const;

  const std::string only_;
  const double limit_s_;
  int agreed_ = 0, failed_ = 0, skipped_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int begun_ = 0;  // checks; behind mutex_, as is what follows
  bool busy_ = false;
  std::string current_;
  std::jthread watcher_;
};

}  // namespace starling::bare
