#include "wire/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kNetElements = 133'120;  // 533 kB, the tensor of the MinAtar net
const SocketOptions kOptions = {.max_elements = kNetElements};

Frames FetchFrames(std::uint64_t number) {
  return Encode({.sequence = number}, Fetch{.version = number});
}

// Server and clients of one test, over the transport that the test is run for.
class Sockets : public testing::TestWithParam<const char*> {
 protected:
  std::string Endpoint() const {
    return std::string(GetParam()) == "ipc" ? "ipc://" + (directory_.path() / "s").string()
                                            : std::string(GetParam()) + ":*";
  }
  std::unique_ptr<ClientSocket> Client() {
    return std::make_unique<ClientSocket>(context_, server_->endpoint(), kOptions);
  }
  // The next message that the server gets.
  Envelope ServerReceives() { return Next(*server_); }
  template <class AnySocket>
  static Envelope Next(AnySocket& socket) {
    Envelope envelope;
    EXPECT_TRUE(
        Until([&] { return socket.Receive(envelope) || (WaitReadable(socket, 100), false); }));
    return envelope;
  }
  static void SendSoon(ClientSocket& client, const Frames& frames) {
    ASSERT_TRUE(Until([&] { return client.Send(frames) || (WaitWritable(client, 100), false); }));
  }
  // A client that has sent a message, so that the server knows its name.
  std::string Introduce(ClientSocket& client) {
    SendSoon(client, FetchFrames(1));
    return ServerReceives().peer();
  }

  TempDir directory_;
  Context context_;
  std::unique_ptr<ServerSocket> server_ =
      std::make_unique<ServerSocket>(context_, Endpoint(), kOptions);
};

INSTANTIATE_TEST_SUITE_P(Transports, Sockets,
                         testing::Values("ipc", "tcp://127.0.0.1", "tcp://localhost"),
                         [](const auto& param) {
                           const std::string name = param.param;
                           return name == "ipc"               ? "Ipc"
                                  : name == "tcp://127.0.0.1" ? "Tcp"
                                                              : "TcpByName";
                         });

TEST_P(Sockets, AGradientAndItsAnswer) {
  const auto client = Client();
  const std::vector<float> tensor = Ramp(kNetElements);
  const Gradient gradient = {.grant = 3, .samples = 160, .norm = 0.5};
  SendSoon(*client, Encode({.slot = 2, .sequence = 1, .version = 7}, gradient, tensor));

  // The gradient arrives.
  const Envelope received = ServerReceives();
  const DecodeResult decoded = Decode(received.frames(), kNetElements);
  ASSERT_TRUE(decoded) << RefusalName(decoded.refusal);
  EXPECT_EQ(decoded.message.body, Body(gradient));
  EXPECT_EQ(decoded.message.header.version, 7u);
  EXPECT_EQ(std::memcmp(decoded.message.floats().data(), tensor.data(), 4 * kNetElements), 0);

  // The answer arrives.
  const Answer said = {.answers = 1, .outcome = Outcome::kApplied, .grants = {{4, 8}}};
  EXPECT_TRUE(server_->Send(received.peer(), Encode({.slot = 2}, said)));
  const Envelope answer = Next(*client);
  EXPECT_EQ(answer.peer(), "");
  const DecodeResult answered = Decode(answer.frames(), 0);
  ASSERT_TRUE(answered) << RefusalName(answered.refusal);
  EXPECT_EQ(answered.message.body, Body(said));
}

// Its memory is free again when the last of them is out, and not before.
TEST_P(Sockets, ASharedTensorReachesEveryPeerThatItIsSentTo) {
  const auto one = Client(), other = Client();
  const std::string name = Introduce(*one), other_name = Introduce(*other);
  const std::vector<float> sent = Ramp(kNetElements);
  std::weak_ptr<float[]> memory;
  {
    const auto values = std::make_shared<float[]>(kNetElements);
    memory = values;
    std::ranges::copy(sent, values.get());
    const SharedTensor tensor(values, kNetElements);
    for (const std::string& peer : {name, other_name}) {
      ASSERT_TRUE(server_->Send(peer, Encode({.version = 5}, Weights{.steps = 9}, tensor)));
    }
  }
  for (ClientSocket* client : {one.get(), other.get()}) {
    const Envelope received = Next(*client);
    const DecodeResult decoded = Decode(received.frames(), kNetElements);
    ASSERT_TRUE(decoded) << RefusalName(decoded.refusal);
    EXPECT_TRUE(std::ranges::equal(decoded.message.floats(), sent));
  }
  EXPECT_TRUE(Until([&] { return memory.expired() || (std::this_thread::yield(), false); }));
}

TEST_P(Sockets, ASharedTensorWaitsWhereItLies) {
  const auto deaf = Client();
  const std::string name = Introduce(*deaf);
  std::vector<std::weak_ptr<float[]>> taken;
  // Until the peer's side is full as well: a message taken then cannot leave.
  EXPECT_TRUE(Until([&] {
    auto values = std::make_shared<float[]>(kNetElements);
    const std::weak_ptr<float[]> memory = values;
    const SharedTensor tensor(std::move(values), kNetElements);
    const SendStatus status = server_->TrySend(name, Encode({}, Weights{}, tensor));
    if (status == SendStatus::kSent) taken.push_back(memory);
    std::this_thread::yield();
    return status == SendStatus::kFull && !taken.back().expired();
  }));
}

// Nor is it lost where it cannot be sent.
TEST_P(Sockets, ASharedTensorIsFreeAgainWhereNobodyTakesIt) {
  auto values = std::make_shared<float[]>(kNetElements);
  const std::weak_ptr<float[]> memory = values;
  const SharedTensor tensor(std::move(values), kNetElements);
  EXPECT_EQ(server_->TrySend("nobody", Encode({}, Weights{}, tensor)), SendStatus::kGone);
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_P(Sockets, MessagesOfOnePeerKeepTheirOrder) {
  const auto client = Client();
  constexpr std::uint64_t kMessages = 2000;  // many times the size of the queues
  std::uint64_t sent = 0, received = 0;
  Envelope envelope;
  ASSERT_TRUE(Until([&] {
    while (sent < kMessages && client->Send(FetchFrames(sent + 1))) ++sent;
    while (server_->Receive(envelope)) {
      const DecodeResult result = Decode(envelope.frames(), 0);
      ++received;
      EXPECT_TRUE(result);
      EXPECT_EQ(result.message.header.sequence, received);
    }
    PollItem items[] = {{.socket = server_.get()},
                        {.socket = client.get(), .want_writable = sent < kMessages}};
    Poll(items, 100);
    return received == kMessages;
  }));
}

TEST_P(Sockets, TensorsOfEverySizeAreAligned) {
  const auto client = Client();
  for (std::size_t size = 1; size <= 100; ++size) {
    const std::vector<float> tensor = Ramp(size);
    SendSoon(*client, Encode({}, Weights{}, tensor));
    const Envelope envelope = ServerReceives();
    const DecodeResult result = Decode(envelope.frames(), kNetElements);
    ASSERT_TRUE(result);
    const std::span<const float> floats = result.message.floats();  // CHECKs the alignment
    EXPECT_EQ(std::vector<float>(floats.begin(), floats.end()), tensor);
  }
}

TEST_P(Sockets, AnEnvelopeKeepsItsBytesWhereverItGoes) {
  const auto client = Client();
  SendSoon(*client, Encode({}, Weights{}, Ramp(1000)));
  SendSoon(*client, Encode({}, Weights{}, Ramp(5)));
  Envelope first = ServerReceives();
  const std::byte* bytes = first.frames().tensor.data();
  const Envelope second = ServerReceives();
  float last = 0;
  std::thread([&, kept = std::move(first)]() mutable {
    EXPECT_EQ(kept.frames().tensor.data(), bytes);
    last = Decode(kept.frames(), kNetElements).message.floats()[999];
    kept = Envelope();
  }).join();
  EXPECT_EQ(last, Ramp(1000)[999]);
  EXPECT_EQ(first.frames().count, 0u);  // NOLINT: moved from, and still harmless
  EXPECT_EQ(Decode(second.frames(), kNetElements).message.floats().size(), 5u);
}

TEST_P(Sockets, AVanishedPeerIsGone) {
  auto client = Client();
  const std::string peer = Introduce(*client);
  EXPECT_TRUE(server_->Send(peer, FetchFrames(1)));
  client.reset();
  ASSERT_TRUE(Until([&] {
    WaitReadable(*server_, 1);
    return server_->TrySend(peer, FetchFrames(2)) == SendStatus::kGone;
  }));
  EXPECT_FALSE(server_->Send(peer, FetchFrames(3)));
  EXPECT_EQ(server_->TrySend("nobody", FetchFrames(4)), SendStatus::kGone);
  const auto other = Client();
  EXPECT_TRUE(server_->Send(Introduce(*other), FetchFrames(5)));
}

TEST_P(Sockets, AFullQueueIsSaidAndHurtsNobodyElse) {
  const auto deaf = Client();
  const auto good = Client();
  const std::string deaf_name = Introduce(*deaf);
  const std::string good_name = Introduce(*good);
  const std::vector<float> tensor = Ramp(kNetElements);
  int sent = 0;
  SendStatus status = SendStatus::kSent;
  while (sent < 1000 && (status = server_->TrySend(deaf_name, Encode({}, Weights{}, tensor))) ==
                            SendStatus::kSent) {
    ++sent;
  }
  EXPECT_EQ(status, SendStatus::kFull);
  // The two queues of eight and the kernel's buffers.
  EXPECT_GE(sent, 8);
  EXPECT_LT(sent, 64);
  EXPECT_TRUE(server_->Send(good_name, FetchFrames(9)));
  EXPECT_EQ(Decode(Next(*good).frames(), 0).message.header.sequence, 9u);
  // It reads again: the queued messages arrive whole, and new ones go through.
  for (int i = 0; i < sent; ++i) {
    const Envelope envelope = Next(*deaf);
    ASSERT_TRUE(Decode(envelope.frames(), kNetElements));
  }
  ASSERT_TRUE(Until([&] {
    WaitReadable(*server_, 1);
    return server_->Send(deaf_name, FetchFrames(10));
  }));
  EXPECT_EQ(Decode(Next(*deaf).frames(), 0).message.header.sequence, 10u);
}

// libzmq notices only now and then that a queue was emptied. So the queue of a learner that
// answered each message at once seemed full after eight of them, and the grant was lost.
TEST_P(Sockets, AQueueThatThePeerEmptiedIsNotFull) {
  const auto client = Client();
  const std::string name = Introduce(*client);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(server_->TrySend(name, FetchFrames(i)), SendStatus::kSent) << i;
    ASSERT_EQ(Decode(Next(*client).frames(), 0).message.header.sequence, i);
  }
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client->Send(FetchFrames(i))) << i;
    ASSERT_EQ(Decode(ServerReceives().frames(), 0).message.header.sequence, i);
  }
}

TEST_P(Sockets, AClientWhoseLearnerDoesNotReadIsTold) {
  const auto client = Client();
  const std::vector<float> tensor = Ramp(kNetElements);
  ASSERT_TRUE(WaitWritable(*client));
  int sent = 0;
  while (sent < 1000 && client->Send(Encode({}, Weights{}, tensor))) ++sent;
  EXPECT_GE(sent, 8);
  EXPECT_LT(sent, 64);
}

TEST_P(Sockets, WhatIsQueuedForALearnerThatIsNotThereReachesItsSuccessor) {
  std::string endpoint;
  server_.reset();
  {
    Context context;  // its end waits until the listener is gone
    endpoint = ServerSocket(context, Endpoint(), kOptions).endpoint();
  }
  ClientSocket client(context_, endpoint, kOptions);
  EXPECT_TRUE(client.Send(FetchFrames(1)));
  server_ = std::make_unique<ServerSocket>(context_, endpoint, kOptions);
  EXPECT_EQ(Decode(ServerReceives().frames(), 0).message.header.sequence, 1u);
}

TEST_P(Sockets, TheSuccessorOfALearnerIsFound) {
  const auto client = Client();
  const std::string endpoint = server_->endpoint();
  Introduce(*client);
  server_.reset();
  ASSERT_TRUE(Until([&] {  // the old port may need a moment
    try {
      server_ = std::make_unique<ServerSocket>(context_, endpoint, kOptions);
      return true;
    } catch (const UserError&) {
      return WaitReadable(*client, 10) && false;
    }
  }));
  // Messages sent before the loss was noticed are lost; the successor gets whole ones.
  Envelope envelope;
  ASSERT_TRUE(Until([&] {
    client->Send(FetchFrames(3));
    return WaitReadable(*server_, 10) && server_->Receive(envelope);
  }));
  EXPECT_EQ(Decode(envelope.frames(), 0).message.header.sequence, 3u);
}

TEST_P(Sockets, AnEndpointInUseIsTheOperatorsMistake) {
  EXPECT_THAT(ErrorOf([&] { ServerSocket second(context_, server_->endpoint(), kOptions); }),
              AllOf(HasSubstr(server_->endpoint()), HasSubstr("choose another wire.endpoint")));
  const auto client = Client();  // and the first one still listens
  Introduce(*client);
}

std::string BindError(const std::string& endpoint) {
  Context context;
  return ErrorOf([&] { ServerSocket server(context, endpoint, kOptions); });
}

TEST(Bind, APathThatCannotBeIsNamed) {
  TempDir directory;
  const std::string missing = "ipc://" + (directory.path() / "no" / "s").string();
  EXPECT_THAT(BindError(missing), HasSubstr(missing));
  EXPECT_THAT(BindError("tcp://0.0.0.0:5"), HasSubstr("CURVE"));
}

TEST(Bind, AFileThatIsNoSocketIsLeftAlone) {
  TempDir directory;
  const std::filesystem::path path = directory.path() / "precious";
  std::ofstream(path) << "data";
  EXPECT_THAT(BindError("ipc://" + path.string()), HasSubstr("no socket"));
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST(Bind, TheSocketOfADeadProcessIsTakenOver) {
  TempDir directory;
  const std::string path = (directory.path() / "s").string();
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);  // without unlink, as kill -9 does
  EXPECT_EQ(BindError("ipc://" + path), "");
}

TEST(Bind, OnlyTheOwnerMayConnect) {
  TempDir directory;
  const std::filesystem::path path = directory.path() / "s";
  Context context;
  {
    const ServerSocket server(context, "ipc://" + path.string(), kOptions);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Bind, IPv6Loopback) {
  Context context;
  std::unique_ptr<ServerSocket> server;
  try {
    server = std::make_unique<ServerSocket>(context, "tcp://[::1]:*", kOptions);
  } catch (const UserError& error) {
    GTEST_SKIP() << error.what();  // a host without IPv6
  }
  EXPECT_THAT(server->endpoint(), testing::StartsWith("tcp://[::1]:"));
  ClientSocket client(context, server->endpoint(), kOptions);
  ASSERT_TRUE(WaitWritable(client));
  EXPECT_TRUE(client.Send(FetchFrames(1)));
  EXPECT_TRUE(WaitReadable(*server));
}

TEST(PollTest, AnEventfdWakesIt) {
  Context context;
  TempDir directory;
  const ServerSocket server(context, "ipc://" + (directory.path() / "s").string(), kOptions);
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
