#include "core/bell.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace starling {
namespace {

bool Readable(const Bell& bell) {
  pollfd item{.fd = bell.fd(), .events = POLLIN, .revents = 0};
  return poll(&item, 1, 0) == 1;
}

TEST(Bell, IsReadableFromARingUntilItIsSilenced) {
  const Bell bell;
  EXPECT_FALSE(Readable(bell));
  std::thread([&] { bell.Ring(); }).join();
  bell.Ring();
  EXPECT_TRUE(Readable(bell));
  bell.Silence();
  EXPECT_FALSE(Readable(bell));
  bell.Silence();  // never waits
}

}  // namespace
}  // namespace starling
