// The arrows between the rooms, held on the #include lines of every source file, and the namespace
// of each folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"

namespace starling {
namespace {

namespace fs = std::filesystem;

using Rooms = std::set<std::string>;

// Each room with the rooms that it may include.
const std::map<std::string, Rooms>& Arrows() {
  static const std::map<std::string, Rooms> arrows = [] {
    std::map<std::string, Rooms> rooms = {
        {"core", {}},
        {"wire", {"core"}},
        {"envs", {"core"}},
        {"net", {"core"}},
        {"actors", {"envs", "net", "wire", "core"}},
        {"learner", {"net", "wire", "core"}},
    };
    // From here on each room may include all before it.
    for (const char* room :
         {"results", "monitor", "mirror", "fleet", "tools", "programs", "bench"}) {
      Rooms below;
      for (const auto& [name, ignored] : rooms) below.insert(name);
      rooms.emplace(room, std::move(below));
    }
    rooms["api"] = rooms["monitor"];
    rooms["bench"].insert("api");
    rooms["mirror"].erase("monitor");
    rooms["fleet"].erase("mirror");    // it starts ranks as programs
    rooms["bench"].erase("programs");  // a benchmark runs the programs, as a user does
    return rooms;
  }();
  return arrows;
}

std::vector<std::string> RoomNames() {
  std::vector<std::string> names;
  for (const auto& [name, below] : Arrows()) names.push_back(name);
  return names;
}

// Returns the included path with its opening quote or bracket, `"core/log.h`, or "".
std::string Included(std::string line) {
  std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
  const std::string_view directive = "#include";
  if (!line.starts_with(directive)) return "";
  line.erase(0, directive.size());
  const std::size_t end = line.find_first_of("\">", 1);
  const bool good = (line.starts_with('"') || line.starts_with('<')) && end != std::string::npos;
  return good ? line.substr(0, end) : "";
}

// The headers that programs in C include are installed without their room.
bool IsForC(const std::string& room, const std::string& path) {
  return room == "api" && path == "starling.h";
}

// The includes in `text`, a file of `room`, that point against an arrow or do not start at the
// root.
std::vector<std::string> BadIncludes(const std::string& room, const std::string& text) {
  std::vector<std::string> bad;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string included = Included(line);
    if (included.empty()) continue;
    const std::string path = included.substr(1);
    const std::string first = path.substr(0, path.find('/'));
    const bool is_room = Arrows().contains(first) && first != path;
    // <net/if.h> is the system's; in quotes, or in any other room, it is one of our own.
    if (included[0] == '<' && (!is_room || first == "net")) continue;
    if (IsForC(room, path)) continue;
    if (!is_room || (first != room && !Arrows().at(room).contains(first))) bad.push_back(line);
  }
  return bad;
}

std::vector<fs::path> SourcesOf(const std::string& room) {
  static const std::set<std::string> kinds = {".h", ".cc", ".cuh", ".cu"};
  std::vector<fs::path> sources;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(STARLING_SOURCE_DIR) / room)) {
    if (entry.is_regular_file() && kinds.contains(entry.path().extension())) {
      sources.push_back(entry.path());
    }
  }
  return sources;
}

// The namespace of a file's folder: core is plain `starling`, in tools each folder has its own.
std::string NamespaceOf(const fs::path& file) {
  auto folder = file.begin();
  if (*folder == "core") return "starling";
  if (*folder == "tools") ++folder;
  return "starling::" + folder->string();
}

// Returns the namespaces in `text`, the contents of `file` (a path from the root), that are neither
// its folder's nor within it. Kernels of CUDA are in starling::cuda.
std::vector<std::string> ForeignNamespaces(const fs::path& file, const std::string& text) {
  const std::string own = file.extension() == ".cu" ? "starling::cuda" : NamespaceOf(file);
  std::vector<std::string> foreign;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view opening = "namespace starling";
    if (!line.starts_with(opening)) continue;
    const std::string name = line.substr(10, line.find_first_of(" {", opening.size()) - 10);
    if (name != own && !name.starts_with(own + "::")) foreign.push_back(name);
  }
  return foreign;
}

// Names of the <net/...> headers of Linux: a file of ours in net/ would stand before them.
std::set<std::string> SystemNetHeaders() {
  std::set<std::string> names = {"ethernet.h", "if.h",        "if_arp.h",  "if_packet.h",
                                 "if_ppp.h",   "if_shaper.h", "if_slip.h", "ppp-comp.h",
                                 "ppp_defs.h", "route.h",     "bpf.h",     "if_dl.h"};
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator("/usr/include/net", absent)) {
    names.insert(entry.path().filename());
  }
  return names;
}

std::vector<std::string> LikeSystemHeaders(const std::vector<fs::path>& files) {
  std::vector<std::string> taken;
  for (const fs::path& file : files) {
    if (SystemNetHeaders().contains(file.filename())) taken.push_back(file.filename());
  }
  return taken;
}

class ArrowsOf : public testing::TestWithParam<std::string> {};

TEST_P(ArrowsOf, EveryIncludeFollowsThem) {
  const std::vector<fs::path> sources = SourcesOf(GetParam());
  EXPECT_FALSE(sources.empty());
  for (const fs::path& source : sources) {
    EXPECT_THAT(BadIncludes(GetParam(), ReadFile(source)), testing::IsEmpty()) << source;
  }
}

TEST_P(ArrowsOf, EveryFolderIsANamespace) {
  for (const fs::path& source : SourcesOf(GetParam())) {
    const fs::path file = fs::relative(source, STARLING_SOURCE_DIR);
    EXPECT_THAT(ForeignNamespaces(file, ReadFile(source)), testing::IsEmpty()) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Rooms, ArrowsOf, testing::ValuesIn(RoomNames()),
                         [](const auto& room) { return room.param; });

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ArrowsChecker, FindsAPlantedLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"learner", "#include \"actors/actor.h\""},
      {"actors", "  #  include <learner/learner.h>  // why not"},
      {"core", "#include \"wire/codec.h\""},
      {"core", "#include \"tests/support/temp_dir.h\""},
      {"net", "#include \"model.h\""},  // not from the root
      {"results", "#include \"monitor/console.h\""},
      {"monitor", "#include \"fleet/train.h\""},
      {"fleet", "#include \"tools/report/report.h\""},
      {"tools", "#include \"programs/cli.h\""},
  };
  for (const auto& [room, line] : cases) {
    EXPECT_THAT(BadIncludes(room, std::string("#pragma once\n") + line + "\n"), ElementsAre(line));
  }
}

TEST(ArrowsChecker, LetsGoodLinesPass) {
  EXPECT_THAT(BadIncludes("learner",
                          "#include \"learner/apply/lanes.h\"\n#include \"net/model.h\"\n"
                          "#include <vector>\n#include <net/if.h>\n"
                          "// #include \"actors/actor.h\"\n"),
              IsEmpty());
  EXPECT_THAT(BadIncludes("fleet", "#include \"actors/actor.h\"\n"), IsEmpty());
}

TEST(ForeignNamespaces, AreNotThoseOfTheFolder) {
  const struct {
    const char *file, *name;
    bool foreign;
  } cases[] = {
      {"core/config/config.h", "starling", false},
      {"core/log.h", "starling::config", false},
      {"learner/apply/lanes.cc", "starling::learner", false},
      {"tools/report/page.cc", "starling::report", false},
      {"tools/report/page.cc", "starling::tools", true},
      {"wire/codec.cc", "starling", true},
      {"net/cuda/kernels.cu", "starling::cuda", false},
  };
  for (const auto& [file, name, foreign] : cases) {
    const auto found =
        ForeignNamespaces(file, std::string("namespace ") + name + " {\nint a;\n}\n");
    EXPECT_EQ(found.size(), foreign ? 1u : 0u) << file << ", " << name;
  }
}

TEST(NetRoom, NoFileIsNamedLikeASystemNetHeader) {
  EXPECT_THAT(LikeSystemHeaders(SourcesOf("net")), IsEmpty());
  EXPECT_THAT(LikeSystemHeaders({"net/model.h", "net/route.h"}), ElementsAre("route.h"));
}

}  // namespace
}  // namespace starling
