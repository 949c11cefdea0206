// record-games GAME STEPS SEED STICKY RAMPING: plays a bundled game and writes the recording
// (envs/trace.h) to standard output, for compare.py, and to standard error how often which
// situation was reached. STICKY is a probability, RAMPING 0 or 1.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "envs/chance.h"
#include "tests/envs/cross_check/bent_chance.h"
#include "tests/envs/cross_check/player.h"
#include "tests/envs/cross_check/rarities_asterix.h"
#include "tests/envs/cross_check/rarities_breakout.h"
#include "tests/envs/cross_check/rarities_freeway.h"
#include "tests/envs/cross_check/rarities_seaquest.h"
#include "tests/envs/cross_check/rarities_space_invaders.h"

namespace starling::envs::cross_check {
namespace {

constexpr int kMaxEpisodeSteps = 4000;
constexpr long kRare = 30;  // a situation seen less often is sought

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

std::uint64_t Rare(const std::vector<long>& counts) {
  std::uint64_t rare = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) rare |= std::uint64_t{counts[i] < kRare} << i;
  return rare;
}

template <class G>
void Record(const Order& order) {
  fmt::print(R"({{"game":"{}","sticky_action_prob":{},"difficulty_ramping":{},"shape":[10,10,{}]}})"
             "\n",
             order.game, order.sticky, order.ramping, G::kChannels);
  // 1. Header, chance and player.
  BentChance chance({.seed = order.seed, .purpose = Purpose::kEnv});
  Player<G> player({.seed = order.seed, .purpose = Purpose::kAction}, order.sticky);
  std::vector<long> counts(Rarities<G>::kNames.size());
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
    // 3. Play a step; count the situations that it reached.
    const int asked = player.Choose(game, chance, last, Rare(counts));
    chance.NextStep();
    last = StickyAction(asked, last, order.sticky, recording);
    const G before = game;
    const Outcome outcome = game.Step(last, recording);
    std::uint64_t seen = Rarities<G>::Seen(before, game, last, outcome);
    for (std::size_t i = 0; seen != 0; ++i, seen >>= 1) counts[i] += seen & 1;
    fmt::print(R"({{"a":{},"d":[{}],"r":{},"t":{},"s":"{}"}})"
               "\n",
               asked, draws, outcome.reward, outcome.terminal, Picture(game));
    over = outcome.terminal;
    ++episode_steps;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    fmt::print(stderr, "{:9}  {}: {}\n", counts[i], order.game, Rarities<G>::kNames.at(i));
  }
}

int Main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: record-games GAME STEPS SEED STICKY RAMPING\n");
    return 2;
  }
  const Order order{argv[1], std::atol(argv[2]), std::strtoull(argv[3], nullptr, 10),
                    std::atof(argv[4]), std::string_view(argv[5]) != "0"};
  const std::pair<std::string_view, void (*)(const Order&)> games[] = {
      {"asterix", Record<MinatarAsterix>},
      {"breakout", Record<MinatarBreakout>},
      {"freeway", Record<MinatarFreeway>},
      {"seaquest", Record<MinatarSeaquest>},
      {"space_invaders", Record<MinatarSpaceInvaders>}};
  for (const auto& [name, record] : games) {
    if (order.game != name) continue;
    record(order);
    return 0;
  }
  fmt::print(stderr, "record-games: there is no game {}\n", order.game);
  return 2;
}

}  // namespace
}  // namespace starling::envs::cross_check

int main(int argc, char** argv) { return starling::envs::cross_check::Main(argc, argv); }
