// A config and its overrides (core/config/config.h). The input: the text of the file, then each
// "section.key=value", with zeros between them.
#include "core/config/config.h"

#include <string>
#include <unordered_set>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace starling;

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> overrides = Split(fuzz::AsText(data, size));
  const std::string text = overrides.front();
  overrides.erase(overrides.begin());
  Config config;
  try {
    config = ParseConfig(text, "fuzz.toml", overrides);
  } catch (const UserError& mistakes) {
    CHECK(!std::string_view(mistakes.what()).empty());
    return 0;
  }
  // Whatever a run is started with, its actors and a resumed run can read.
  const std::string effective = ToToml(config);
  static std::unordered_set<std::string> judged;  // most inputs come to the same few
  if (judged.size() > 1000) judged.clear();
  if (!judged.insert(effective).second) return 0;
  try {
    CHECK(ParseConfig(effective, "again.toml") == config);
  } catch (const UserError& mistakes) {
    CHECK(false, "{}", mistakes.what());
  }
  return 0;
}
