// Messages that wait for room in the queue of a connection, in the order in which they were sent. A
// peer that reads late gets all of them; one that never reads is noticed by its silence, or by the
// limit.
//
// Thread safety: none; it belongs to the network thread of its process.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "wire/codec.h"
#include "wire/socket.h"

namespace starling::learner {

class Backlog {
 public:
  static constexpr std::size_t kMax = std::size_t{1} << 18;  // messages; a few hundred bytes each

  using Deliver = std::function<wire::SendStatus(const wire::Frames&)>;
  explicit Backlog(Deliver deliver) : deliver_(std::move(deliver)) {}

  // Sends `frames` behind everything that waits. Returns false if the connection has ended, or if
  // more than kMax wait.
  bool Send(wire::Frames frames) {
    waiting_.push_back(std::move(frames));
    return SendWaiting();
  }
  // Sends what fits into the queue. Returns as Send.
  bool SendWaiting() {
    for (; !waiting_.empty(); waiting_.pop_front()) {
      const wire::SendStatus status = deliver_(waiting_.front());
      if (status == wire::SendStatus::kGone) return false;
      if (status == wire::SendStatus::kFull) return waiting_.size() <= kMax;
    }
    return true;
  }

 private:
  const Deliver deliver_;
  std::deque<wire::Frames> waiting_;
};

}  // namespace starling::learner
