#include "learner/background.h"

#include <utility>

namespace starling::learner {

Background::Background(bool threaded, std::function<void()> on_done)
    : on_done_(std::move(on_done)) {
  if (threaded) thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
}

Background::~Background() = default;

void Background::Run(std::function<void()> work, std::function<void()> then) {
  if (!threaded()) {
    work();
    then();
    return;
  }
  ++given_;
  {
    const std::lock_guard lock(mutex_);
    todo_.push_back({std::move(work), std::move(then)});
  }
  wake_.notify_one();
}

void Background::Finish() {
  if (idle()) return;
  std::vector<Job> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const Job& job : done) {
    ++finished_;
    job.then();
  }
}

void Background::Loop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !todo_.empty(); }) && !stop.stop_requested()) {
    Job job = std::move(todo_.front());
    todo_.pop_front();
    lock.unlock();
    job.work();
    job.work = nullptr;
    lock.lock();
    done_.push_back(std::move(job));
    on_done_();
  }
}

}  // namespace starling::learner
