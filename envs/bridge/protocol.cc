#include "envs/bridge/protocol.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace starling::envs {
namespace {

using nlohmann::json;

// An integer from 1 to kMaxWorkerNumbers, else 0.
int Count(const json& message, const char* key) {
  const auto found = message.find(key);
  if (found == message.end() || !found->is_number_integer()) return 0;
  const auto value = found->get<std::int64_t>();
  return value >= 1 && value <= kMaxWorkerNumbers ? static_cast<int>(value) : 0;
}

std::optional<float> Bound(const json& message, const char* key) {
  const auto found = message.find(key);
  if (found == message.end() || !found->is_number()) return std::nullopt;
  const float value = found->get<float>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<bool> Flag(const json& message, const char* key) {
  const auto found = message.find(key);
  if (found == message.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

}  // namespace

std::string WorkerSpecLine(const FrameSpec& spec) {
  const json message = {{"height", spec.env.height},
                        {"width", spec.env.width},
                        {"channels", spec.env.channels},
                        {"bytes", spec.bytes},
                        {"low", spec.env.low},
                        {"high", spec.env.high},
                        {"actions", spec.env.action_names},
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
  // 1. The shape. Division, because the product of three such counts may overflow.
  const int height = Count(message, "height"), width = Count(message, "width"),
            channels = Count(message, "channels");
  if (height < 1 || width < 1 || channels < 1 || height > kMaxWorkerNumbers / width / channels) {
    return std::nullopt;
  }
  // 2. Bounds, flags and actions.
  const auto low = Bound(message, "low"), high = Bound(message, "high");
  const auto bytes = Flag(message, "bytes"), lives = Flag(message, "lives");
  const auto actions = message.find("actions");
  if (!low || !high || *low > *high || !bytes || !lives || actions == message.end() ||
      !actions->is_array() || actions->empty() || actions->size() > kMaxWorkerActions) {
    return std::nullopt;
  }
  FrameSpec spec{.env = {.name = name,
                         .height = height,
                         .width = width,
                         .channels = channels,
                         .num_actions = static_cast<int>(actions->size()),
                         .action_names = {},
                         .low = *low,
                         .high = *high},
                 .bytes = *bytes,
                 .lives = *lives,
                 .saves = Flag(message, "saves").value_or(false)};
  for (const json& action : *actions) {
    if (!action.is_string()) return std::nullopt;
    spec.env.action_names.push_back(action.get<std::string>());
  }
  return spec;
}

bool SaysReady(std::string_view line) {
  const json message = json::parse(line, nullptr, false);
  return message.is_object() && Flag(message, "ready").value_or(false);
}

bool SameSpec(const FrameSpec& a, const FrameSpec& b) {
  const auto all = [](const FrameSpec& s) {
    return std::tie(s.env.name, s.env.height, s.env.width, s.env.channels, s.env.num_actions,
                    s.env.action_names, s.env.low, s.env.high, s.bytes, s.lives, s.saves);
  };
  return all(a) == all(b);
}

}  // namespace starling::envs
