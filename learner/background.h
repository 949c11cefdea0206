// A thread for work that takes long when nets are large: checks and digests of gradients, copies of
// whole nets, memory for newcomers. The network thread answers in the meantime.
//
// Thread safety: Run and Finish belong to the network thread. `work` runs on the other thread, and
// nothing else touches what it changes before `then` runs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace starling::learner {

class Background {
 public:
  // `threaded`: false: everything happens in Run, as is cheaper for small nets. `on_done` is called
  // by the thread after some work is done.
  Background(bool threaded, std::function<void()> on_done);
  ~Background();  // drops the work that has not begun, and every `then` that has not run

  bool threaded() const { return thread_.joinable(); }
  // Returns whether every `then` has run.
  bool idle() const { return pending() == 0; }
  std::size_t pending() const { return given_ - finished_; }

  // Queues `work` for the thread. A later Finish calls `then`, in the order of the calls of Run.
  void Run(std::function<void()> work, std::function<void()> then);
  // Calls `then` for all work that is done.
  void Finish();

 private:
  struct Job {
    std::function<void()> work, then;
  };
  void Loop(const std::stop_token& stop);

  const std::function<void()> on_done_;
  std::size_t given_ = 0, finished_ = 0;  // network thread only
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> todo_;
  std::vector<Job> done_;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace starling::learner
