#include "core/locked_file.h"

#include <gtest/gtest.h>

#include <optional>
#include <system_error>

#include "tests/support/temp_dir.h"

namespace starling {
namespace {

// A second opening is as good as a second process: a lock belongs to an opening of the file.
TEST(LockedFileTest, OneHoldsTheLockAsLongAsItLives) {
  const TempDir dir;
  const auto path = dir / "log";
  EXPECT_FALSE(IsLocked(path)) << "there is no such file";
  std::optional<LockedFile> first(path);
  EXPECT_TRUE(first->held());
  EXPECT_TRUE(IsLocked(path));
  EXPECT_FALSE(LockedFile(path).held());
  first.reset();
  EXPECT_FALSE(IsLocked(path));
  EXPECT_TRUE(LockedFile(path).held());
}

TEST(LockedFileTest, WhereNothingCanBeWritten) {
  const TempDir dir;
  EXPECT_THROW(LockedFile(dir / "absent/log"), std::system_error);
}

}  // namespace
}  // namespace starling
