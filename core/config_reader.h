// Walks a TOML document along the schema and collects every mistake in it. Used by core/config.cc
// alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/config.h"

namespace starling {

// Where something stands: a line and column of a file, or an override (line 0).
struct Place {
  std::string text;  // "file:line:column" or "--set section.key=value"
  std::uint32_t line = 0, column = 0;
};

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  // Returns false, with the mistake noted, if `text` is not TOML.
  bool ReadDocument(const std::string& text);
  // `setting` is "section.key=value".
  void ReadOverride(const std::string& setting);
  // Resolves what is "auto" and notes contradictions between keys that are right by themselves, those
  // that `check` finds too.
  void Finish(std::int64_t cores, const ConfigCheck& check);

  const Config& config() const { return config_; }
  // All mistakes, in the order of the file, then of the overrides; one line each. "" if there are
  // none.
  std::string Mistakes() const;
  ConfigSource Source() const;

 private:
  struct Walk;
  void Note(const Place& place, std::string sentence);

  std::string file_;
  Config config_;
  std::map<std::string, Place, std::less<>> places_;  // of every key that was set
  std::set<std::string, std::less<>> refused_;        // keys whose own value is a mistake
  std::vector<std::pair<Place, std::string>> mistakes_;
};

}  // namespace starling
