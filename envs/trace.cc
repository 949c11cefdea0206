#include "envs/trace.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"
#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/games.h"

namespace starling::envs {
namespace {

constexpr int kMaxCellsNamed = 6;  // of a channel; its picture shows all

// The game's answer to one event of the recording.
struct Played {
  Outcome outcome;
  std::string draws;        // ScriptedChance::Mismatch()
  std::vector<float> seen;  // (H, W, C)
};

// One channel as a grid: '#' and '.' where both agree, '-' recorded only, '+' seen only.
std::string Picture(const TraceHeader& header, const TraceEvent& event, const Played& played,
                    int channel) {
  std::string picture;
  for (int row = 0; row < header.height; ++row) {
    picture += "      ";
    for (int column = 0; column < header.width; ++column) {
      const int cell = (row * header.width + column) * header.channels + channel;
      const bool recorded = event.observation[cell] != 0;
      const bool same = played.seen[cell] == event.observation[cell];
      picture += same ? (recorded ? '#' : '.') : (recorded ? '-' : '+');
    }
    picture += '\n';
  }
  return picture;
}

// The cells of one channel that differ, and its picture; empty if none does.
std::string ChannelDifference(const TraceHeader& header, const TraceEvent& event,
                              const Played& played, int channel) {
  std::string cells;
  int differing = 0;
  for (int i = 0; i < header.height * header.width; ++i) {
    const int cell = i * header.channels + channel;
    const int recorded = event.observation[cell];
    const float seen = played.seen[cell];
    if (seen == static_cast<float>(recorded)) continue;
    if (++differing > kMaxCellsNamed) continue;
    cells += fmt::format(" ({}, {}) recorded {}, got {};", i / header.width, i % header.width,
                         recorded, seen);
  }
  if (differing > kMaxCellsNamed) cells += fmt::format(" and {} more;", differing - kMaxCellsNamed);
  if (cells.empty()) return cells;
  cells.back() = '\n';
  return fmt::format("  channel {}: (row, column){}{}", header.channel_names[channel], cells,
                     Picture(header, event, played, channel));
}

// Every difference between recording and `played`, a line each; empty if there is none.
std::string Difference(const TraceHeader& header, const TraceEvent& event, const Played& played) {
  std::string text;
  if (!played.draws.empty()) text += fmt::format("  draws: {}\n", played.draws);
  if (!event.reset && event.reward != played.outcome.reward) {
    text += fmt::format("  reward: recorded {}, got {}\n", event.reward, played.outcome.reward);
  }
  if (!event.reset && event.terminal != played.outcome.terminal) {
    text += fmt::format("  end of the episode: recorded {}, got {}\n", event.terminal,
                        played.outcome.terminal);
  }
  std::string channels;
  for (int channel = 0; channel < header.channels; ++channel) {
    channels += ChannelDifference(header, event, played, channel);
  }
  if (!channels.empty()) {
    text += "  observation (# both, . neither, - recorded only, + got only):\n" + channels;
  }
  return text;
}

std::string Where(const TraceHeader& header, const TraceEvent& event, long step, int action) {
  if (event.reset) return fmt::format("line {}, the reset before step {}\n", event.line, step + 1);
  const auto name = [&](int index) { return header.action_names[index]; };
  const std::string sticky =
      action == event.action ? "" : fmt::format(", sticky: played {} ({})", action, name(action));
  return fmt::format("line {}, step {}, action {} ({}){}\n", event.line, step, event.action,
                     name(event.action), sticky);
}

void CheckVariant(const EnvSpec& spec, const TraceHeader& header, const std::string& path) {
  if (header.height == spec.height && header.width == spec.width &&
      header.channels == spec.channels && header.action_names == spec.action_names) {
    return;
  }
  throw UserError(fmt::format(
      "{}: recorded from another variant of {}, with shape ({}, {}, {}) and {} actions, ours has "
      "({}, {}, {}) and {}: {}; record the game that we have",
      path, header.game, header.height, header.width, header.channels, header.action_names.size(),
      spec.height, spec.width, spec.channels, spec.actions.values(), Listed(spec.action_names)));
}

template <Game G>
TraceResult Replay(TraceFile& trace, const std::string& path) {
  static_assert(std::is_same_v<ActionOf<G>, int>, "a recording holds an action as one number");
  const TraceHeader& header = trace.header();
  const EnvSpec spec = G::Spec();
  CheckVariant(spec, header, path);
  TraceResult result;
  G game{};
  TraceEvent event;
  int last_action = 0;  // survives a reset
  while (trace.Next(event)) {
    // 1. Play the event with the recorded draws.
    Played played;
    ScriptedChance chance(event.draws);
    if (event.reset) {
      game.Reset(chance);
    } else {
      last_action = StickyAction(event.action, last_action, header.sticky_actions, chance);
      played.outcome = game.Step(last_action, chance);
    }
    played.draws = chance.Mismatch();
    played.seen.resize(spec.row());
    game.Observe(played.seen.data());

    // 2. Stop at the first difference.
    const std::string difference = Difference(header, event, played);
    if (!difference.empty()) {
      const long step = result.steps + (event.reset ? 0 : 1);
      result.first_difference = Where(header, event, step, last_action) + difference;
      return result;
    }
    if (!event.reset) ++result.steps;
  }
  result.conforms = true;
  return result;
}

struct TracedGame {
  const char* name;
  TraceResult (*replay)(TraceFile&, const std::string&);
};

constexpr TracedGame kTracedGames[] = {
    {"asterix", Replay<MinatarAsterix>},
    {"breakout", Replay<MinatarBreakout>},
    {"freeway", Replay<MinatarFreeway>},
    {"seaquest", Replay<MinatarSeaquest>},
    {"space_invaders", Replay<MinatarSpaceInvaders>},
};

}  // namespace

std::vector<std::string> TracedGames() {
  std::vector<std::string> names;
  for (const TracedGame& game : kTracedGames) names.emplace_back(game.name);
  return names;
}

TraceResult Conform(const std::filesystem::path& path) {
  TraceFile trace(path);
  for (const TracedGame& game : kTracedGames) {
    if (trace.header().game != game.name) continue;
    TraceResult result = game.replay(trace, path.string());
    if (result.conforms && result.steps == 0) {
      throw UserError(fmt::format("{}: the recording holds no step; record one", path.string()));
    }
    return result;
  }
  throw UserError(
      fmt::format("{}: recorded from \"{}\", a game that Starling does not have; games that can "
                  "be checked: {}",
                  path.string(), trace.header().game, Listed(TracedGames())));
}

}  // namespace starling::envs
