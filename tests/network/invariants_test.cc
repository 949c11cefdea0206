// The checker of invariants finds each violation.
#include "tests/network/invariants.h"
#include "learner/storage/journal_writer.h"

#include <gmock/gmock.h>

#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using learner::ArrivalRecord;
using learner::TermRecord;
using learner::UpdateRecord;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class InvariantsTest : public testing::Test {
 protected:
  InvariantsTest() {
    dir_.Write("summary.json",
               R"({"staleness": {"bound": 1}, "updates": 2, "final_checkpoint": "none",
                   "gradients": {"received": 3, "applied": 2, "in_flight": 0, "dropped": {}}})");
    dir_.Write("metrics.jsonl", Line(1) + Line(0));
  }
  static std::string Line(int updates) {
    return R"({"term": 1, "steps": 5, "frames_refused": {}, "updates": )" +
           std::to_string(updates) +
           R"(, "gradients": {"received": 1, "applied": 1, "in_flight": 0, "dropped": {}}})" + "\n";
  }
  std::vector<std::string> Broken(const std::vector<learner::JournalRecord>& records) {
    {
      learner::JournalWriter journal(dir_ / "journal", {});
      for (const auto& record : records) journal.Append(record);
    }
    return CheckRun(dir_.path()).broken;
  }
  static ArrivalRecord Arrival(std::uint64_t sequence, std::uint64_t base) {
    return {.sequence = sequence, .base_version = base, .samples = 5};
  }
  static UpdateRecord Update(std::uint64_t version, std::uint64_t sequence) {
    return {.version = version, .steps = 5 * version, .items = {{.sequence = sequence}}};
  }

  TempDir dir_;
};

TEST_F(InvariantsTest, AJournalThatIsSound) {
  const auto broken =
      Broken({TermRecord{.term = 1}, Arrival(1, 0), Update(1, 1), Arrival(2, 0), Update(2, 2)});
  EXPECT_THAT(broken, Not(Contains(HasSubstr("journal:"))));
}

TEST_F(InvariantsTest, EachViolationIsFound) {
  const std::pair<const char*, std::vector<learner::JournalRecord>> cases[] = {
      {"applied twice",
       {TermRecord{.term = 1}, Arrival(1, 0), Update(1, 1), Arrival(1, 1), Update(2, 1)}},
      {"not held", {TermRecord{.term = 1}, Update(1, 1)}},
      {"a staleness of 2, bound 1",
       {TermRecord{.term = 1, .version = 5, .steps = 25}, Arrival(1, 3), Update(6, 1)}},
      {"version 3 after 0", {TermRecord{.term = 1}, Arrival(1, 0), Update(3, 1)}},
      {"term 1 after term 2", {TermRecord{.term = 2}, TermRecord{.term = 1}}},
  };
  for (const auto& [violation, records] : cases) {
    EXPECT_THAT(Broken(records), Contains(HasSubstr(violation)));
  }
}

TEST_F(InvariantsTest, MetricsAndCountsThatDoNotAgree) {
  const auto broken = Broken({TermRecord{.term = 1}});
  EXPECT_THAT(broken, Contains(HasSubstr("metrics.jsonl:2: (term, version) goes back")));
  EXPECT_THAT(broken, Contains(HasSubstr("summary.json: received is not")));
  EXPECT_THAT(broken, Contains(HasSubstr("updates: 2 in the summary, 0 in the journal")));
}

}  // namespace
}  // namespace starling
