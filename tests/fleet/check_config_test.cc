// Checks of a configuration that need this machine: its sockets, files and directories.
#include "fleet/check_config.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"
#include "wire/socket.h"

namespace starling::fleet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The texts of all mistakes, a line each.
std::string Found(const std::vector<std::string>& settings) {
  const Config config =
      ParseConfig("[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n", "test.toml", settings);
  std::string texts;
  for (const Contradiction& one : CheckConfig(config)) {
    texts += one.keys.front() + ": " + one.sentence + "\n";
  }
  return texts;
}

TEST(CheckConfig, APortThatIsTakenIsFoundBeforeTheStart) {
  wire::Context context;
  std::string endpoint;
  {
    const wire::ServerSocket other(context, "tcp://127.0.0.1:0", {.max_elements = 1});
    endpoint = other.endpoint();
    EXPECT_THAT(Found({"wire.endpoint=" + endpoint}),
                AllOf(HasSubstr("wire.endpoint: "), HasSubstr("in use")));
  }
  EXPECT_EQ(Found({"wire.endpoint=tcp://127.0.0.1:0"}), "");
}

TEST(CheckConfig, ARuntimeDirectoryWithTooLongANameIsFoundBeforeTheStart) {
  TempDir dir;
  const auto path = dir / std::string(80, 'x');
  std::filesystem::create_directory(path);
  EXPECT_THAT(Found({"wire.runtime_dir=" + path.string()}),
              AllOf(HasSubstr("wire.runtime_dir: "), HasSubstr("sockets' paths would have")));
}

TEST(CheckConfig, OpenFilesForAllActorsAreRaisedOrRefusedWithTheFigures) {
  EXPECT_EQ(MaxActors(100), 18u);
  const pid_t pid = Fork([] {
    const rlimit limit{40, 100};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    if (!Found({"actors.count=18"}).empty()) return 2;
    rlimit now{};
    if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur != 100) return 3;
    const std::string said = Found({"actors.count=48"});
    return said.find(
               "48: the learner would need 160 open files (64 and 2 an actor), and a process "
               "may have 100 here (ulimit -Hn), enough for 18 actors") == std::string::npos
               ? 4
               : 0;
  });
  EXPECT_EQ(StatusOf(pid), 0);
}

TEST(CheckConfig, TheVersionsThatACorrectionNeedsMustFitIntoMemory) {
  EXPECT_EQ(Found({"staleness.bound=16", "staleness.correction=gap"}), "");
  EXPECT_EQ(Found({"staleness.bound=1_000_000_000_000"}), "") << "it keeps none";
  EXPECT_THAT(
      Found({"staleness.bound=1_000_000_000_000", "staleness.correction=gap"}),
      AllOf(HasSubstr("staleness.bound: staleness.bound = 1000000000000: so many versions of"),
            HasSubstr("GiB, and this machine has")));
}

}  // namespace
}  // namespace starling::fleet
