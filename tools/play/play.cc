#include "tools/play/play.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <string_view>
#include <system_error>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "envs/registry.h"
#include "monitor/console.h"
#include "tools/play/play_session.h"
#include "tools/play/terminal.h"

namespace starling::play {
namespace {

// Steps that a slow machine or terminal catches up with at once; further ones are skipped.
constexpr std::int64_t kMaxStepsAtOnce = 4;
constexpr std::int64_t kNsPerS = 1'000'000'000;

// Waits until one of `watched` is readable, or for `wait_ns`.
void Await(std::span<pollfd> watched, std::int64_t wait_ns) {
  const timespec wait{wait_ns / kNsPerS, wait_ns % kNsPerS};
  if (::ppoll(watched.data(), watched.size(), &wait, nullptr) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "poll");
  }
}

// Plays until the person quits or the terminal closes. Returns the exit status.
int Loop(PlaySession& session, Terminal& terminal, Palette palette, int fps) {
  const SteadyClock clock;
  const std::int64_t period_ns = kNsPerS / fps;
  std::int64_t next_ns = clock.NowNs() + period_ns;  // of the next step; a multiple: no drift
  KeyDecoder decoder;
  LineScreen screen;
  const auto draw = [&] {
    const auto [columns, rows] = terminal.size();
    return terminal.Write(screen.Update(session.Lines(palette, columns, rows), columns, rows));
  };
  if (!draw()) return kExitInterrupted;
  while (true) {
    // 1. Wait for a signal, a key or the next step.
    pollfd watched[] = {{terminal.stop_fd(), POLLIN, 0}, {terminal.in(), POLLIN, 0}};
    Await(watched, std::max<std::int64_t>(next_ns - clock.NowNs(), 0));
    if (watched[0].revents != 0) return kExitInterrupted;
    // 2. Keys, before the step that they steer.
    if (watched[1].revents != 0) {
      const std::string typed = terminal.Read();
      if (typed.empty()) return kExitInterrupted;
      for (const Press& press : decoder.Feed(typed)) {
        if (press.key == Key::kQuit) return kExitDone;
        if (press.key == Key::kInterrupt) return kExitInterrupted;
        session.OnPress(press, clock.NowMs());
      }
    }
    // 3. Steps.
    const std::int64_t late_ns = clock.NowNs() - next_ns;
    if (late_ns < 0) continue;
    const std::int64_t due = late_ns / period_ns + 1;
    next_ns += due * period_ns;
    for (std::int64_t i = 0; i < std::min(due, kMaxStepsAtOnce); ++i) session.Step(clock.NowMs());
    if (!draw()) return kExitInterrupted;
  }
}

// ---- starling envs

std::string Options(const std::string& name) {
  const int all = envs::SpecOf({.name = name}).actions.values();
  const int minimal =
      envs::SpecOf({.name = name, .action_set = ActionSet::kMinimal}).actions.values();
  std::string options;
  if (minimal < all) options += fmt::format("minimal={}", minimal);
  if (envs::Ramps(name)) options += options.empty() ? "ramps" : ", ramps";
  return options.empty() ? "-" : options;
}

constexpr char kLegend[] = R"(
shape    HxWxC       rows, columns, channels; joined by "+" where several arrays are observed
actions  N (NAMES)   one choice of N values; "N x M choices" are made at once
         [LOW, HIGH] bounds of numbers; "masked": observations say which values are allowed
options  minimal=N   env.action_set = "minimal" leaves the N actions that do something
         ramps       the game grows harder; env.ramping = false keeps it as it begins
others   gym:ID      any environment of Gymnasium, "gym:ALE/Pong-v5" (scripts/setup --gym)
         ale:GAME    an Atari game, "ale:pong": the same as gym:ALE/Pong-v5, and faster
         plugin:PATH a library of your own, "plugin:./mine.so" (envs/plugin.h)
Sticky actions, repeats, stacking and the other keys of [env]: configs/reference.toml
)";

}  // namespace

int RunPlay(const PlayOptions& options) {
  PlaySession session(EnvOptions(options.env, options.overrides), options.seed);
  const Palette palette = DetectPalette(monitor::DetectStyle(STDOUT_FILENO).utf8);
  int status = kExitDone;
  {
    Terminal terminal(STDIN_FILENO, STDOUT_FILENO);
    status = Loop(session, terminal, palette, options.fps > 0 ? options.fps : session.UsualFps());
  }
  std::printf("%s\n", session.Summary().c_str());
  return status;
}

std::string ActionsOf(const envs::EnvSpec& spec) {
  const ActionSpace& actions = spec.actions;
  std::string text;
  if (actions.box()) {
    const auto same = [](const auto& bounds) { return std::ranges::count(bounds, bounds[0]); };
    const int width = actions.width();
    text = fmt::format("{} number{}", width, width == 1 ? "" : "s");
    text += same(actions.low) == width && same(actions.high) == width
                ? fmt::format(" in [{:g}, {:g}]", actions.low[0], actions.high[0])
                : ", each with bounds of its own";
  } else if (actions.one_choice()) {
    for (const std::string& name : spec.action_names) text += (text.empty() ? "" : " ") + name;
    text = fmt::format("{} ({})", actions.values(), text);
  } else {
    for (const int count : actions.counts)
      text += fmt::format("{}{}", text.empty() ? "" : " x ", count);
    text += " choices";
  }
  return text + (actions.masked ? ", masked" : "");
}

// "10x10x4"; of several arrays "7x7x2+4+1".
std::string ShapeOf(const envs::EnvSpec& spec) {
  std::string text;
  for (const ObservationEntry& entry : spec.entries) {
    text += text.empty() ? "" : "+";
    text += entry.picture() ? fmt::format("{}x{}x{}", entry.height, entry.width, entry.channels)
                            : fmt::format("{}", entry.channels);
  }
  return text.empty() ? fmt::format("{}x{}x{}", spec.height, spec.width, spec.channels) : text;
}

std::string EnvTable() {
  constexpr std::string_view kRow = "{:<24}{:<10}{:<36}{}\n";
  std::string table = fmt::format(kRow, "name", "shape", "actions", "options");
  for (const std::string& name : envs::EnvNames()) {
    const envs::EnvSpec spec = envs::SpecOf({.name = name});
    table += fmt::format(kRow, name, ShapeOf(spec), ActionsOf(spec), Options(name));
  }
  return table + kLegend;
}

void CheckEnvKeys(const std::vector<std::string>& overrides, bool name_too) {
  for (const std::string& override : overrides) {
    if (override.starts_with("env.") && (name_too || !override.starts_with("env.name"))) continue;
    throw UserError(fmt::format("--set {}: only keys of [env] have a meaning here{}",
                                Escaped(override),
                                name_too ? "" : ", and env.name is given already"));
  }
}

EnvConfig EnvOptions(const std::string& name, const std::vector<std::string>& overrides) {
  CheckEnvKeys(overrides, /*name_too=*/false);
  EnvConfig config = ParseConfig("", "", overrides).env;
  config.name = name;
  return config;
}

}  // namespace starling::play
