// A seat whose learner does not hold. Its calls, and faults: tests/api/seat_test.cc.
#include "actors/seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/actors/scripted_learner.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::actors {
namespace {

using testing::HasSubstr;

// Each membership ends before it holds: what the learner shares cannot be opened. A program that
// waits a little at a time learns of it, too.
TEST(SeatTest, ALearnerThatItCannotStayWithIsAnError) {
  const TempDir dir;
  const Config config = ParseConfig(
      "", "test.toml", {"actors.count=1", "net.kind=external", "net.initial=model.safetensors"});
  net::ParameterLayout layout;
  layout.Add("w", {16});
  ScriptedLearner learner("ipc://" + (dir / "control").string(),
                          {.config = ToToml(config),
                           .snapshot = (dir / "nowhere").string(),
                           .tensors = {{.name = "w", .shape = {16}}}},
                          {wire::Leave{wire::LeaveReason::kLeaving, ""}}, layout.fingerprint());
  Seat seat({.find_endpoint = [&] { return std::optional(learner.endpoint()); },
             .connect_timeout_s = 0.1});
  const std::string error = ErrorOf<NoLearner>([&] {
    while (seat.Join(1) == Seat::Outcome::kLater) continue;
  });
  EXPECT_THAT(error, HasSubstr("no learner to stay with within 0.1 s"));
}

}  // namespace
}  // namespace starling::actors
