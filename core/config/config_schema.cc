#include "core/config/config_schema.h"

#include <arpa/inet.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/text.h"

namespace starling {
namespace {

// Exact as a double; centuries of steps.
constexpr std::int64_t kMany = 1'000'000'000'000'000;
constexpr double kDay = 86'400;
constexpr double kHourMs = 3'600'000;
constexpr double kShortestS = 0.001;  // clocks count whole milliseconds

bool IsName(std::string_view text) { return IsOneLine(text) && !text.empty(); }

// A run's default directory is this name below runs/, so no part of it may lead out of there.
bool IsRunName(std::string_view text) {
  if (text.empty()) return true;  // the default: the name of the file
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return IsOneLine(text);
}

// The entry of a key with words: an enum of core/config/words.h, to which Member leads from a
// Config&.
template <class Member>
ConfigKey WordKey(const char* section, const char* key, Member) {
  using Enum = std::remove_reference_t<std::invoke_result_t<Member, Config&>>;
  constexpr auto kWords = WordsOf(Enum{});
  return {section, key,
          WordMember{
              [](Config& config) { return static_cast<std::size_t>(Member{}(config)); },
              [](Config& config, std::size_t word) { Member{}(config) = static_cast<Enum>(word); }},
          WordRule{{kWords.begin(), kWords.end()}}};
}

// A key and its member have the same name, so no key can refer to another key's member.
#define MEMBER(section, key) \
  [](Config& config) -> decltype((config.section.key)) { return config.section.key; }
#define KEY(section, key) #section, #key, +MEMBER(section, key)
#define WORDS(section, key) WordKey(#section, #key, MEMBER(section, key))

const std::vector<ConfigKey>& Table() {
  static const std::vector<ConfigKey> table = {
      {KEY(run, name),
       TextRule{"text on one line, as a path below runs/: without \".\", \"..\" and empty parts",
                IsRunName}},
      {KEY(run, seed), IntegerRule{0, std::numeric_limits<std::int64_t>::max()}},
      {KEY(run, steps), IntegerRule{1, kMany}},
      {KEY(run, until_return),
       NumberRule{.low = -1e9, .high = 1e9, .word = "never", .word_value = kNever}},
      {KEY(run, dir), TextRule{"text on one line", IsOneLine}},
      {KEY(run, init_from), TextRule{"text on one line", IsOneLine}},
      {KEY(run, metrics_s), NumberRule{0.2, kDay}},
      {KEY(run, tensorboard), FlagRule{}},

      {KEY(env, name), TextRule{"the name of an environment", IsName}},
      {KEY(env, sticky_actions), NumberRule{.low = 0, .high = 1, .word = "auto"}},
      {KEY(env, ramping), FlagRule{}},
      WORDS(env, action_set),
      WORDS(env, action_bounds),
      {KEY(env, noop_max), IntegerRule{0, 1000}},
      {KEY(env, repeat), IntegerRule{1, 1000}},
      {KEY(env, max_pool), FlagRule{}},
      {KEY(env, life_loss_ends), FlagRule{}},
      {KEY(env, time_limit), IntegerRule{0, kMany}},
      {KEY(env, reward_clip), NumberRule{0, 1e6}},
      {KEY(env, pixels), FlagRule{}},
      {KEY(env, stack), IntegerRule{1, 64}},
      {KEY(env, normalize_observations), FlagRule{}},
      {KEY(env, normalize_rewards), FlagRule{}},
      {KEY(env, step_ms), NumberRule{0, 60'000}},
      {KEY(env, step_jitter), NumberRule{0, 1}},
      {KEY(env, python), TextRule{"\"auto\" or the path of a Python interpreter", IsName}},
      {KEY(env, options), TextRule{"a JSON object on one line, or nothing", IsOneLine}},
      {KEY(env, per_process), IntegerRule{1, 1024}},
      {KEY(env, timeout_s), NumberRule{0.01, kDay}},
      {KEY(env, isolate), FlagRule{}},

      {KEY(actors, count), IntegerRule{1, 1024, "auto"}},
      {KEY(actors, envs_per_actor), IntegerRule{1, 65'536}},
      {KEY(actors, groups), IntegerRule{1, 64}},
      {KEY(actors, unroll), IntegerRule{1, 10'000}},
      WORDS(actors, backend),
      WORDS(actors, env_device),
      WORDS(actors, instructions),
      {KEY(actors, command), TextListRule{64, IsName}},

      WORDS(net, kind),
      {KEY(net, hidden), ListRule{0, 8, 1, 65'536}},
      {KEY(net, layers), TextListRule{64, IsName}},
      {KEY(net, entries), TextListRule{64, IsName}},
      {KEY(net, initial), TextRule{"text on one line", IsOneLine}},
      WORDS(net, critic),
      WORDS(net, deviation),
      {KEY(net, deviation_init), NumberRule{0.001, 100}},
      WORDS(net, init),
      WORDS(net, precision),
      {KEY(net, stages), IntegerRule{1, 64}},

      WORDS(loss, kind),
      {KEY(loss, gamma), NumberRule{0, 1}},
      {KEY(loss, gae_lambda), NumberRule{0, 1}},
      {KEY(loss, value_coef), NumberRule{0, 100}},
      {KEY(loss, entropy), NumberRule{0, 10}},
      {KEY(loss, entropy_end), NumberRule{0, 10}},
      WORDS(loss, entropy_schedule),
      WORDS(loss, reduction),
      {KEY(loss, normalize_advantage), FlagRule{}},
      {KEY(loss, clip), NumberRule{.low = 0, .high = 10, .low_open = true}},
      {KEY(loss, value_clip), NumberRule{0, 1e6}},
      WORDS(loss, proximal),

      WORDS(optimizer, kind),
      {KEY(optimizer, lr), NumberRule{.low = 0, .high = 10, .low_open = true}},
      WORDS(optimizer, lr_schedule),
      {KEY(optimizer, warmup_steps), IntegerRule{0, kMany}},
      {KEY(optimizer, momentum), NumberRule{.low = 0, .high = 1, .high_open = true}},
      {KEY(optimizer, decay), NumberRule{.low = 0, .high = 1, .high_open = true}},
      {KEY(optimizer, epsilon), NumberRule{1e-30, 1}},  // as a float it must not be 0
      WORDS(optimizer, epsilon_place),
      {KEY(optimizer, centered), FlagRule{}},
      {KEY(optimizer, bias_correction), FlagRule{}},
      {KEY(optimizer, beta1), NumberRule{.low = 0, .high = 1, .high_open = true}},
      {KEY(optimizer, beta2), NumberRule{.low = 0, .high = 1, .high_open = true}},
      {KEY(optimizer, clip_norm), NumberRule{0, 1e6}},
      WORDS(optimizer, scale_lr),
      {KEY(optimizer, lr_samples), IntegerRule{1, kMany, "auto"}},

      WORDS(updates, exchange),
      {KEY(updates, epochs), IntegerRule{1, 100}},
      {KEY(updates, minibatches), IntegerRule{1, 1024}},
      WORDS(updates, shuffle),
      {KEY(updates, gradients), IntegerRule{1, 1024, "auto"}},
      {KEY(updates, in_flight), IntegerRule{1, kMaxInFlight, "auto"}},
      {KEY(updates, start_with), IntegerRule{1, 1024, "auto"}},
      {KEY(updates, start_timeout_s), NumberRule{kShortestS, kDay}},
      {KEY(updates, max_norm), NumberRule{.low = 0, .high = 1e24, .low_open = true}},

      {KEY(staleness, bound), IntegerRule{0, kMany, "unbounded", kUnbounded}},
      WORDS(staleness, on_exceed),
      {KEY(staleness, delay), IntegerRule{0, 16'383, "none", kNoDelay}},
      WORDS(staleness, damping),
      WORDS(staleness, correction),
      {KEY(staleness, compensation), NumberRule{.low = 0, .high = 1e9, .word = "auto"}},
      {KEY(staleness, deadline_s), NumberRule{kShortestS, kDay}},

      WORDS(learner, apply),
      {KEY(learner, threads), IntegerRule{1, 256}},
      {KEY(learner, shards), IntegerRule{1, 8}},
      {KEY(learner, hash_every), IntegerRule{1, 1'000'000'000}},

      {KEY(wire, endpoint),
       TextRule{"\"auto\", \"ipc://PATH\" (at most 107 bytes) or \"tcp://HOST:PORT\" (port 0 to "
                "65535, 0 for any free one)",
                LooksLikeEndpoint}},
      {KEY(wire, secret), TextRule{"text on one line", IsOneLine}},
      {KEY(wire, allowed), TextRule{"text on one line", IsOneLine}},
      {KEY(wire, address), TextRule{"text on one line", IsOneLine}},
      WORDS(wire, gradient),
      WORDS(wire, weights),
      {KEY(wire, fetch_after_ms), NumberRule{0, 60'000}},
      {KEY(wire, heartbeat_ms), NumberRule{1, 60'000}},
      {KEY(wire, timeout_s), NumberRule{0.1, kDay}},
      {KEY(wire, connect_timeout_s), NumberRule{kShortestS, kDay}},
      {KEY(wire, io_threads), IntegerRule{1, 16, "auto"}},
      {KEY(wire, runtime_dir), TextRule{"text on one line", IsOneLine}},

      {KEY(checkpoint, every_steps), IntegerRule{1, kMany}},
      {KEY(checkpoint, every_s), NumberRule{0, 365 * kDay}},
      {KEY(checkpoint, keep), IntegerRule{1, 1000}},
      WORDS(checkpoint, exact),
      {KEY(checkpoint, cut_s), NumberRule{kShortestS, kDay}},
      {KEY(checkpoint, redo_s), NumberRule{kShortestS, kDay}},

      {KEY(journal, keep), NumberRule{.low = 0, .high = 100'000, .word = "all"}},

      {KEY(eval, every_steps), IntegerRule{0, kMany}},
      {KEY(eval, episodes), IntegerRule{1, 10'000'000}},
      {KEY(eval, greedy), FlagRule{}},

      {KEY(simulate, compute_ms), NumberRule{.low = 0, .high = kHourMs, .low_open = true}},
      {KEY(simulate, compute_spread), NumberRule{0, 1}},
      {KEY(simulate, refresh_ms), NumberRule{0, kHourMs}},
      {KEY(simulate, network_ms), NumberRule{0, kHourMs}},
      {KEY(simulate, receive_ms), NumberRule{0, kHourMs}},
      {KEY(simulate, apply_ms), NumberRule{0, kHourMs}},
      {KEY(simulate, merge_ms), NumberRule{0, kHourMs}},
      {KEY(simulate, stragglers), IntegerRule{0, 1024}},
      {KEY(simulate, straggler_factor), NumberRule{1, 1e6}},
      {KEY(simulate, delayed_share), NumberRule{0, 1}},
      {KEY(simulate, delayed_factor), NumberRule{1, 1e6}},

      {KEY(status, port), IntegerRule{0, 65'535}},
      {KEY(status, bind), TextRule{"an IPv4 or IPv6 address", LooksLikeAddress}},
      {KEY(status, token_file), TextRule{"text on one line", IsOneLine}},
  };
  return table;
}

std::string Or(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += WordText(words[i]);
  }
  return text;
}

struct AllowedText {
  std::string operator()(const FlagRule&) const { return "true or false"; }
  std::string operator()(const IntegerRule& rule) const {
    const std::string range = fmt::format("an integer from {} to {}", rule.low, rule.high);
    return rule.word.empty() ? range : fmt::format("{} or \"{}\"", range, rule.word);
  }
  std::string operator()(const NumberRule& rule) const {
    const std::string range = fmt::format("a number {} {} {} {}", rule.low_open ? "above" : "from",
                                          rule.low, rule.high_open ? "to below" : "to", rule.high);
    return rule.word.empty() ? range : fmt::format("{} or \"{}\"", range, rule.word);
  }
  std::string operator()(const WordRule& rule) const { return Or(rule.words); }
  std::string operator()(const TextRule& rule) const { return std::string(rule.allowed); }
  std::string operator()(const ListRule& rule) const {
    return fmt::format("a list of {} to {} integers from {} to {}", rule.least, rule.most, rule.low,
                       rule.high);
  }
  std::string operator()(const TextListRule& rule) const {
    return fmt::format("a list of up to {} strings, each on one line", rule.most);
  }
};

bool IsPort(std::string_view text) {
  const auto port = ParseNumber(text);
  return port && *port <= 65'535 && text.size() <= 5;
}

}  // namespace

std::string WordText(const std::string& word) {
  return word == "true" || word == "false" ? word : '"' + word + '"';
}

std::span<const ConfigKey> ConfigSchema() { return Table(); }

const ConfigKey* FindConfigKey(std::string_view section, std::string_view key) {
  for (const ConfigKey& entry : Table()) {
    if (entry.section == section && entry.key == key) return &entry;
  }
  return nullptr;
}

std::vector<std::string> ConfigSections() {
  std::vector<std::string> sections;
  for (const ConfigKey& entry : Table()) {
    if (sections.empty() || sections.back() != entry.section) sections.push_back(entry.section);
  }
  return sections;
}

std::vector<std::string> ConfigKeysOf(std::string_view section) {
  std::vector<std::string> keys;
  for (const ConfigKey& entry : Table()) {
    if (entry.section == section) keys.push_back(entry.key);
  }
  return keys;
}

std::string Allowed(const ConfigRule& rule) { return std::visit(AllowedText{}, rule); }

bool LooksLikeAddress(std::string_view text) {
  in6_addr parsed{};
  const std::string address(text);
  return ::inet_pton(AF_INET, address.c_str(), &parsed) == 1 ||
         ::inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

bool LooksLikeEndpoint(std::string_view text) {
  constexpr std::size_t kMaxIpcPath = 107;  // sun_path without its final zero
  if (!IsOneLine(text)) return false;
  if (text == "auto") return true;
  if (text.starts_with("ipc://")) {
    const std::size_t length = text.size() - std::string_view("ipc://").size();
    return length >= 1 && length <= kMaxIpcPath;
  }
  if (!text.starts_with("tcp://")) return false;
  text.remove_prefix(std::string_view("tcp://").size());
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 && IsPort(text.substr(colon + 1));
}

}  // namespace starling
