#include "envs/bridge/protocol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "core/text.h"

namespace starling::envs {
namespace {

using nlohmann::json;

// The value of `key`; null if it is missing.
const json& At(const json& message, const char* key) {
  static const json none;
  const auto found = message.find(key);
  return found == message.end() ? none : *found;
}

// An integer from 1 to kMaxRowNumbers, else 0.
int Count(const json& message, const char* key) {
  const json& number = At(message, key);
  const std::int64_t value = number.is_number_integer() ? number.get<std::int64_t>() : 0;
  return value >= 1 && value <= kMaxRowNumbers ? static_cast<int>(value) : 0;
}

std::optional<float> Finite(const json& number) {
  if (!number.is_number()) return std::nullopt;
  const float value = number.get<float>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<bool> Flag(const json& message, const char* key) {
  const json& flag = At(message, key);
  return flag.is_boolean() ? std::optional(flag.get<bool>()) : std::nullopt;
}

// The bounds of each coordinate of a box; null is `infinite`.
std::optional<std::vector<float>> Bounds(const json& list, float infinite) {
  if (!list.is_array() || list.empty() || list.size() > kMaxWorkerActions) return std::nullopt;
  std::vector<float> bounds;
  for (const json& bound : list) {
    const auto value = bound.is_null() ? std::optional(infinite) : Finite(bound);
    if (!value) return std::nullopt;
    bounds.push_back(*value);
  }
  return bounds;
}

std::optional<ActionSpace> ReadBox(const json& actions) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto low = Bounds(At(actions, "low"), -kInfinity), high = Bounds(At(actions, "high"), kInfinity);
  if (!low || !high || low->size() != high->size()) return std::nullopt;
  for (std::size_t k = 0; k < low->size(); ++k) {
    if ((*low)[k] > (*high)[k]) return std::nullopt;
  }
  return ActionSpace::Box(*std::move(low), *std::move(high));
}

std::optional<ActionSpace> ReadChoices(const json& actions) {
  const json& list = At(actions, "counts");
  const auto masked = Flag(actions, "masked");
  if (!list.is_array() || list.empty() || !masked) return std::nullopt;
  std::vector<std::int32_t> counts;
  std::int64_t left = kMaxWorkerActions;
  for (const json& count : list) {
    const std::int64_t value = count.is_number_integer() ? count.get<std::int64_t>() : 0;
    if (value < 1 || value > left) return std::nullopt;
    left -= value;
    counts.push_back(static_cast<std::int32_t>(value));
  }
  ActionSpace space = ActionSpace::Choices(std::move(counts));
  space.masked = *masked;
  return space;
}

// The names of the values of a single choice, numbers where there are none in `list`.
std::optional<std::vector<std::string>> ReadNames(const json& list, const ActionSpace& space) {
  if (!list.is_array()) return std::nullopt;
  const std::size_t named = space.one_choice() ? space.values() : 0;
  if (!list.empty() && list.size() != named) return std::nullopt;
  std::vector<std::string> names;
  for (const json& name : list) {
    if (!name.is_string()) return std::nullopt;
    names.push_back(name.get<std::string>());
  }
  while (names.size() < named) names.push_back(std::to_string(names.size()));
  return names;
}

// Sets the actions and their names. Returns false if they are malformed.
bool ReadActions(const json& actions, EnvSpec& spec) {
  if (!actions.is_object()) return false;
  const bool box = !actions.contains("counts");
  const auto space = box ? ReadBox(actions) : ReadChoices(actions);
  if (!space) return false;
  spec.actions = *space;
  if (box) return true;
  const auto names = ReadNames(At(actions, "names"), *space);
  if (names) spec.action_names = *names;
  return names.has_value();
}

// Reads the shape of an array. Returns false if it is none, or too large.
bool ReadShape(const json& message, int& height, int& width, int& channels) {
  height = Count(message, "height"), width = Count(message, "width");
  channels = Count(message, "channels");
  // Division, because the product of three such counts may overflow.
  return height >= 1 && width >= 1 && channels >= 1 && height <= kMaxRowNumbers / width / channels;
}

// One of the arrays that are observed together.
std::optional<ObservationEntry> ReadEntry(const json& item) {
  ObservationEntry entry;
  const json& name = At(item, "name");
  const auto low = Finite(At(item, "low")), high = Finite(At(item, "high"));
  if (!name.is_string() || !low || !high || *low > *high) return std::nullopt;
  if (!ReadShape(item, entry.height, entry.width, entry.channels)) return std::nullopt;
  entry.low = *low, entry.high = *high;
  entry.name = name.get<std::string>();
  const bool named =
      !entry.name.empty() && entry.name.size() <= kMaxEntryName && IsOneLine(entry.name);
  return named ? std::optional(std::move(entry)) : std::nullopt;
}

// All of them; none if there are no "entries". They fill the frame.
std::optional<std::vector<ObservationEntry>> ReadEntries(const json& list, const FrameSpec& frame) {
  std::vector<ObservationEntry> entries;
  if (list.is_null()) return entries;
  if (!list.is_array() || list.size() == 1 || list.size() > kMaxEntries) return std::nullopt;
  std::int64_t numbers = 0;
  for (const json& item : list) {
    auto entry = ReadEntry(item);
    if (!entry) return std::nullopt;
    const auto known = std::ranges::find(entries, entry->name, &ObservationEntry::name);
    if (known != entries.end()) return std::nullopt;
    numbers += entry->size();
    entries.push_back(*std::move(entry));
  }
  const EnvSpec& env = frame.env;
  const bool fill = env.height == 1 && env.width == 1 && env.channels == numbers && !frame.bytes;
  return entries.empty() || fill ? std::optional(std::move(entries)) : std::nullopt;
}

json EntriesLine(const std::vector<ObservationEntry>& entries) {
  json list = json::array();
  for (const ObservationEntry& entry : entries) {
    list.push_back({{"name", entry.name},
                    {"height", entry.height},
                    {"width", entry.width},
                    {"channels", entry.channels},
                    {"low", entry.low},
                    {"high", entry.high}});
  }
  return list;
}

// An infinite bound becomes null.
json ActionsLine(const EnvSpec& spec) {
  const ActionSpace& actions = spec.actions;
  if (actions.box()) return {{"low", actions.low}, {"high", actions.high}};
  return {{"counts", actions.counts}, {"names", spec.action_names}, {"masked", actions.masked}};
}

}  // namespace

std::string WorkerSpecLine(const FrameSpec& spec) {
  const json message = {{"height", spec.env.height},
                        {"width", spec.env.width},
                        {"channels", spec.env.channels},
                        {"bytes", spec.bytes},
                        {"low", spec.env.low},
                        {"high", spec.env.high},
                        {"actions", ActionsLine(spec.env)},
                        {"entries", EntriesLine(spec.env.entries)},
                        {"lives", spec.lives},
                        {"saves", spec.saves}};
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<FrameSpec> ReadWorkerSpec(std::string_view line, const std::string& name,
                                        std::string& mistake) {
  const json message = json::parse(line, nullptr, false);
  if (!message.is_object()) return std::nullopt;
  if (const auto error = message.find("error"); error != message.end() && error->is_string()) {
    mistake = error->get<std::string>();
    return std::nullopt;
  }
  // 1. The shape.
  int height = 0, width = 0, channels = 0;
  if (!ReadShape(message, height, width, channels)) return std::nullopt;
  // 2. Bounds and flags.
  const auto low = Finite(At(message, "low")), high = Finite(At(message, "high"));
  const auto bytes = Flag(message, "bytes"), lives = Flag(message, "lives");
  if (!low || !high || *low > *high || !bytes || !lives) return std::nullopt;
  FrameSpec spec{.env = {.name = name,
                         .height = height,
                         .width = width,
                         .channels = channels,
                         .action_names = {},
                         .low = *low,
                         .high = *high},
                 .bytes = *bytes,
                 .lives = *lives,
                 .saves = Flag(message, "saves").value_or(false)};
  // 3. The arrays in the frame.
  auto entries = ReadEntries(At(message, "entries"), spec);
  if (!entries) return std::nullopt;
  spec.env.entries = *std::move(entries);
  // 4. Actions. Their mask is a part of the frame.
  if (!ReadActions(At(message, "actions"), spec.env)) return std::nullopt;
  if (spec.env.row() > kMaxRowNumbers) return std::nullopt;
  return spec;
}

bool SaysReady(std::string_view line) {
  const json message = json::parse(line, nullptr, false);
  return message.is_object() && Flag(message, "ready").value_or(false);
}

bool SameSpec(const FrameSpec& a, const FrameSpec& b) {
  const auto all = [](const FrameSpec& s) {
    return std::tie(s.env.name, s.env.height, s.env.width, s.env.channels, s.env.entries,
                    s.env.actions, s.env.action_names, s.env.low, s.env.high, s.bytes, s.lives,
                    s.saves);
  };
  return all(a) == all(b);
}

}  // namespace starling::envs
