// The newest of something, handed from one thread to another.
//
// Thread safety: Offer and Get may be called from any thread. The lock is held for as long as it takes to
// copy a pointer; Offer does not even wait for that.
#pragma once

#include <memory>
#include <mutex>

namespace starling::monitor {

template <class T>
class Latest {
 public:
  // False if somebody is taking the one before in this very moment: `value` is not kept.
  bool Offer(std::shared_ptr<const T> value) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) value_.swap(value);
    return lock.owns_lock();  // what was there before is destroyed after the lock is given back
  }

  // Null before the first.
  std::shared_ptr<const T> Get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace starling::monitor
