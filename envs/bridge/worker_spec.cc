#include "envs/bridge/worker_spec.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace starling::envs {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostNumbers = 1 << 26;  // of a frame
constexpr std::size_t kMostActions = 65'536;

// An integer from 1 to kMostNumbers, else 0.
std::int64_t Count(const json& said, const char* key) {
  const auto found = said.find(key);
  if (found == said.end() || !found->is_number_integer()) return 0;
  const auto value = found->get<std::int64_t>();
  return value >= 1 && value <= kMostNumbers ? value : 0;
}

std::optional<float> Bound(const json& said, const char* key) {
  const auto found = said.find(key);
  if (found == said.end() || !found->is_number()) return std::nullopt;
  const float value = found->get<float>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<bool> Flag(const json& said, const char* key) {
  const auto found = said.find(key);
  if (found == said.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

}  // namespace

std::string WorkerSpecLine(const FrameSpec& spec) {
  const json said = {{"height", spec.env.height},
                     {"width", spec.env.width},
                     {"channels", spec.env.channels},
                     {"bytes", spec.bytes},
                     {"low", spec.env.low},
                     {"high", spec.env.high},
                     {"actions", spec.env.action_names},
                     {"lives", spec.lives}};
  return said.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<FrameSpec> ReadWorkerSpec(std::string_view line, const std::string& name,
                                        std::string& mistake) {
  const json said = json::parse(line, nullptr, false);
  if (!said.is_object()) return std::nullopt;
  if (const auto error = said.find("error"); error != said.end() && error->is_string()) {
    mistake = error->get<std::string>();
    return std::nullopt;
  }
  const std::int64_t height = Count(said, "height"), width = Count(said, "width"),
                     channels = Count(said, "channels");
  if (height * width < 1 || height * width > kMostNumbers || channels < 1 ||
      height * width * channels > kMostNumbers) {
    return std::nullopt;
  }
  const auto low = Bound(said, "low"), high = Bound(said, "high");
  const auto bytes = Flag(said, "bytes"), lives = Flag(said, "lives");
  const auto actions = said.find("actions");
  if (!low || !high || *low > *high || !bytes || !lives || actions == said.end() ||
      !actions->is_array() || actions->empty() || actions->size() > kMostActions) {
    return std::nullopt;
  }
  FrameSpec spec{.env = {.name = name,
                         .height = static_cast<int>(height),
                         .width = static_cast<int>(width),
                         .channels = static_cast<int>(channels),
                         .num_actions = static_cast<int>(actions->size()),
                         .action_names = {},
                         .low = *low,
                         .high = *high},
                 .bytes = *bytes,
                 .lives = *lives};
  for (const json& action : *actions) {
    if (!action.is_string()) return std::nullopt;
    spec.env.action_names.push_back(action.get<std::string>());
  }
  return spec;
}

bool SaysReady(std::string_view line) {
  const json said = json::parse(line, nullptr, false);
  return said.is_object() && Flag(said, "ready").value_or(false);
}

bool SameSpec(const FrameSpec& a, const FrameSpec& b) {
  const auto all = [](const FrameSpec& s) {
    return std::tie(s.env.name, s.env.height, s.env.width, s.env.channels, s.env.num_actions,
                    s.env.action_names, s.env.low, s.env.high, s.bytes, s.lives);
  };
  return all(a) == all(b);
}

}  // namespace starling::envs
