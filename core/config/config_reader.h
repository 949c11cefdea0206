// Walks a TOML document along the schema and collects every mistake in it. Used by core/config/config.cc
// alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/config/config.h"
#include "core/config/mistakes.h"

namespace starling {

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  // Returns false, with the mistake noted, if `text` is not TOML.
  bool ReadDocument(const std::string& text);
  // `setting` is "section.key=value".
  void ReadOverride(const std::string& setting);
  // Resolves what is "auto" and notes contradictions between keys that are right by themselves, those
  // that `check` finds too.
  void Finish(std::int64_t actors_that_fit, const ConfigCheck& check);

  const Config& config() const { return config_; }
  // Those of the file, then those of the overrides.
  const Mistakes& mistakes() const { return mistakes_; }
  ConfigSource Source() const;

 private:
  struct Walk;

  void CheckWritten();

  std::string file_;
  Config config_;
  std::map<std::string, Place, std::less<>> places_;  // of every key that was set
  std::set<std::string, std::less<>> refused_;        // keys whose own value is a mistake
  Mistakes mistakes_;
};

}  // namespace starling
