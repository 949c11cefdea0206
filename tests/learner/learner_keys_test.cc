// A learner with keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/support/learner_fixture.h"
#include "wire/keys.h"

namespace starling {
namespace {

using testing::HasSubstr;

class LearnerKeys : public LearnerFixture {
 protected:
  LearnerKeys() {
    secret_ = wire::WriteKeyFiles(keys_.path(), "learner", own_).secret_file;
    std::filesystem::create_directory(allowed());
    wire::WriteKeyFiles(allowed(), "ada", ada_);
  }
  std::filesystem::path allowed() const { return keys_ / "allowed"; }
  // `more`: overrides, one per line.
  void StartWithKeys(const std::string& more = "updates.start_with=1") {
    Start("wire.endpoint=tcp://127.0.0.1:0\nwire.secret=" + secret_.string() +
          "\nwire.allowed=" + allowed().string() + "\n" + more);
  }
  std::unique_ptr<FakeActor> Peer(const wire::KeyPair& keys) {
    return NewPeer(wire::Credentials{keys, own_.public_key});
  }
  std::uint64_t Refused(const std::string& reason) const {
    const auto found = counters().frames_refused.find(reason);
    return found == counters().frames_refused.end() ? 0 : found->second;
  }
  // Whether the last whole line of metrics.jsonl counts a message for each of `reasons`.
  bool HaveRefused(const std::vector<std::string>& reasons) const {
    const std::string lines = ReadFile(dir_ / "metrics.jsonl");
    const std::string last = lines.substr(0, lines.find_last_of('\n') + 1);
    return std::ranges::all_of(reasons, [&](const std::string& reason) {
      return last.find("\"" + reason + "\"") != std::string::npos;
    });
  }

  TempDir keys_;
  const wire::KeyPair own_ = wire::NewKeyPair(), ada_ = wire::NewKeyPair(),
                      eve_ = wire::NewKeyPair();
  std::filesystem::path secret_;
};

TEST_F(LearnerKeys, ConnectionsWithoutAListedKeyAreRefused) {
  StartWithKeys("updates.start_with=1\nrun.metrics_s=0.2");
  const auto eve = Peer(eve_);
  FakeActor plain(Endpoint(), kFloats),
      lost(Endpoint(), kFloats,
           wire::Credentials{ada_, eve_.public_key});  // meant for another learner
  for (FakeActor* actor : {eve.get(), &plain, &lost}) {
    actor->Send(wire::Hello{.slot = 0, .host = "test", .pid = 1});
  }
  const auto ada = Peer(ada_);
  ada->Join(0);
  const wire::Grant grant = ada->NextGrant();
  EXPECT_TRUE(ada->Await([&] { return HaveRefused({"unknown_key", "handshake"}); }));
  ada->Push(grant, 1.0f);
  EXPECT_EQ(ada->NextGrant().version, 1u);
  Stop();
  EXPECT_EQ(LastPublished()->actors.at(0).key, "ada");
  EXPECT_GE(Refused("unknown_key"), 1u);
  EXPECT_GE(Refused("handshake"), 1u);
  EXPECT_EQ(counters().received, 1u);
}

// Both keys are on the list.
TEST_F(LearnerKeys, AListedKeyCannotPushForAnotherActor) {
  wire::WriteKeyFiles(allowed(), "eve", eve_);
  StartWithKeys();
  const auto ada = Peer(ada_), eve = Peer(eve_);
  ada->Join(0);
  const wire::Grant grant = ada->NextGrant();
  eve->header = ada->header;
  eve->Push(grant, 9.0f);
  eve->header = {};
  eve->Send(wire::Hello{.slot = 1, .host = "test", .pid = 1});  // handled after the gradient
  ASSERT_TRUE(eve->Wait(wire::Kind::kWelcome));
  ada->Push(grant, 1.0f);
  EXPECT_EQ(ada->NextGrant().version, 1u);
  Stop();
  EXPECT_EQ(counters().received, 1u);
  EXPECT_EQ(Refused("another_key"), 1u);
}

TEST_F(LearnerKeys, AMemberWithARevokedKeyIsRemoved) {
  StartWithKeys();
  const auto ada = Peer(ada_);
  ada->Join();
  const wire::Grant grant = ada->NextGrant();
  std::filesystem::remove(allowed() / "ada.public");
  wire::WriteKeyFiles(allowed(), "eve", eve_);
  eventfd_write(reload_fd_, 1);
  const wire::Leave leave = ada->NextLeave();
  EXPECT_EQ(leave.reason, wire::LeaveReason::kRefused);
  EXPECT_THAT(leave.text, HasSubstr("no longer on the learner's list"));
  ada->Push(grant, 1.0f);
  const auto eve = Peer(eve_);
  eve->Join();
  eve->Push(eve->NextGrant(), 1.0f);
  EXPECT_EQ(eve->NextGrant().version, 1u);
  Stop();
  EXPECT_EQ(counters().received, 1u);
  EXPECT_GE(Refused("revoked_key"), 1u);
}

}  // namespace
}  // namespace starling
