// Answers that wait for room in the queue of a connection.
#include "learner/outbox.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StrEq;
using wire::SendStatus;

class OutboxTest : public EngineFixture {
 protected:
  OutboxTest() : EngineFixture(std::vector<std::string>{}) {
    for (const std::uint32_t slot : {0u, 1u}) engine_->Join(slot, "peer");
  }

  Member& At(std::uint32_t slot) { return *engine_->roster().Find(slot); }
  static wire::Answer OutcomeOf(std::uint64_t gradient) {
    return {.outcomes = {{gradient, wire::Outcome::kApplied}}};
  }
  Outbox::Sent Send(SendStatus next) {
    next_ = next;
    return outbox_.SendAnswers(engine_->roster());
  }

  SendStatus next_ = SendStatus::kSent;  // of the connection
  std::vector<wire::Answer> sent_;
  Outbox outbox_{*engine_, [this](const std::string&, const wire::Frames& frames) {
                   const auto decoded = wire::Decode({.count = wire::kMessageFrames,
                                                      .header = frames.header_bytes(),
                                                      .fields = frames.field_bytes(),
                                                      .tensor = {}},
                                                     0);
                   if (next_ == SendStatus::kSent) {
                     sent_.push_back(std::get<wire::Answer>(decoded.message.body));
                   }
                   return next_;
                 }};
};

// Once, and behind a grant: without one the actor does not need them.
TEST_F(OutboxTest, WeightsArePromisedBehindTheNextGrantOfOneWhoWantsThem) {
  At(0).wants_weights = true;
  outbox_.Add(At(0), OutcomeOf(1));
  EXPECT_THAT(Send(SendStatus::kSent).want_weights, IsEmpty());
  for (const std::uint64_t number : {5, 6}) {
    outbox_.Add(At(0), {.grants = {{.number = number, .version = 0}}});
    outbox_.Add(At(1), {.grants = {{.number = number + 10, .version = 0}}});
    const std::vector<std::uint32_t> told = Send(SendStatus::kSent).want_weights;
    EXPECT_EQ(told, number == 5 ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{});
  }
  ASSERT_EQ(sent_.size(), 5u);
  EXPECT_EQ(sent_[0].weights, 0u);
  EXPECT_EQ(sent_[1].weights, 1u);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(sent_[i].weights, 0u) << i;
}

TEST_F(OutboxTest, AFullQueueKeepsTheAnswerAndTheNextTurnSendsAllOfItAtOnce) {
  outbox_.Add(At(0), OutcomeOf(1));
  outbox_.Add(At(0), {.grants = {{.number = 5, .version = 0}}});
  At(0).wants_weights = true;
  for (int turn = 0; turn < 3; ++turn) {
    const Outbox::Sent sent = Send(SendStatus::kFull);
    EXPECT_THAT(sent.lost, IsEmpty());
    EXPECT_THAT(sent.want_weights, IsEmpty());
    EXPECT_TRUE(outbox_.waiting());
  }
  outbox_.Add(At(0), OutcomeOf(2));
  EXPECT_THAT(Send(SendStatus::kSent).want_weights, ElementsAre(0));
  EXPECT_FALSE(outbox_.waiting());
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_THAT(sent_[0].outcomes, ElementsAre(OutcomeOf(1).outcomes[0], OutcomeOf(2).outcomes[0]));
  EXPECT_EQ(sent_[0].grants.size(), 1u);
  Send(SendStatus::kSent);
  EXPECT_EQ(sent_.size(), 1u) << "it is sent once";
}

TEST_F(OutboxTest, AMemberWhoseConnectionEndedIsLost) {
  outbox_.Add(At(1), OutcomeOf(1));
  EXPECT_THAT(Send(SendStatus::kGone).lost,
              ElementsAre(Pair(1, StrEq("has ended its connection"))));
}

TEST_F(OutboxTest, AMemberThatEarnsAnswersAndReadsNoneIsLost) {
  for (std::size_t i = 0; i < 10 * wire::kMaxOutcomes; ++i) outbox_.Add(At(1), OutcomeOf(i));
  EXPECT_LE(At(1).unsent.outcomes.size(), wire::kMaxOutcomes + 1) << "memory is bounded";
  EXPECT_THAT(Send(SendStatus::kFull).lost,
              ElementsAre(Pair(1, StrEq("does not read its answers"))));
}

TEST_F(OutboxTest, AnAnswerIsNotForTheNextMemberInTheSlot) {
  outbox_.Add(At(0), OutcomeOf(1));
  engine_->Remove(0, "test");
  engine_->Join(0, "another");
  Send(SendStatus::kSent);
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace starling::learner
