#include "envs/bridge/plugin_library.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/envs/bridge/plugins/counter.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LoadPlugin, RefusesATableWithItsMistake) {
  const std::pair<const char*, const char*> cases[] = {
      {"no_symbol", "exports no function starling_env()"},
      {"wrong_null_table", "starling_env() returned null"},
      {"wrong_version", "abi_version 7, this Starling speaks 1 and 2: build it with"},
      {"wrong_version_3", "abi_version 3, this Starling speaks 1 and 2: build it with"},
      {"wrong_struct_size", "struct_size is 64 bytes, at least 104 are needed"},
      {"wrong_no_create", "\"create\" is null"},
      {"wrong_no_destroy", "\"destroy\" is null"},
      {"wrong_no_reset", "\"reset\" is null"},
      {"wrong_no_step", "\"step\" is null"},
      {"wrong_no_observe", "\"observe\" is null"},
      {"wrong_no_save", "only one of the functions save and restore: define both, or neither"},
      {"wrong_no_restore", "only one of the functions save and restore"},
      {"wrong_height", "height, width and channels are -1, 2 and 3"},
      {"wrong_width_zero", "are 1, 0 and 3"},
      {"wrong_channels", "are 1, 2 and -2147483647"},
      {"wrong_too_large",
       "are 1073741824, 1073741824 and 1073741824: each must be at least 1 and their "
       "product at most 67108864"},
      {"wrong_low_nan", "low and high are nan and 10"},
      {"wrong_bounds", "low and high are 10 and 10"},
      {"wrong_no_actions", "num_actions is 0: it must be from 1 to 65536"},
      {"wrong_many_actions", "num_actions is 65537"},
      {"wrong_no_action_names", "action_names is null: it must hold the names of its 2"},
      {"wrong_null_action_name", "the name of action 1 must be a text"},
      {"wrong_no_name", "its name must be a text"},
      {"wrong_empty_name", "its name must be a text"},
      {"wrong_endless_name", "its name must be a text of 1 to 63 bytes of UTF-8"},
      {"wrong_name_no_utf_8", "its name must be a text"},
      {"wrong_action_no_utf_8", "the name of action 1 must be a text"}};
  for (const auto& [plugin, sentence] : cases) {
    const std::string path = PluginPath(plugin), refusal = ErrorOf([&] { LoadPlugin(path); });
    EXPECT_THAT(refusal, AllOf(HasSubstr("plugin \"" + path + "\": "), HasSubstr(sentence)));
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
  }
}

TEST(LoadPlugin, SaysWhatIsInTheTable) {
  const PluginLibrary library = LoadPlugin(PluginPath("counter"));
  const EnvSpec& spec = library.spec.env;
  EXPECT_EQ(spec.name, "plugin:" + PluginPath("counter"));
  EXPECT_EQ(spec.height, 1);
  EXPECT_EQ(spec.width, 2);
  EXPECT_EQ(spec.channels, 3);
  EXPECT_EQ(spec.low, 0);
  EXPECT_EQ(spec.high, 10);
  EXPECT_THAT(spec.action_names, ElementsAre("pass", "count"));
  EXPECT_EQ(spec.actions.values(), 2);
  EXPECT_TRUE(library.spec.lives);
  EXPECT_FALSE(library.spec.bytes);
}

TEST(LoadPlugin, RefusesAMissingFile) {
  EXPECT_THAT(ErrorOf([] { LoadPlugin("./nowhere.so"); }),
              AllOf(HasSubstr("plugin \"./nowhere.so\": there is no file /"),
                    HasSubstr("/nowhere.so: name one, relative to the current directory")));
  EXPECT_THAT(ErrorOf([] { LoadPlugin(""); }), HasSubstr("there is no file behind"));
}

TEST(LoadPlugin, RefusesADirectory) {
  const TempDir dir;
  EXPECT_THAT(ErrorOf([&] { LoadPlugin(dir.path().string()); }), HasSubstr("is not a file"));
}

TEST(LoadPlugin, RefusesWhatIsNoSharedLibraryWithTheLoadersWords) {
  const TempDir dir;
  const std::string path = dir.Write("mine.so", std::string(4096, 'x')).string();
  EXPECT_THAT(ErrorOf([&] { LoadPlugin(path); }),
              AllOf(HasSubstr("cannot be loaded as a shared library ("), HasSubstr("ELF")));
}

// The oldest table of this version, from a plug-in built before anything was added to it: the
// memory behind it is not its own.
TEST(CheckPluginTable, ReadsNothingBehindTheTablesEnd) {
  starling_env_v1 table = *counter_table();
  table.struct_size = offsetof(starling_env_v1, save);
  std::vector<std::byte> bytes(table.struct_size);
  std::memcpy(bytes.data(), &table, bytes.size());  // the sanitizer watches its end
  EXPECT_EQ(CheckPluginTable("x", bytes.data()).first_step, table.step);
}

// One that was built when the table ended with `error` plays, and cannot be saved.
TEST(LoadPlugin, TakesAnOlderShorterTable) {
  const PluginLibrary library = LoadPlugin(PluginPath("wrong_older"));
  EXPECT_EQ(library.table.save, nullptr);
  EXPECT_FALSE(library.spec.saves);
  EXPECT_TRUE(LoadPlugin(PluginPath("counter")).spec.saves);
}

// A plug-in of a later Starling knows members that we do not.
TEST(CheckPluginTable, TakesALongerTable) {
  starling_env_v1 table = *counter_table();
  table.struct_size = 4096;
  const PluginLibrary library = CheckPluginTable("x", &table);
  EXPECT_EQ(library.first_step, table.step);
  EXPECT_EQ(library.table.error, table.error);
}

TEST(CheckPluginTable, LivesAndErrorMayBeMissing) {
  starling_env_v1 table = *counter_table();
  table.lives = nullptr;
  table.error = nullptr;
  EXPECT_FALSE(CheckPluginTable("x", &table).spec.lives);
}

TEST(CheckPluginTable, LimitsAreAllowed) {
  starling_env_v1 table = *counter_table();
  table.height = 1 << 10, table.width = 1 << 15, table.channels = 2;  // 64 Mi
  const std::vector<const char*> names(65536, "a");
  table.num_actions = 65536;
  table.action_names = names.data();
  EXPECT_EQ(CheckPluginTable("x", &table).spec.env.obs_size(), 67108864);
  table.channels = 3;
  EXPECT_THROW(CheckPluginTable("x", &table), UserError);
}

}  // namespace
}  // namespace starling::envs
