// The files that README.md, CONTRIBUTING.md and docs/ link to exist, and so do the configs/ and
// scripts/ that they name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "core/file.h"

namespace starling {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::IsEmpty;

const fs::path kRoot = STARLING_SOURCE_DIR;

// The first group of every match.
std::vector<std::string> Matches(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

// Targets of links and pictures, without URLs and links within the page.
std::vector<std::string> RelativeLinks(const std::string& text) {
  std::vector<std::string> links = Matches(text, R"(\]\(([^)#\s]+)(?:#[^)]*)?\))");
  std::erase_if(links, [](const auto& link) { return link.find("://") != std::string::npos; });
  return links;
}

// "configs/breakout.toml", "scripts/train": no names with "…", "*" or "<" in them.
std::vector<std::string> NamedPaths(const std::string& text) {
  return Matches(text,
                 R"((?:^|[^A-Za-z0-9_./-])((?:configs|scripts)/[A-Za-z0-9_./-]*[A-Za-z0-9_]))");
}

std::vector<std::string> Missing(const fs::path& page, const std::string& text) {
  std::vector<std::string> missing;
  for (const std::string& link : RelativeLinks(text)) {
    if (!fs::exists(page.parent_path() / link)) missing.push_back(link);
  }
  for (const std::string& path : NamedPaths(text)) {
    if (!fs::exists(kRoot / path)) missing.push_back(path);
  }
  return missing;
}

std::vector<fs::path> Pages() {
  std::vector<fs::path> pages = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

TEST(DocsLinks, LeadToFilesThatAreThere) {
  EXPECT_GT(Pages().size(), 10u);
  for (const fs::path& page : Pages()) {
    EXPECT_THAT(Missing(page, ReadFile(page)), IsEmpty()) << page;
  }
}

TEST(DocsLinks, AreFoundInTheTextOfAPage) {
  const std::string text =
      "See [choosing](../choosing.md#bound), ![a picture](a.png) and [a paper](https://a.org/b).\n"
      "`scripts/train configs/catch.toml --set x=1`, runs/configs/x, configs/.\n";
  EXPECT_THAT(RelativeLinks(text), ElementsAre("../choosing.md", "a.png"));
  EXPECT_THAT(NamedPaths(text), ElementsAre("scripts/train", "configs/catch.toml"));
  EXPECT_THAT(Missing(kRoot / "docs/x.md", "[a](gone.md) `configs/gone.toml` [b](replay.md)"),
              ElementsAre("gone.md", "configs/gone.toml"));
}

// Each page of the spectrum shows lines of its configuration.
TEST(DocsLinks, ThePagesOfTheSpectrumQuoteTheirConfigurations) {
  int quoted = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "docs/spectrum")) {
    std::string name = entry.path().stem();
    std::ranges::replace(name, '-', '_');
    const std::string text = ReadFile(entry.path());
    for (const std::string& block : Matches(text, "```toml\n([^`]*)```")) {
      const std::string config = ReadFile(kRoot / "configs/spectrum" / (name + ".toml"));
      for (const std::string& line : Matches(block, "([^\n]+)\n")) {
        EXPECT_NE(config.find("\n" + line), std::string::npos) << name << ": " << line;
      }
      ++quoted;
    }
  }
  EXPECT_GE(quoted, 7);
}

}  // namespace
}  // namespace starling
