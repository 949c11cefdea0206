#include "learner/refusal_watch.h"

#include <gmock/gmock.h>

namespace starling::learner {
namespace {

using testing::HasSubstr;
using wire::Outcome;

TEST(RefusalWatch, NeedsManyRefusalsAndALongTime) {
  RefusalWatch watch({.count = 3, .ms = 60'000});
  const auto after = [&](std::int64_t now_ms, Outcome outcome) {
    watch.Count(now_ms, outcome);
    return watch.hopeless();
  };
  EXPECT_FALSE(after(1'000, Outcome::kNotFinite));
  EXPECT_FALSE(after(61'000, Outcome::kNotFinite)) << "long enough, but only two";
  EXPECT_TRUE(after(61'001, Outcome::kNotFinite));
  EXPECT_FALSE(after(61'002, Outcome::kNone)) << "one was accepted";
  for (std::int64_t ms = 70'000; ms < 130'000; ms += 1'000) {
    EXPECT_FALSE(after(ms, Outcome::kNotFinite)) << "many, but too soon";
  }
  EXPECT_TRUE(after(130'000, Outcome::kNotFinite));
}

TEST(RefusalWatch, NamesTheMostFrequentReasonAndWhatToDo) {
  const Config config = ParseConfig("[updates]\nmax_norm = 2.5\n", "test.toml");
  const struct {
    Outcome outcome;
    const char *name, *remedy;
  } cases[] = {{Outcome::kNotFinite, "not_finite", "lower optimizer.lr"},
               {Outcome::kNormTooLarge, "norm_too_large", "updates.max_norm = 2.5: raise it"},
               {Outcome::kNoGrant, "no_grant", "staleness.deadline_s"},
               {Outcome::kBadSamples, "bad_samples", "the log has the first of them"}};
  for (const auto& [outcome, name, remedy] : cases) {
    RefusalWatch watch({});
    watch.Count(0, Outcome::kDuplicate);
    watch.Count(1'000, outcome);
    watch.Count(9'000, outcome);
    EXPECT_THAT(watch.Describe(config),
                testing::AllOf(HasSubstr("all 3 gradients of the last 9 s were refused, 2 of them"),
                               HasSubstr(name), HasSubstr(remedy)));
  }
}

}  // namespace
}  // namespace starling::learner
