#include "wire/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "wire/socket.h"

namespace starling::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string EndpointError(const std::string& endpoint) {
  return starling::ErrorOf([&] { ParseEndpoint(endpoint); });
}

TEST(Endpoint, IpcAndLoopbackAreAllowed) {
  for (const char* good :
       {"ipc:///run/x/control", "ipc://relative", "tcp://127.0.0.1:5555", "tcp://127.8.9.10:1",
        "tcp://127.0.0.1:0", "tcp://127.0.0.1:*", "tcp://localhost:65535", "tcp://[::1]:80",
        "tcp://[0:0:0:0:0:0:0:1]:80"}) {
    EXPECT_EQ(EndpointError(good), "") << good;
  }
  EXPECT_EQ(EndpointError("ipc://" + std::string(107, 'p')), "");
}

TEST(Endpoint, OtherHostsAreRefusedWithWhatIsNeeded) {
  for (const char* open :
       {"tcp://0.0.0.0:5555", "tcp://*:5555", "tcp://10.0.0.1:5555", "tcp://128.0.0.1:1",
        "tcp://learner.example:5555", "tcp://[::]:80", "tcp://[fe80::1]:80", "tcp://127.1:80",
        "tcp://127.0.0.1.example.org:80", "tcp://localhost.example.org:80"}) {
    EXPECT_THAT(EndpointError(open),
                AllOf(HasSubstr(open), HasSubstr("no encryption"), HasSubstr("no authentication"),
                      HasSubstr("CURVE"), HasSubstr("wire.secret"), HasSubstr("ipc://")));
    EXPECT_NO_THROW(ParseEndpoint(open, /*keys=*/true)) << open;
  }
}

TEST(Endpoint, OnlyADirectoryThatNoOtherUserMayWriteToIsPrivate) {
  const TempDir dir;
  const std::string endpoint = "ipc://" + (dir / "control").string();
  EXPECT_TRUE(IsPrivate(endpoint));
  for (const auto open :
       {std::filesystem::perms::group_write, std::filesystem::perms::others_write}) {
    std::filesystem::permissions(dir.path(), open, std::filesystem::perm_options::add);
    EXPECT_FALSE(IsPrivate(endpoint));
    std::filesystem::permissions(dir.path(), open, std::filesystem::perm_options::remove);
  }
  for (const char* other :
       {"tcp://127.0.0.1:5555", "ipc:///tmp/control", "ipc:///nowhere/control"}) {
    EXPECT_FALSE(IsPrivate(other)) << other;
  }
}

TEST(Endpoint, KeysMakeNoHostOfWhatIsNone) {
  for (const char* bad : {"tcp://a b:80", "tcp://a/b:80", "tcp://[fe80::x]:80", "tcp://[]:80",
                          "tcp://**:80", "tcp://10.0.0.1;10.0.0.2:80", "ipc://@abstract"}) {
    EXPECT_THROW(ParseEndpoint(bad, true), UserError) << bad;
  }
}

TEST(Endpoint, MalformedOnesAreRefusedWithAnExample) {
  const std::string long_path = "ipc://" + std::string(108, 'p');
  for (const std::string bad :
       {"", "127.0.0.1:5555", "tcp:127.0.0.1:5555", "tcp://127.0.0.1",
        "tcp://127.0.0.1:", "tcp://:5", "tcp://127.0.0.1:65536", "tcp://127.0.0.1:-1",
        "tcp://127.0.0.1:80x", "tcp://127.0.0.1: 80", "tcp://::1:80",
        "tcp://127.0.0.1:0;127.0.0.1:80", "ipc://", "ipc://@abstract", "ipc://*", "inproc://x",
        "TCP://127.0.0.1:5", "pgm://127.0.0.1:5", long_path.c_str()}) {
    EXPECT_THAT(EndpointError(bad),
                AllOf(HasSubstr("\"" + bad + "\""), HasSubstr("write ipc://PATH")))
        << bad;
  }
  EXPECT_THAT(EndpointError(std::string("ipc:///a\0b", 10)), HasSubstr("control characters"));
  EXPECT_THAT(EndpointError("ipc:///a\nb"), HasSubstr("control characters"));
}

TEST(Endpoint, NamesBecomeNumbers) {
  EXPECT_EQ(ParseEndpoint("tcp://localhost:80", false).zmq, "tcp://127.0.0.1:80");
  EXPECT_EQ(ParseEndpoint("tcp://[::1]:80", false).zmq, "tcp://[::1]:80");
  EXPECT_TRUE(ParseEndpoint("tcp://[::1]:80", false).ipv6);
  EXPECT_FALSE(ParseEndpoint("tcp://127.0.0.1:80", false).ipv6);
  EXPECT_EQ(ParseEndpoint("ipc://a/b", false).path, "a/b");
}

// A label of 64 letters is no name anywhere, which needs no name server to be known.
TEST(Endpoint, NamesThatNobodyKnowsAreTold) {
  const std::string host(64, 'x');
  EXPECT_THAT(FindNameProblem("tcp://" + host + ":5555", true), HasSubstr("\"" + host + "\""));
  EXPECT_EQ(FindNameProblem("tcp://127.0.0.1:5555", false), "");
  EXPECT_EQ(FindNameProblem("tcp://localhost:5555", false), "");
  EXPECT_EQ(FindNameProblem("tcp://[::1]:5555", false), "");
  EXPECT_EQ(FindNameProblem("ipc:///tmp/socket", false), "");
}

}  // namespace
}  // namespace starling::wire
