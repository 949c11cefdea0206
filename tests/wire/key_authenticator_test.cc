#include "wire/key_authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A server with keys that ada may speak to, on loopback; each client is a process of its own.
class Gates : public testing::Test {
 protected:
  Gates() { WriteKeyFiles(allowed(), "ada", ada_); }
  std::filesystem::path allowed() const { return dir_ / "allowed"; }

  std::unique_ptr<ClientSocket> Client(const KeyPair& keys) {
    return Client(keys, server_keys_.public_key);
  }
  std::unique_ptr<ClientSocket> Client(const std::optional<KeyPair>& keys,
                                       const std::string& server_key) {
    return std::make_unique<ClientSocket>(
        outside_, server_.endpoint(),
        SocketOptions{
            .max_elements = kElements, .linger_ms = 0, .keys = keys, .server_key = server_key});
  }
  // Looks at everything that came, for at most 50 ms. True if a message did.
  bool Read() {
    PollItem items[] = {{.socket = &authenticator_}, {.socket = &server_}};
    Poll(items, 50);
    for (std::string& line : authenticator_.Answer()) turned_away_.push_back(std::move(line));
    failed_ += server_.FailedHandshakes();
    return server_.Receive(received_);
  }
  // Returns whether its message arrives. Rejections meanwhile do not count: the monitor may report
  // an earlier peer late.
  bool Heard(ClientSocket& client) {
    Send(client);
    return Until([&] { return Read(); });
  }
  // Returns whether the server turns a peer away, and no message arrives until then.
  bool TurnedAway(ClientSocket& client) {
    const std::size_t before = turned_away_.size() + failed_;
    Send(client);
    bool heard = false;
    return Until([&] {
             heard = Read() || heard;
             return heard || turned_away_.size() + failed_ > before;
           }) &&
           !heard;
  }

  TempDir dir_;
  const KeyPair server_keys_ = NewKeyPair(), ada_ = NewKeyPair(), eve_ = NewKeyPair();
  Context context_, outside_;
  KeyAuthenticator authenticator_{context_, MakeAllowed()};
  static constexpr std::size_t kElements = 200'000;  // larger than any fields
  ServerSocket server_{
      context_, "tcp://127.0.0.1:*", {.max_elements = kElements, .keys = server_keys_}};
  Envelope received_;
  std::vector<std::string> turned_away_;
  std::size_t failed_ = 0;

 private:
  void Send(ClientSocket& client) {
    EXPECT_TRUE(Until([&] {
      if (client.Send(Encode({}, Heartbeat{}))) return true;
      EXPECT_FALSE(Read());
      return false;
    }));
  }
  std::filesystem::path MakeAllowed() {
    std::filesystem::create_directories(allowed());
    return allowed();
  }
};

TEST_F(Gates, WhoIsOnTheListComesInByTheKeyThatIsThere) {
  EXPECT_THAT(authenticator_.Reload(), ElementsAre(HasSubstr("1 keys on the list")));
  const auto client = Client(ada_);
  ASSERT_TRUE(Heard(*client));
  EXPECT_EQ(received_.key(), ada_.public_key);
  ASSERT_NE(authenticator_.NameOf(received_.key()), nullptr);
  EXPECT_EQ(*authenticator_.NameOf(received_.key()), "ada");
  ASSERT_TRUE(server_.Send(received_.peer(), Encode({}, Heartbeat{})));
  Envelope answer;
  EXPECT_TRUE(Next(*client, answer));
  EXPECT_TRUE(Decode(answer.frames(), 0));
  EXPECT_EQ(answer.key(), "");
}

// The cipher makes it longer than the largest that may come in plain.
TEST_F(Gates, TheLargestTensorComesThroughEitherWay) {
  authenticator_.Reload();
  const auto client = Client(ada_);
  const std::vector<float> tensor = Ramp(kElements);
  ASSERT_TRUE(client->Send(Encode({}, Gradient{.samples = 1}, tensor)));
  ASSERT_TRUE(Until([&] { return Read(); }));
  EXPECT_TRUE(std::ranges::equal(Decode(received_.frames(), kElements).message.floats(), tensor));
  ASSERT_TRUE(server_.Send(received_.peer(), Encode({}, Weights{}, tensor)));
  Envelope answer;
  ASSERT_TRUE(Next(*client, answer));
  EXPECT_TRUE(std::ranges::equal(Decode(answer.frames(), kElements).message.floats(), tensor));
}

TEST_F(Gates, AnUnknownKeyIsTurnedAwayByName) {
  const auto client = Client(eve_);
  EXPECT_TRUE(TurnedAway(*client));
  EXPECT_THAT(turned_away_, Contains(HasSubstr(eve_.public_key)));
  EXPECT_THAT(turned_away_.front(), HasSubstr("127.0.0.1"));
}

TEST_F(Gates, WithAWrongServerKeyNobodyComesIn) {
  authenticator_.Reload();
  const auto client = Client(ada_, eve_.public_key);
  EXPECT_TRUE(TurnedAway(*client));
  EXPECT_THAT(turned_away_, IsEmpty());  // it did not come so far as to show its own
  EXPECT_GE(failed_, 1u);
}

TEST_F(Gates, PlainTextIsTurnedAway) {
  const auto client = Client(std::nullopt, "");
  EXPECT_TRUE(TurnedAway(*client));
  EXPECT_GE(failed_, 1u);
}

TEST_F(Gates, AChangedListHoldsFromTheReloadOn) {
  authenticator_.Reload();
  const auto ada = Client(ada_);
  ASSERT_TRUE(Heard(*ada));
  std::filesystem::remove(allowed() / "ada.public");
  WriteKeyFiles(allowed(), "eve", eve_);
  EXPECT_NE(authenticator_.NameOf(ada_.public_key), nullptr);
  authenticator_.Reload();
  // Messages over the standing connection carry a key that is no longer on the list; a new
  // connection does not get that far.
  EXPECT_EQ(authenticator_.NameOf(ada_.public_key), nullptr);
  ASSERT_TRUE(Heard(*ada));
  EXPECT_EQ(received_.key(), ada_.public_key);
  EXPECT_TRUE(TurnedAway(*Client(ada_)));
  EXPECT_TRUE(Heard(*Client(eve_)));
}

TEST_F(Gates, AListThatCannotBeReadAdmitsNobodyButItsOwn) {
  authenticator_.Admit(eve_.public_key, "of this host");
  std::filesystem::remove_all(allowed());
  EXPECT_THAT(authenticator_.Reload(),
              ElementsAre(HasSubstr("0 keys"), HasSubstr("cannot be read")));
  EXPECT_TRUE(TurnedAway(*Client(ada_)));
  EXPECT_TRUE(Heard(*Client(eve_)));
  EXPECT_EQ(*authenticator_.NameOf(eve_.public_key), "of this host");
}

TEST_F(Gates, ADirectoryThatIsNotThereIsTheOperatorsMistake) {
  Context other;
  EXPECT_THROW(KeyAuthenticator(other, dir_ / "gone"), UserError);
}

// Fails closed.
TEST(KeyAuthenticatorTest, WithoutAGateNobodyComesIn) {
  const KeyPair server_keys = NewKeyPair(), ada = NewKeyPair();
  Context context, outside;
  ServerSocket server(context, "tcp://127.0.0.1:*", {.keys = server_keys});
  ClientSocket client(outside, server.endpoint(),
                      {.linger_ms = 0, .keys = ada, .server_key = server_keys.public_key});
  EXPECT_TRUE(client.Send(Encode({}, Heartbeat{})));
  std::size_t failed = 0;
  Envelope received;
  EXPECT_TRUE(Until([&] {
    WaitReadable(server, 20);
    EXPECT_FALSE(server.Receive(received));
    failed += server.FailedHandshakes();
    return failed > 0;
  }));
}

}  // namespace
}  // namespace starling::wire
