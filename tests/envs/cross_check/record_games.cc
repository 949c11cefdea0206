// record-games GAME STEPS SEED STICKY RAMPING: plays a bundled game and writes the recording
// (envs/trace_file.h) to standard output, for compare.py. STICKY is a probability, RAMPING 0 or 1.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "envs/chance.h"
#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "envs/games/minatar_freeway.h"
#include "envs/games/minatar_seaquest.h"
#include "envs/games/minatar_space_invaders.h"
#include "tests/envs/cross_check/bent_chance.h"
#include "tests/envs/cross_check/player.h"

namespace starling::envs::cross_check {
namespace {

constexpr int kMaxEpisodeSteps = 4000;

struct Order {
  std::string game;
  long steps = 0;
  std::uint64_t seed = 0;
  double sticky = 0;
  bool ramping = true;
};

template <class G>
std::string Picture(const G& game) {
  std::vector<float> seen(G::kSide * G::kSide * G::kChannels);
  game.Observe(seen.data());
  while (seen.size() % 8 != 0) seen.push_back(0);
  std::string hex;
  for (std::size_t i = 0; i < seen.size(); i += 4) {
    const int digit =
        8 * (seen[i] != 0) + 4 * (seen[i + 1] != 0) + 2 * (seen[i + 2] != 0) + (seen[i + 3] != 0);
    hex += "0123456789abcdef"[digit];
  }
  return hex;
}

template <class G>
void Record(const Order& order) {
  fmt::print(R"({{"game":"{}","sticky_action_prob":{},"difficulty_ramping":{},"shape":[10,10,{}]}})"
             "\n",
             order.game, order.sticky, order.ramping, G::kChannels);
  // 1. Header, chance and player.
  BentChance chance({.seed = order.seed, .purpose = Purpose::kEnv});
  Player<G> player({.seed = order.seed, .purpose = Purpose::kAction}, order.sticky);
  G game;
  if constexpr (requires { game.ramping; }) game.ramping = order.ramping;
  int last = 0, episode_steps = 0;
  bool over = true;
  for (long step = 0; step < order.steps; ++step) {
    std::string draws;
    RecordingChance recording(chance, draws);
    // 2. Reset where an episode is over or too long.
    if (over || episode_steps == kMaxEpisodeSteps) {
      chance.NextStep();
      game.Reset(recording);
      fmt::print(R"({{"reset":true,"d":[{}],"s":"{}"}})"
                 "\n",
                 draws, Picture(game));
      draws.clear();
      episode_steps = 0;
    }
    // 3. Play a step.
    const int asked = player.Choose(game, chance, last);
    chance.NextStep();
    last = StickyAction(asked, last, order.sticky, recording);
    const Outcome outcome = game.Step(last, recording);
    fmt::print(R"({{"a":{},"d":[{}],"r":{},"t":{},"s":"{}"}})"
               "\n",
               asked, draws, outcome.reward, outcome.terminal, Picture(game));
    over = outcome.terminal;
    ++episode_steps;
  }
}

int Main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: record-games GAME STEPS SEED STICKY RAMPING\n");
    return 2;
  }
  const Order order{argv[1], std::atol(argv[2]), std::strtoull(argv[3], nullptr, 10),
                    std::atof(argv[4]), std::string_view(argv[5]) != "0"};
  if (order.game == "asterix")
    Record<MinatarAsterix>(order);
  else if (order.game == "breakout")
    Record<MinatarBreakout>(order);
  else if (order.game == "freeway")
    Record<MinatarFreeway>(order);
  else if (order.game == "seaquest")
    Record<MinatarSeaquest>(order);
  else if (order.game == "space_invaders")
    Record<MinatarSpaceInvaders>(order);
  else {
    fmt::print(stderr, "record-games: there is no game {}\n", order.game);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace starling::envs::cross_check

int main(int argc, char** argv) { return starling::envs::cross_check::Main(argc, argv); }
