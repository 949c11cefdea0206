// Work that takes long where nets are large: checks and digests of gradients, copies of whole nets,
// memory for newcomers. A thread of its own does it, so that the network thread can answer
// meanwhile; what follows from it runs on the network thread, in the order of the calls of Run.
//
// Thread safety: Run and Finish belong to the network thread. `work` runs on the other thread: it
// owns what it changes.
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
  ~Background();  // work that has not begun is dropped, and so is what follows

  bool threaded() const { return thread_.joinable(); }
  // Everything given so far is finished.
  bool idle() const { return pending() == 0; }
  std::size_t pending() const { return given_ - finished_; }

  // Has `work` done, then lets Finish call `then`.
  void Run(std::function<void()> work, std::function<void()> then);
  // Calls what follows from finished work.
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
