// Where a socket may listen, and waiting for sockets and file descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/wire/wire_test_util.h"
#include "wire/socket.h"

namespace starling::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr SocketOptions kSmall = {.max_elements = 16};

std::string BindError(const std::string& endpoint) {
  Context context;
  return ErrorOf([&] { ServerSocket server(context, endpoint, kSmall); });
}

using Bind = TempDirTest;

TEST_F(Bind, AnEndpointInUseIsTheOperatorsMistake) {
  for (const std::string& endpoint :
       {"ipc://" + (dir_ / "s").string(), std::string("tcp://127.0.0.1:*")}) {
    Context context;
    const ServerSocket first(context, endpoint, kSmall);
    EXPECT_THAT(BindError(first.endpoint()),
                AllOf(HasSubstr(first.endpoint()), HasSubstr("choose another wire.endpoint")));
    ClientSocket client(context, first.endpoint(), kSmall);  // and the first one still listens
    ASSERT_TRUE(WaitWritable(client));
    EXPECT_TRUE(client.Send(Encode({}, Heartbeat{})));
    EXPECT_TRUE(WaitReadable(first));
  }
}

TEST_F(Bind, APathThatCannotBeIsNamed) {
  const std::string missing = "ipc://" + (dir_ / "no" / "s").string();
  EXPECT_THAT(BindError(missing), HasSubstr(missing));
  EXPECT_THAT(BindError("tcp://0.0.0.0:5"), HasSubstr("CURVE"));
}

TEST_F(Bind, AFileThatIsNoSocketIsLeftAlone) {
  const std::filesystem::path path = dir_.Write("precious", "data");
  EXPECT_THAT(BindError("ipc://" + path.string()), HasSubstr("no socket"));
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST_F(Bind, TheSocketOfADeadProcessIsTakenOver) {
  const std::string path = (dir_ / "s").string();
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);  // without unlink, as kill -9 does
  EXPECT_EQ(BindError("ipc://" + path), "");
}

TEST_F(Bind, OnlyTheOwnerMayConnect) {
  const std::filesystem::path path = dir_ / "s";
  Context context;
  {
    const ServerSocket server(context, "ipc://" + path.string(), kSmall);
    EXPECT_EQ(ModeOf(path), 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Bind, IPv6Loopback) {
  Context context;
  std::unique_ptr<ServerSocket> server;
  try {
    server = std::make_unique<ServerSocket>(context, "tcp://[::1]:*", kSmall);
  } catch (const UserError& error) {
    GTEST_SKIP() << error.what();  // a host without IPv6
  }
  EXPECT_THAT(server->endpoint(), testing::StartsWith("tcp://[::1]:"));
  ClientSocket client(context, server->endpoint(), kSmall);
  ASSERT_TRUE(WaitWritable(client));
  EXPECT_TRUE(client.Send(Encode({}, Heartbeat{})));
  EXPECT_TRUE(WaitReadable(*server));
}

TEST(PollTest, AnEventfdWakesIt) {
  Context context;
  TempDir directory;
  const ServerSocket server(context, "ipc://" + (directory / "s").string(), kSmall);
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  PollItem items[] = {{.socket = &server}, {.fd = fd}};
  EXPECT_FALSE(Poll(items, 0));
  std::thread waker([&] {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(fd, &one, sizeof one), 8);
  });
  EXPECT_TRUE(Poll(items, kPatienceMs));
  waker.join();
  EXPECT_FALSE(items[0].readable);
  EXPECT_TRUE(items[1].readable);
  close(fd);
}

TEST(PollTest, AnItemThatIsNothingIsNeverReady) {
  std::array<PollItem, 2> items{};
  items[1].fd = eventfd(1, EFD_CLOEXEC);
  EXPECT_TRUE(Poll(items, 0));
  EXPECT_FALSE(items[0].readable);
  EXPECT_TRUE(items[1].readable);
  EXPECT_FALSE(Poll(std::span(items).first(1), 0));
  close(items[1].fd);
}

TEST(PollTest, ASignalEndsTheWait) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  sigaction(SIGALRM, &action, &before);
  const int fd = eventfd(0, EFD_CLOEXEC);
  PollItem item{.fd = fd};
  // Repeated, for the first may come before the wait begins.
  const itimerval timer = {.it_interval = {0, 10'000}, .it_value = {0, 10'000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  EXPECT_FALSE(Poll({&item, 1}, -1));
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  close(fd);
}

}  // namespace
}  // namespace starling::wire
