// What ranks tell each other, as bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "mirror/report.h"
#include "mirror/start_message.h"
#include "tests/support/error_of.h"

namespace starling::mirror {
namespace {

using testing::HasSubstr;

Report ReportWithGradient() {
  return {.gradient = Computed{.header = {.slot = 2, .sequence = 9, .term = 3, .version = 41},
                               .body = {.grant = 7,
                                        .samples = 160,
                                        .norm = 1.5,
                                        .episodes = {{.episode_return = 3, .length = 12}}},
                               .norm = {.finite = true, .norm = 0.5}},
          .stop = true,
          .hashed = 40,
          .hash = 0x1234,
          .circumstances = {.seconds = 12.5, .may_save = true, .journal_broken = true}};
}

TEST(MirrorReport, ComesAsItWasSent) {
  const Report sent = ReportWithGradient();
  const std::vector<Report> got = Unpack({Pack(sent), Pack({.hash = 1})});
  ASSERT_EQ(got.size(), 2u);
  ASSERT_TRUE(got[0].gradient);
  EXPECT_EQ(got[0].gradient->body, sent.gradient->body);
  EXPECT_EQ(got[0].gradient->header.version, 41u);
  EXPECT_TRUE(got[0].gradient->norm.finite);
  EXPECT_EQ(got[0].gradient->norm.norm, 0.5);
  EXPECT_TRUE(got[0].stop);
  EXPECT_EQ(got[0].circumstances.seconds, 12.5);
  EXPECT_TRUE(got[0].circumstances.may_save);
  EXPECT_FALSE(got[0].circumstances.save_failed);
  EXPECT_TRUE(got[0].circumstances.journal_broken);
  EXPECT_EQ(got[0].hash, 0x1234u);
  EXPECT_FALSE(got[1].gradient);
}

TEST(MirrorReport, DamagedBytesAreRefused) {
  Bytes bytes = Pack(ReportWithGradient());
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_THROW(Unpack({bytes}), std::runtime_error);
}

TEST(MirrorReportDeathTest, OtherWeightsAreOurBug) {
  const Report same{.hashed = 40, .hash = 5};
  CheckSameWeights(std::vector<Report>{same, same, same});
  EXPECT_DEATH(CheckSameWeights(std::vector<Report>{same, same, {.hashed = 40, .hash = 6}}),
               "weights of rank 2 are not those of rank 0");
}

TEST(MirrorStart, ComesAsItWasSent) {
  StartMessage sent{
      .config = "[run]\nsteps = 5\n", .session = 77, .fingerprint = 3, .exact = true, .start = {}};
  sent.start.state = {.term = 2,
                      .version = 9,
                      .steps = 1440,
                      .optimizer_step = 8,
                      .weights = {1, 2, 3},
                      .optimizer_state = {{4, 5, 6}, {7, 8, 9}}};
  sent.start.counters.updates = 9;
  sent.start.checkpoint = "checkpoints/a";
  sent.start.reached = 12;
  sent.start.actors = learner::ActorStates{
      .base = 1, .begun = {{0, 1}}, .actors = {{.slot = 0, .life = 3, .state = Bytes(5)}}};
  const StartMessage got = UnpackStart(Pack(sent));
  EXPECT_EQ(got.config, sent.config);
  EXPECT_EQ(got.start.reached, 12u);
  EXPECT_EQ(got.session, 77u);
  EXPECT_EQ(got.fingerprint, 3u);
  EXPECT_TRUE(got.exact);
  EXPECT_FALSE(got.redo);
  EXPECT_EQ(got.start.state.term, 2u);
  EXPECT_EQ(got.start.state.version, 9u);
  EXPECT_EQ(got.start.state.steps, 1440u);
  EXPECT_EQ(got.start.state.optimizer_step, 8u);
  EXPECT_EQ(got.start.state.weights, sent.start.state.weights);
  EXPECT_EQ(got.start.state.optimizer_state, sent.start.state.optimizer_state);
  EXPECT_EQ(got.start.counters.updates, 9u);
  EXPECT_EQ(got.start.checkpoint, "checkpoints/a");
  EXPECT_EQ(got.start.actors, sent.start.actors);
}

TEST(MirrorStart, OfAnotherVersionIsRefusedWithASentence) {
  EXPECT_THAT(ErrorOf<std::runtime_error>([] { UnpackStart(Bytes(40)); }),
              HasSubstr("same program of one build"));
}

}  // namespace
}  // namespace starling::mirror
