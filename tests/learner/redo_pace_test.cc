#include "learner/redo_pace.h"

#include <gtest/gtest.h>

namespace starling::learner {
namespace {

TEST(RedoPace, ACutIsDueOnceTheRedoTakesTooLong) {
  RedoPace pace(30);
  pace.Add(30);
  EXPECT_FALSE(pace.Due(1));
  pace.Add(0.5);
  EXPECT_TRUE(pace.Due(2));
  EXPECT_FALSE(pace.Due(3)) << "asked for once";
  pace.Saved(4, /*cut=*/true);
  pace.Add(29);
  EXPECT_FALSE(pace.Due(100)) << "counted from the cut";
  pace.Add(2);
  EXPECT_TRUE(pace.Due(100));
}

TEST(RedoPace, CutsTakeOnePercentOfTheTime) {
  RedoPace pace(30);
  pace.Add(31);
  ASSERT_TRUE(pace.Due(10));
  pace.Withheld(10), pace.Withheld(10.2);
  pace.Saved(10.5, true);
  pace.Add(1000);
  EXPECT_FALSE(pace.Due(10.5 + 49.9));
  EXPECT_TRUE(pace.Due(10.5 + 50));
  pace.Saved(61, true);  // nothing was withheld
  pace.Add(1000);
  EXPECT_FALSE(pace.Due(61.9));
  EXPECT_TRUE(pace.Due(62));
}

TEST(RedoPace, ACheckpointThatIsNoCutIsNoBeginning) {
  RedoPace pace(30);
  pace.Add(31);
  ASSERT_TRUE(pace.Due(10));
  pace.Withheld(10);
  pace.Saved(11, false);
  EXPECT_FALSE(pace.Due(110));
  EXPECT_TRUE(pace.Due(111)) << "the redo is still too long";
}

TEST(RedoPace, ACheckpointThatWasNotWrittenIsTriedAgainAfterTenSeconds) {
  RedoPace pace(30);
  pace.Retry(5);
  pace.Retry(9);
  EXPECT_FALSE(pace.Due(14.9));
  EXPECT_TRUE(pace.Due(15));
  EXPECT_FALSE(pace.Due(100)) << "asked for once";
  pace.Saved(101, true);
  pace.Retry(101);
  pace.Saved(105, true);
  EXPECT_FALSE(pace.Due(200)) << "another was taken meanwhile";
  // Attempts take one percent of the time, too.
  pace.Withheld(200);
  pace.Saved(201, false);
  pace.Retry(201);
  EXPECT_FALSE(pace.Due(300.9));
  EXPECT_TRUE(pace.Due(301));
}

}  // namespace
}  // namespace starling::learner
