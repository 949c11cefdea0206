// Joins, silences and deadlines, on a fake clock and without a socket.
#include "learner/membership.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class MembershipTest : public EngineFixture {
 protected:
  explicit MembershipTest(std::optional<ActorStates> from = {})
      : EngineFixture({"staleness.bound=0"}, std::move(from)) {}

  void Hello(const std::string& peer, std::int64_t slot = -1, bool fresh = false) {
    membership_.OnHello(peer, "", {.slot = slot, .host = "test", .pid = 1, .fresh = fresh});
  }
  void Beat(std::uint32_t slot) {
    const Member& member = *engine_->roster().Find(slot);
    membership_.OnHeartbeat(
        member.peer, {.slot = slot, .incarnation = member.incarnation, .term = 1, .session = 7});
  }
  // Runs the loop's calls every 50 ms for `seconds`.
  void Pass(double seconds) {
    for (int turn = 0; turn < static_cast<int>(seconds * 20); ++turn) {
      steady_.AdvanceMs(50);
      running_.Tick();
      membership_.OpenWhenReady();
      membership_.ExpireGrants();
      membership_.RemoveSilent();
    }
  }
  std::vector<std::uint32_t> Slots() const {
    std::vector<std::uint32_t> slots;
    for (const auto& [slot, member] : engine_->roster().members()) slots.push_back(slot);
    return slots;
  }
  // "PEER REASON TEXT" for every leave message, "PEER welcome INCARNATION" for every welcome.
  std::vector<std::string> sent_;
  wire::SendStatus next_ = wire::SendStatus::kSent;
  std::uint64_t bytes_ = 0;  // received over every connection

 private:
  wire::SendStatus Deliver(const std::string& peer, const wire::Frames& frames) {
    const wire::FrameView view{.count = 3,
                               .header = frames.header_bytes(),
                               .fields = frames.field_bytes(),
                               .tensor = frames.tensor};
    const auto decoded = wire::Decode(view, 0);
    EXPECT_TRUE(decoded);
    const auto& [header, body, tensor] = decoded.message;
    if (const auto* leave = std::get_if<wire::Leave>(&body))
      sent_.push_back(peer + " leave: " + leave->text);
    if (const auto* welcome = std::get_if<wire::Welcome>(&body)) {
      sent_.push_back(peer + " welcome to " + std::to_string(header.slot) +
                      (welcome->state > 0 ? fmt::format(", {} bytes", welcome->state) : ""));
    }
    if (const auto* part = std::get_if<wire::State>(&body)) {
      sent_.push_back(
          fmt::format("{} state {}+{} of {}", peer, part->offset, part->bytes.size(), part->total));
    }
    if (std::holds_alternative<wire::Heartbeat>(body)) sent_.push_back(peer + " heartbeat");
    return next_;
  }

 protected:
  FakeClock steady_;
  RunningClock running_{steady_};
  Outbox outbox_{*engine_, [this](const std::string& peer, const wire::Frames& frames) {
                   return Deliver(peer, frames);
                 }};
  wire::Context context_;
  wire::RuntimeDir runtime_dir_ =
      wire::RuntimeDir::Create(wire::RuntimeRoot(dir_.path().string()), dir_.path());
  Admission admission_{config_, context_, runtime_dir_, engine_->counters().frames_refused,
                       running_};
  Membership membership_{config_,
                         *engine_,
                         outbox_,
                         admission_,
                         {.endpoint = "",
                          .welcome = [] { return wire::Welcome{}; },
                          .bytes_from = [this](const std::string&) { return bytes_; }},
                         running_};
};

TEST_F(MembershipTest, NewcomersGetTheLowestFreeSlot) {
  Hello("a");
  Hello("b");
  Hello("c", 7);
  EXPECT_THAT(Slots(), ElementsAre(0, 1, 7));
  EXPECT_THAT(sent_, ElementsAre("a welcome to 0", "b welcome to 1", "c welcome to 7"));
  membership_.OnLeave("a");
  Hello("d");
  EXPECT_THAT(Slots(), ElementsAre(0, 1, 7));
}

TEST_F(MembershipTest, AskingForATakenSlotReplacesItsMember) {
  Hello("a", 3);
  Hello("b", 3);
  Hello("b", 3);  // it is asked to repeat it
  EXPECT_THAT(Slots(), ElementsAre(3));
  EXPECT_EQ(engine_->roster().Find(3)->peer, "b");
  EXPECT_THAT(sent_, Contains("a leave: another actor has taken slot 3"));
}

// The actor gave up waiting, joined over a new connection, and then its first hello came out of a
// buffer: it took the slot from its own sender.
TEST_F(MembershipTest, AStaleHelloReplacesNoMember) {
  Hello("new", 3);
  Hello("old", 3);
  EXPECT_EQ(engine_->roster().Find(3)->peer, "new");
  EXPECT_THAT(sent_, ElementsAre("new welcome to 3", "old heartbeat"));
  Hello("older", 3);
  Hello("old", 3);
  EXPECT_EQ(engine_->roster().Find(3)->peer, "new") << "only the last to ask can prove itself";
  Hello("old", 3);
  EXPECT_EQ(engine_->roster().Find(3)->peer, "old");
}

TEST_F(MembershipTest, AHelloWhoseConnectionHasEndedMakesNoMember) {
  next_ = wire::SendStatus::kGone;
  Hello("ghost");
  EXPECT_THAT(Slots(), IsEmpty());
}

// A gradient of a large net over a slow link takes longer than wire.timeout_s, and the heartbeats
// of its actor wait behind it.
TEST_F(MembershipTest, AMemberWhoseMessageIsArrivingIsNotSilent) {
  Hello("a");
  for (int second = 0; second < 60; ++second) {
    ++bytes_;
    Pass(1);
  }
  EXPECT_THAT(Slots(), ElementsAre(0));
  Pass(9);
  EXPECT_THAT(Slots(), ElementsAre(0));
  Pass(6);  // wire.timeout_s is 10; bytes are looked at every 5 s
  EXPECT_THAT(Slots(), IsEmpty()) << "the message has stopped";
}

TEST_F(MembershipTest, AMemberThatIsSilentIsRemoved) {
  Hello("a");
  Hello("b");
  Pass(6);
  Beat(1);
  Pass(4.5);  // wire.timeout_s is 10
  EXPECT_THAT(Slots(), ElementsAre(1));
  EXPECT_EQ(engine_->roster().left().at(0), "was silent for wire.timeout_s = 10 s");
}

TEST_F(MembershipTest, APausedMachineRemovesNoMember) {
  Hello("a");
  Hello("b");
  Pass(6);
  steady_.AdvanceMs(3'600'000);  // an hour in which no process ran
  Pass(3.5);
  EXPECT_THAT(Slots(), ElementsAre(0, 1));
  EXPECT_EQ(engine_->counters().deadlines, 0u);
  Pass(1);
  EXPECT_THAT(Slots(), IsEmpty()) << "they are silent while everything runs";
}

TEST_F(MembershipTest, ALateGrantEndsAfterItsDeadline) {
  Hello("a");
  Hello("b");
  Pass(0.1);
  TakeReplies(running_.NowNs());
  EXPECT_EQ(Push(Gradient(0)), "none");
  for (int second = 0; second < 29; ++second) {
    Beat(0), Beat(1);
    Pass(1);
  }
  EXPECT_EQ(engine_->counters().deadlines, 0u);
  Beat(0), Beat(1);
  Pass(1.1);  // staleness.deadline_s is 30
  EXPECT_EQ(engine_->counters().deadlines, 1u);
  EXPECT_THAT(Slots(), ElementsAre(0, 1)) << "it beats, so it stays";
}

TEST_F(MembershipTest, TheFirstGrantsWaitForAllActors) {
  Hello("a");
  Pass(1);
  EXPECT_FALSE(engine_->open());
  Hello("b");
  Pass(0.1);
  EXPECT_TRUE(engine_->open());
}

TEST_F(MembershipTest, AfterTheStartTimeoutTheRunBeginsWithThosePresent) {
  Pass(61);  // updates.start_timeout_s is 60
  EXPECT_FALSE(engine_->open()) << "nobody is here";
  Hello("a");
  testing::internal::CaptureStderr();
  Pass(0.1);
  EXPECT_TRUE(engine_->open());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("only 1 of 2 actors came within updates.start_timeout_s = 60 s"));
}

TEST_F(MembershipTest, AMemberWithADamagedMessageJoinsAgain) {
  Hello("a");
  membership_.OnDamaged("a", "checksum");
  EXPECT_THAT(Slots(), IsEmpty());
  EXPECT_THAT(sent_, Contains("a leave: damaged message"));
  membership_.OnDamaged("stranger", "checksum");  // not a member: ignored
}

// ---- states

constexpr std::size_t kStateBytes = wire::kMaxStatePart + 10;

// Goes on from a cut with a state for slot 1.
class MembershipAfterACutTest : public MembershipTest {
 protected:
  MembershipAfterACutTest()
      : MembershipTest(
            ActorStates{.base = 1,
                        .begun = {{1, 1}},
                        .actors = {{.slot = 1, .state = std::vector<std::byte>(kStateBytes)}}}) {}
  void Fetch(std::uint32_t slot, std::uint64_t offset) {
    membership_.OnFetchState({.slot = slot,
                              .incarnation = engine_->roster().Find(slot)->incarnation,
                              .term = 1,
                              .session = 7},
                             {offset});
  }
};

TEST_F(MembershipAfterACutTest, AnActorGetsTheStateOfItsSlotInParts) {
  Hello("a", 0);
  Hello("b", 1);
  EXPECT_THAT(sent_, ElementsAre("a welcome to 0", "b welcome to 1, 262154 bytes"));
  sent_.clear();
  Fetch(1, 0);
  Fetch(1, wire::kMaxStatePart);
  EXPECT_THAT(sent_, ElementsAre("b state 0+262144 of 262154", "b state 262144+10 of 262154"));
  sent_.clear();
  Fetch(1, kStateBytes);  // nothing is left
  Fetch(0, 0);            // has none
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(MembershipAfterACutTest, TrainingWaitsForTheActorsWhoseStatesWait) {
  Hello("a", 0);
  Hello("b", 2);  // two actors, but one is another
  Pass(1);
  EXPECT_FALSE(engine_->open());
  Hello("c", 1);
  Pass(0.1);
  EXPECT_TRUE(engine_->open());
}

TEST_F(MembershipAfterACutTest, AfterTheStartTimeoutTheRunGoesOnWithoutThem) {
  Pass(61);
  Hello("a", 0);
  Hello("b", 2);
  testing::internal::CaptureStderr();
  Pass(0.1);
  EXPECT_TRUE(engine_->open());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("1 actors whose states are saved did not come"));
}

TEST_F(MembershipAfterACutTest, AnActorThatCannotUseItsStateBeginsAfresh) {
  Hello("a", 1);
  membership_.OnLeave("a");
  testing::internal::CaptureStderr();
  Hello("b", 1, /*fresh=*/true);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("actor 1 cannot go on from its saved state"));
  EXPECT_EQ(sent_.back(), "b welcome to 1");
}

}  // namespace
}  // namespace starling::learner
