#include "core/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>

#include "core/config/config_rules.h"
#include "core/config/config_schema.h"
#include "core/config/config_toml.h"
#include "core/config/diagnostics.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"

namespace starling {
namespace {

// Suggests a similar key of this section, or the same key of another section.
std::string NearestKey(std::string_view section, std::string_view key) {
  if (const std::string hint = DidYouMean(key, ConfigKeysOf(section)); !hint.empty()) return hint;
  for (const ConfigKey& entry : ConfigSchema()) {
    if (entry.key == key) return fmt::format("; did you mean \"{}\"?", entry.name());
  }
  return "";
}

std::string UnknownSection(std::string_view section) {
  return fmt::format("unknown section \"{}\"; sections: {}{}", section, Listed(ConfigSections()),
                     DidYouMean(section, ConfigSections()));
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns the error of a parser on one line.
std::string SentenceOf(const toml::parse_error& error) {
  std::string sentence(error.description());
  std::ranges::replace(sentence, '\n', ' ');
  return sentence;
}

// Whether a text that is not TOML is no bare word either, but a mistake in a number or a list.
bool IsBroken(std::string_view text) {
  const bool digits = text.find_first_not_of("+-0123456789_") == std::string_view::npos;
  return text.starts_with('[') || (digits && !text.empty());
}

// Parses `text` as one TOML value; any other text is a bare word, which is a string. Sets `error`
// if it IsBroken.
toml::table OverrideValue(std::string_view text, std::string& error) {
  try {
    toml::table table = ParseToml(fmt::format("value = {}", text));
    if (table.size() == 1 && table.contains("value")) return table;
  } catch (const toml::parse_error& problem) {
    // A bare word such as wait, minatar/breakout or tcp://127.0.0.1:0.
    if (IsBroken(text)) error = SentenceOf(problem);
  }
  return toml::table{{"value", text}};
}

// Reads a TOML document by the schema and collects every mistake in it.
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
  SourceLocation At(const toml::source_region& region) const {
    const auto [line, column] = region.begin;
    return {fmt::format("{}:{}:{}", file_, line, column), line, column};
  }
  void Set(std::string_view section, std::string_view key, const toml::node& node,
           const SourceLocation& key_location, const SourceLocation& value_location);
  void ReadSections(const toml::table& document);
  void CheckWritten();
  // The location of the first of `keys` that was set, or the file if all have their defaults.
  SourceLocation FirstLocation(const std::vector<std::string>& keys) const;

  std::string file_;
  Config config_;
  std::map<std::string, SourceLocation, std::less<>> locations_;  // of every key that was set
  std::set<std::string, std::less<>> refused_;  // keys with a mistake of their own
  Diagnostics diagnostics_;
};

void ConfigReader::Set(std::string_view section, std::string_view key, const toml::node& node,
                       const SourceLocation& key_location, const SourceLocation& value_location) {
  if (diagnostics_.full()) return;
  const ConfigKey* entry = FindConfigKey(section, key);
  if (entry == nullptr) {
    diagnostics_.Add(key_location,
                     fmt::format("unknown key {}.{}; keys of [{}]: {}{}", section, key, section,
                                 Listed(ConfigKeysOf(section)), NearestKey(section, key)));
    return;
  }
  locations_[entry->name()] = value_location;
  const std::string wrong = Assign(*entry, node, config_);
  if (wrong.empty()) return;
  refused_.insert(entry->name());
  diagnostics_.Add(value_location, wrong);
}

void ConfigReader::ReadSections(const toml::table& document) {
  // Four cases: a section, a key with the name of a section, an unknown section, a stray key.
  const std::vector<std::string> sections = ConfigSections();
  for (const auto& [name, node] : document) {
    if (diagnostics_.full()) return;
    const SourceLocation location = At(name.source());
    const toml::table* section = node.as_table();
    const bool known = std::ranges::count(sections, name.str()) > 0;
    if (known && section != nullptr) {
      for (const auto& [key, value] : *section) {
        Set(name.str(), key.str(), value, At(key.source()), At(value.source()));
      }
    } else if (known) {
      diagnostics_.Add(location, fmt::format("{} is {}, but it is a section: write [{}]",
                                             name.str(), TomlTypeOf(node), name.str()));
    } else if (section != nullptr) {
      diagnostics_.Add(location, UnknownSection(name.str()));
    } else {
      diagnostics_.Add(location, fmt::format("{} stands outside of every section{}", name.str(),
                                             NearestKey("", name.str())));
    }
  }
}

bool ConfigReader::ReadDocument(const std::string& text) {
  try {
    ReadSections(ParseToml(text, file_));
    return true;
  } catch (const toml::parse_error& error) {
    diagnostics_.Add(At(error.source()), SentenceOf(error));
    return false;
  }
}

void ConfigReader::ReadOverride(const std::string& setting) {
  // 1. Split it into section, key and value.
  const SourceLocation location{"--set " + setting};
  const std::size_t equals = setting.find('=');
  const std::string_view name = Trimmed(std::string_view(setting).substr(0, equals));
  const std::size_t dot = name.find('.');
  if (equals == std::string::npos || dot == std::string_view::npos) {
    diagnostics_.Add(location,
                     "an override is written section.key=value, as in --set staleness.bound=4");
    return;
  }
  const std::string_view section = name.substr(0, dot), key = name.substr(dot + 1);
  if (std::ranges::count(ConfigSections(), section) == 0) {
    diagnostics_.Add(location, UnknownSection(section));
    return;
  }
  // 2. Read the value. A text may be any words; other keys refuse broken numbers and lists.
  const std::string_view text = Trimmed(std::string_view(setting).substr(equals + 1));
  std::string error;
  const toml::table value = OverrideValue(text, error);
  const ConfigKey* entry = FindConfigKey(section, key);
  if (!error.empty() && entry != nullptr && !std::holds_alternative<TextRule>(entry->rule)) {
    refused_.insert(entry->name());
    diagnostics_.Add(location, fmt::format("{} = {}: {}; allowed: {}", entry->name(), text, error,
                                           Allowed(entry->rule)));
    return;
  }
  Set(section, key, *value.get("value"), location, location);
}

void ConfigReader::Finish(std::int64_t actors_that_fit, const ConfigCheck& check) {
  // The programs of an external net play what they like.
  if (config_.net.external() && !locations_.contains("env.name")) config_.env.name = kExternalEnv;
  ResolveAuto(config_, file_, actors_that_fit);
  std::vector<Contradiction> found = FindContradictions(config_);
  if (check) std::ranges::move(check(config_), std::back_inserter(found));
  for (const Contradiction& contradiction : found) {
    const auto refused = [&](const std::string& key) { return refused_.contains(key); };
    if (std::ranges::any_of(contradiction.keys, refused)) continue;
    diagnostics_.Add(FirstLocation(contradiction.keys), contradiction.sentence);
  }
  CheckWritten();
}

SourceLocation ConfigReader::FirstLocation(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (const auto set = locations_.find(key); set != locations_.end()) return set->second;
  }
  return {file_};
}

// Checks that the configuration can be written and read again: actors receive it as text, and a
// resumed run reads it from a file. TOML files are UTF-8, but overrides and file names may not be,
// and the name of a file, the default of run.name, may have control characters.
void ConfigReader::CheckWritten() {
  for (const ConfigValue& value : ConfigValues(config_)) {
    const std::string key = value.section + "." + value.key;
    if (!IsUtf8(value.toml)) {
      diagnostics_.Add(FirstLocation({key}), fmt::format("{} is no UTF-8 text", key));
      break;  // one is enough: the default of run.dir repeats run.name
    }
  }
  if (!IsOneLine(config_.run.name)) {
    diagnostics_.Add(FirstLocation({"run.name"}),
                     fmt::format("the name of the file, \"{}\", has control characters: rename it, "
                                 "or set run.name",
                                 config_.run.name));
  }
  if (const std::size_t size = ToToml(config_).size(); size > kMaxConfigBytes) {
    diagnostics_.Add(
        {file_},
        fmt::format("the whole configuration is {} bytes long, its texts with it; at most {} can "
                    "be sent to actors",
                    size, kMaxConfigBytes));
  }
}

ConfigSource ConfigReader::Source() const {
  ConfigSource source;
  for (const auto& [key, location] : locations_) source.where[key] = location.text;
  return source;
}

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
    return ReadFile(path, kMaxTomlBytes);
  } catch (const std::system_error& error) {
    const bool absent = error.code() == std::errc::no_such_file_or_directory;
    throw UserError(fmt::format("config {} cannot be read: {}{}", path.string(),
                                error.code().message(), absent ? SimilarFile(path) : ""));
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
  if (parsed) reader.Finish(ActorsThatFit(reader.config()), check);
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
