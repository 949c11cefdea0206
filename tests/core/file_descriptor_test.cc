#include "core/file_descriptor.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace starling {
namespace {

bool Readable(const EventFd& wake_up) {
  pollfd item{.fd = wake_up.fd(), .events = POLLIN, .revents = 0};
  return poll(&item, 1, 0) == 1;
}

TEST(EventFd, IsReadableFromARingUntilItIsSilenced) {
  const EventFd wake_up;
  EXPECT_FALSE(Readable(wake_up));
  std::thread([&] { wake_up.Notify(); }).join();
  wake_up.Notify();
  EXPECT_TRUE(Readable(wake_up));
  wake_up.Clear();
  EXPECT_FALSE(Readable(wake_up));
  wake_up.Clear();  // never waits
}

}  // namespace
}  // namespace starling
