// What the engine writes into the journal, record by record: a replay, or a reader, lacks each that
// is left out.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/learner/engine_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;

std::string Text(const JournalRecord& record) {
  return std::visit(
      [](const auto& r) -> std::string {
        using T = std::decay_t<decltype(r)>;
        if constexpr (std::is_same_v<T, TermRecord>) {
          return fmt::format("term {} at {}", r.term, r.version);
        } else if constexpr (std::is_same_v<T, EntropyRecord>) {
          return "entropy";
        } else if constexpr (std::is_same_v<T, HashRecord>) {
          return fmt::format("hash {}", r.version);
        } else if constexpr (std::is_same_v<T, JoinRecord>) {
          return fmt::format("join {}", r.slot);
        } else if constexpr (std::is_same_v<T, GrantRecord>) {
          return fmt::format("grant {}: {}", r.slot, r.version);
        } else if constexpr (std::is_same_v<T, ArrivalRecord>) {
          return fmt::format("arrival {}: {}", r.slot,
                             wire::OutcomeName(static_cast<wire::Outcome>(r.outcome)));
        } else if constexpr (std::is_same_v<T, LostRecord>) {
          return fmt::format("lost {}: {}", r.slot,
                             r.why == LostWhy::kDeath ? "death" : "deadline");
        } else if constexpr (std::is_same_v<T, DeathRecord>) {
          return fmt::format("death {}", r.slot);
        } else if constexpr (std::is_same_v<T, UpdateRecord>) {
          return fmt::format("update {} of {}", r.version, r.items.size());
        } else {
          return "?";
        }
      },
      record);
}

using EngineJournalTest = EngineFixture;

TEST_F(EngineJournalTest, EveryStepOfARunIsInTheJournal) {
  std::size_t read = 0;
  const auto more = [&] {  // records since the last call
    engine_->journal().Flush();
    std::vector<std::string> texts;
    JournalReader reader(dir_ / "journal");
    while (const auto record = reader.Next()) texts.push_back(Text(*record));
    texts.erase(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(read));
    read += texts.size();
    return texts;
  };
  // 1. The start.
  JoinBoth(
      {"staleness.bound=0", "learner.hash_every=2", "checkpoint.every_steps=16", "run.steps=24"});
  EXPECT_THAT(more(), ElementsAre("term 1 at 0", "entropy", "hash 0", "join 0", "join 1",
                                  "grant 0: 0", "grant 1: 0"));
  // 2. A grant that expires, whose gradient comes too late.
  Push(Gradient(0));
  Received late = Gradient(1);
  engine_->ExpireGrants(31 * kSecond);
  Apply();
  TakeReplies(31 * kSecond);
  Push(std::move(late));
  TakeReplies(32 * kSecond);
  EXPECT_THAT(more(), ElementsAre("arrival 0: none", "lost 1: deadline", "update 1 of 1",
                                  "grant 0: 1", "arrival 1: no_grant", "grant 1: 1"));
  // 3. A refusal; hashes at every second version, at a checkpoint, at the end of the run.
  Push(Gradient(1, std::numeric_limits<float>::infinity()));
  Push(Gradient(0));
  TakeReplies(33 * kSecond);
  EXPECT_THAT(more(), ElementsAre("arrival 1: not_finite", "arrival 0: none", "grant 1: 1"));
  Push(Gradient(1));
  Apply();
  TakeReplies(34 * kSecond);
  EXPECT_THAT(more(), ElementsAre("arrival 1: none", "update 2 of 2", "hash 2", "grant 0: 2",
                                  "grant 1: 2"));
  Push(Gradient(0));
  engine_->Remove(1, "was killed");
  Apply();
  TakeReplies(34 * kSecond);
  EXPECT_THAT(more(), ElementsAre("arrival 0: none", "lost 1: death", "death 1", "update 3 of 1",
                                  "hash 3", "grant 0: 3"));
  for (int i = 0; i < 2; ++i) {
    Push(Gradient(0));
    Apply();
    TakeReplies(35 * kSecond);
  }
  EXPECT_THAT(more(), ElementsAre("arrival 0: none", "update 4 of 1", "hash 4", "grant 0: 4",
                                  "arrival 0: none", "update 5 of 1", "hash 5"))
      << "the end of the run grants nothing";
}

}  // namespace
}  // namespace starling::learner
