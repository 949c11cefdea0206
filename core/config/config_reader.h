// Reads a TOML document by the schema and collects every mistake in it. Used only by
// core/config/config.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/config/config.h"
#include "core/config/diagnostics.h"

namespace starling {

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  // Returns false and adds a mistake if `text` is not TOML.
  bool ReadDocument(const std::string& text);
  // `setting` is "section.key=value".
  void ReadOverride(const std::string& setting);
  // Resolves "auto" values and adds contradictions between keys, including those that `check`
  // finds, unless one of their keys has a mistake of its own.
  void Finish(std::int64_t actors_that_fit, const ConfigCheck& check);

  const Config& config() const { return config_; }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  ConfigSource Source() const;

 private:
  struct Walk;

  void CheckWritten();
  // The location of the first of `keys` that was set, or the file if all have their defaults.
  SourceLocation FirstLocation(const std::vector<std::string>& keys) const;

  std::string file_;
  Config config_;
  std::map<std::string, SourceLocation, std::less<>> locations_;  // of every key that was set
  std::set<std::string, std::less<>> refused_;  // keys with a mistake of their own
  Diagnostics diagnostics_;
};

}  // namespace starling
