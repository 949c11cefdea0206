// Programs that were compiled with another version of starling.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tests/api/policy_fixture.h"

namespace starling::api {
namespace {

TEST_F(MistakeTest, OfMembersThatThisLibraryDoesNotKnow) {
  struct {
    starling_policy_options known;
    std::uint64_t newer;
  } options{{.size = sizeof(options), .envs = 1, .greedy = 0, .seed = 0}, 1};
  starling_policy* policy = nullptr;
  Expect(starling_policy_open("/nowhere", &options.known, &policy),
         "options sets a member that this library does not know: it has interface 2");
  options.newer = 0;
  Expect(starling_policy_open("/nowhere", &options.known, &policy), "/nowhere is neither");
}

TEST_F(PolicyTest, AnOlderProgramGetsTheMembersThatItKnows) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(3, false);
  starling_spaces spaces{};
  spaces.size = offsetof(starling_spaces, arrays);
  spaces.arrays = -5;
  ASSERT_EQ(starling_policy_spaces(policy.get(), &spaces), STARLING_OK);
  EXPECT_EQ(spaces.size, offsetof(starling_spaces, arrays));
  EXPECT_EQ(spaces.envs, 3);
  EXPECT_EQ(spaces.arrays, -5) << "behind its end";
}

TEST_F(PolicyTest, ANewerProgramReadsZerosInMembersThatThisLibraryDoesNotKnow) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(3, false);
  struct {
    starling_spaces known;
    std::uint64_t newer, behind;
  } spaces{{}, 9, 9};
  spaces.known.size = offsetof(decltype(spaces), behind);
  ASSERT_EQ(starling_policy_spaces(policy.get(), &spaces.known), STARLING_OK);
  EXPECT_EQ(spaces.known.envs, 3);
  EXPECT_EQ(spaces.newer, 0u);
  EXPECT_EQ(spaces.behind, 9u);
}

TEST(Library, NamesItself) {
  EXPECT_EQ(starling_interface(), STARLING_INTERFACE);
  EXPECT_THAT(starling_version(), testing::StartsWith("starling 0."));
}

}  // namespace
}  // namespace starling::api
