// Pages that repeat other files: docs/reference equals the output of the programs and
// configs/reference.toml, and docs/troubleshooting.md quotes sentences that the source can print.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "api/starling.h"
#include "core/file.h"
#include "envs/bridge/protocol.h"
#include "learner/storage/journal.h"
#include "tests/support/fleet_fixtures.h"
#include "tools/exports/onnx_model.h"
#include "wire/protocol.h"

namespace starling {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = STARLING_SOURCE_DIR;

TEST(DocsPages, TheReferenceIsWhatTheProgramsSay) {
  TempDir dir;
  const Finished finished = RunProgram(
      dir, {(kRoot / "scripts/docs-reference").string(), "--check", "--bin", STARLING_BIN});
  EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
}

// The text of a source file as a program prints it: literals over several lines are joined.
std::string Joined(const std::string& source) {
  std::string joined;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\\' && i + 1 < source.size() && source[i + 1] == '"') continue;
    if (source[i] == '"') {
      const std::size_t next = source.find_first_not_of(" \t\n", i + 1);
      if (next != std::string::npos && source[next] == '"' && next > i + 1) {
        i = next;
        continue;
      }
    }
    joined += source[i];
  }
  return joined;
}

// All of the rooms' sources, one after the other.
std::string AllSources() {
  std::string all;
  for (const char* room : {"core", "wire", "envs", "net", "actors", "learner", "results", "api",
                           "monitor", "fleet", "tools", "programs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      const fs::path extension = entry.path().extension();
      const bool source = extension == ".cc" || extension == ".h" || extension == ".py";
      if (source) all += Joined(ReadFile(entry.path()));
    }
  }
  return all;
}

// The fixed parts, between "…", of the sentence in a heading "### `sentence`".
std::vector<std::string> FixedParts(const std::string& heading) {
  static constexpr std::string_view kVaries = "…";
  std::string sentence = heading.substr(5, heading.rfind('`') - 5);
  std::vector<std::string> parts;
  while (!sentence.empty()) {
    const std::size_t end = std::min(sentence.find(kVaries), sentence.size());
    if (end >= 5) parts.push_back(sentence.substr(0, end));  // not " s: "
    sentence.erase(0, end == sentence.size() ? end : end + kVaries.size());
  }
  return parts;
}

TEST(DocsPages, VersionsAreThoseOfTheSource) {
  const std::string page = ReadFile(kRoot / "docs/versions.md");
  const auto row = [&](const std::string& begin) {
    EXPECT_NE(page.find("\n| " + begin + " |"), std::string::npos) << begin;
  };
  row(fmt::format("C interface | {}", STARLING_INTERFACE));
  row(fmt::format("wire | {}", wire::kProtocolVersion));
  row(fmt::format("workers of environments | {}", envs::kWorkerProtocol));
  row(fmt::format("journal | {}", learner::kJournalFormat));
  row(fmt::format("ONNX | opset {}", exports::kOpset));
  const auto formats = [](const char* file) {
    const std::string source = ReadFile(kRoot / "learner/storage" / file);
    const std::string begin = "Format = \"";
    const std::size_t at = source.find(begin) + begin.size();
    return source.substr(at, source.find('"', at) - at);
  };
  row(fmt::format("checkpoints | `{}`, `{}`", formats("checkpoint.cc"),
                  formats("checkpoint_parts.cc")));
  const std::string plugin = ReadFile(kRoot / "envs/plugin.h");
  EXPECT_NE(plugin.find("STARLING_ENV_VERSION must be 1 or 2"), std::string::npos);
  row("plug-ins | 1 and 2");
  row(fmt::format("Starling | {}", STARLING_RELEASE));
}

TEST(DocsPages, TroubleshootingQuotesSentencesOfTheSource) {
  const std::string sources = AllSources();
  const std::string page = ReadFile(kRoot / "docs/troubleshooting.md");
  int sentences = 0;
  for (std::size_t at = page.find("### `"); at != std::string::npos;
       at = page.find("### `", at + 1)) {
    const std::string heading = page.substr(at, page.find('\n', at) - at);
    ++sentences;
    for (const std::string& part : FixedParts(heading)) {
      EXPECT_NE(sources.find(part), std::string::npos) << heading << "\nnowhere printed: " << part;
    }
  }
  EXPECT_GE(sentences, 20);
}

// The cells of a row of a table, without the frame: "| a | b |" has two.
std::vector<std::string> Cells(const std::string& row) {
  std::vector<std::string> cells;
  for (std::size_t at = 1; at < row.size();) {
    const std::size_t end = std::min(row.find('|', at), row.size());
    cells.push_back(row.substr(at, end - at));
    at = end + 1;
  }
  return cells;
}

// The words between `backticks`.
std::vector<std::string> Quoted(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    words.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

TEST(DocsPages, TheLifeOfAGradientNamesFunctionsThatExist) {
  std::istringstream page(ReadFile(kRoot / "docs/life-of-a-gradient.md"));
  int functions = 0;
  for (std::string line; std::getline(page, line);) {
    const std::vector<std::string> cells = Cells(line);
    if (!line.starts_with("|") || cells.size() != 3 || Quoted(cells[2]).size() != 1) continue;
    const std::string source = ReadFile(kRoot / Quoted(cells[2])[0]);
    for (const std::string& function : Quoted(cells[1])) {
      EXPECT_NE(source.find(" " + function + "("), std::string::npos) << line;
      ++functions;
    }
  }
  EXPECT_GE(functions, 20);
}

}  // namespace
}  // namespace starling
