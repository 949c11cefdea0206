// A run of `starling train` whose learner is killed, or stopped and resumed, again and again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "learner/storage/checkpoint.h"

namespace starling::bench {

// Milliseconds of the day of a log line "12:34:56.789 ..."; 0 if it begins otherwise.
double TimeOf(const std::string& line);

class EnduringRun {
 public:
  using Strings = std::vector<std::string>;
  // Its directory, `name` in the scratch directory, is removed with the object.
  EnduringRun(const Site& site, const std::string& name) : site_(site), dir_(site.scratch / name) {}

  // Trains, and sends `signal` to the learner up to `times` times, each when it has worked for
  // `work_ms`. After an orderly stop the run is resumed.
  void Train(const std::filesystem::path& config, const Strings& overrides, int signal, int times,
             int work_ms);
  // Goes on with the run. Returns the seconds until its learner listens.
  double Resume(const Strings& overrides);

  // Of one call of `starling train`, in seconds.
  double timeout_s = 600;
  // If set, called with the process id of each learner that is about to be interrupted.
  std::function<void(int learner)> before_interruption{};

  const std::filesystem::path& dir() const { return dir_.path; }
  int interruptions() const { return interruptions_; }
  // The lines of the log with `text`.
  Strings Lines(const std::string& text) const;
  learner::Checkpoint Last() const;
  Json Summary() const;

 private:
  ChildCall CallOf(Strings words, const Strings& overrides, std::function<void()> watch) const;
  void Call(const Strings& words, const Strings& overrides, int signal, int times, int work_ms);

  const Site& site_;
  const Scratch dir_;
  int interruptions_ = 0;
  bool stopped_ = false;
};

}  // namespace starling::bench
