#include "core/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/config/config_reader.h"
#include "core/config/config_rules.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "core/file.h"

namespace starling {
namespace {

// Suggests a .toml file of the same directory with a similar name, or returns "".
std::string SimilarFile(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;
  std::vector<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".toml") stems.push_back(entry.path().stem().string());
  }
  std::ranges::sort(stems);  // the order of a directory is arbitrary
  const std::string nearest = NearestName(path.stem().string(), stems);
  if (nearest.empty()) return "";
  return fmt::format("; did you mean \"{}\"?", (path.parent_path() / (nearest + ".toml")).string());
}

std::string ReadConfigFile(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UserError(fmt::format("{} is a directory; give a TOML file in it", path.string()));
  }
  try {
    return ReadFile(path);
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("config {} cannot be read: {}{}", path.string(),
                                error.code().message(), SimilarFile(path)));
  }
}

}  // namespace

std::string ConfigSource::Where(std::string_view key) const {
  const auto found = where.find(key);
  return found == where.end() ? "" : found->second;
}

Config ParseConfig(const std::string& text, const std::string& name,
                   const std::vector<std::string>& overrides, ConfigSource* source,
                   const ConfigCheck& check) {
  ConfigReader reader(name);
  const bool parsed = reader.ReadDocument(text);
  for (const std::string& setting : overrides) reader.ReadOverride(setting);
  if (parsed) reader.Finish(ActorsThatFit(reader.config().actors), check);
  const std::string diagnostics = reader.diagnostics().Text();
  if (!diagnostics.empty()) throw UserError(diagnostics);
  if (source != nullptr) *source = reader.Source();
  return reader.config();
}

Config LoadConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                  ConfigSource* source, const ConfigCheck& check) {
  return ParseConfig(ReadConfigFile(path), path.string(), overrides, source, check);
}

}  // namespace starling
