// What the end of mpirun says of its ranks.
#include "fleet/learner_command.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace starling::fleet {
namespace {

TEST(LearnerCommand, AKilledRankEndsMpirunWithAStatus) {
  using How = ChildExit::How;
  const struct {
    ChildExit exit;
    std::string of_learner, of_mpirun;
  } kEnds[] = {
      {{How::kExited, 0}, "ended with exit status 0", "ended with exit status 0"},
      {{How::kExited, 4}, "ended with exit status 4", "ended with exit status 4"},
      {{How::kExited, 137}, "ended with exit status 137", "was killed by SIGKILL"},
      {{How::kExited, 139}, "ended with exit status 139", "was killed by SIGSEGV"},
      {{How::kKilled, SIGKILL}, "was killed by SIGKILL", "was killed by SIGKILL"},
  };
  const LearnerCommand learner, mpirun{.program = {}, .has_actors = false};
  for (const auto& [exit, of_learner, of_mpirun] : kEnds) {
    EXPECT_EQ(Describe(learner.EndOf(exit)), of_learner);
    EXPECT_EQ(Describe(mpirun.EndOf(exit)), of_mpirun);
  }
}

}  // namespace
}  // namespace starling::fleet
