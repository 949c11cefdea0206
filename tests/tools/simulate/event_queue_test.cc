// Virtual time: in order, and at one time in the order in which things were asked for.
#include "tools/simulate/simulator.h"

#include <gmock/gmock.h>

#include <string>

namespace starling::simulate {
namespace {

using testing::ElementsAre;

class EventQueueTest : public testing::Test {
 protected:
  void Add(std::int64_t at_ns, const std::string& name) {
    events_.At(at_ns, [this, name] { done_.push_back(name + std::to_string(events_.now_ns())); });
  }
  void DoAll() {
    while (!events_.empty()) events_.Next();
  }
  EventQueue events_;
  std::vector<std::string> done_;
};

TEST_F(EventQueueTest, TheEarliestFirstAndAtOneTimeInTheOrderTheyWereAdded) {
  for (const char* name : {"d", "a", "c", "b", "e", "z", "y"}) Add(30, name);
  Add(20, "x");
  DoAll();
  EXPECT_THAT(done_, ElementsAre("x20", "d30", "a30", "c30", "b30", "e30", "z30", "y30"));
}

TEST_F(EventQueueTest, AnEventMayAddOthersEvenForNow) {
  events_.At(1, [this] {
    Add(1, "now");
    Add(2, "later");
  });
  Add(2, "before");
  DoAll();
  EXPECT_THAT(done_, ElementsAre("now1", "before2", "later2"));
}

TEST_F(EventQueueTest, ThePastIsOurBug) {
  Add(7, "a");
  DoAll();
  EXPECT_DEATH(Add(6, "b"), "an event at 6 ns, and it is 7 ns");
}

}  // namespace
}  // namespace starling::simulate
