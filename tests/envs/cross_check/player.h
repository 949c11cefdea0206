// Plays a game by looking ahead: it tries sequences of actions on copies of the game, with the very
// draws that will follow, and improves the best one from step to step. Its goals change over time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/random.h"
#include "envs/chance.h"
#include "tests/envs/cross_check/bent_chance.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <class G>
class Player {
 public:
  Player(const StreamId& id, double sticky) : stream_(id), sticky_(sticky) {}

  // The action to ask for in this step. `last`: the action played before (sticky actions). `rare`:
  // situations that were hardly seen so far, as bits.
  int Choose(const G& game, const BentChance& chance, int last, std::uint64_t rare) {
    if (style_.steps_left-- == 0) NewStyle(rare);
    for (std::size_t i = 0; i + 1 < kDepth; ++i) best_[i] = best_[i + 1];
    best_[kDepth - 1] = Any();
    if (One() < style_.noise) return best_[0] = Any();
    double best_value = ValueOf(best_, game, chance, last);
    for (int i = 0; i < style_.plans; ++i) {
      Plan plan = best_;
      Change(plan);
      const double value = ValueOf(plan, game, chance, last);
      if (value < best_value) continue;
      best_value = value;
      best_ = plan;
    }
    return best_[0];
  }

 private:
  static constexpr std::size_t kDepth = Rarities<G>::kDepth;
  static constexpr int kMaxPlans = 60, kShortestStyle = 50;
  using Plan = std::array<std::int8_t, kDepth>;

  struct Style {
    int steps_left = 0, plans = 0;
    double reward = 0, death = 0, noise = 0;
    std::uint64_t wish = 0;  // a rarity it is after
    double wish_weight = 0;
    Tastes tastes{};
  };

  void NewStyle(std::uint64_t rare) {
    style_.steps_left = kShortestStyle << Pick(6);
    style_.plans = 1 + Pick(kMaxPlans);
    style_.reward = One() * 2;
    style_.death = Pick(8) == 0 ? -1 : 5 + 50 * One();
    style_.noise = Pick(2) == 0 ? 0 : 0.1 * One() * One();
    style_.wish = std::uint64_t{1} << Pick(static_cast<int>(Rarities<G>::kNames.size()));
    if (Pick(2) == 0) style_.wish = rare;
    style_.wish_weight = 1 + 30 * One();
    for (double& taste : style_.tastes) taste = One();
  }

  int Pick(int n) { return static_cast<int>(stream_.Below(static_cast<std::uint32_t>(n))); }
  double One() { return stream_.UniformDouble(); }
  std::int8_t Any() {
    const auto& useful = G::kMinimalActions;
    const int any = Pick(20) == 0 ? Pick(G::kNumActions) : useful[stream_.Below(useful.size())];
    return static_cast<std::int8_t>(any);
  }

  // One to four stretches get another action each, or other actions.
  void Change(Plan& plan) {
    for (int changes = 1 + Pick(4); changes > 0; --changes) {
      const std::int8_t action = Any();
      const bool mixed = Pick(4) == 0;
      std::size_t at = stream_.Below(kDepth);
      for (int length = 1 + Pick(8); length > 0 && at < kDepth; --length) {
        plan[at++] = mixed ? Any() : action;
      }
    }
  }

  double ValueOf(const Plan& plan, const G& now, BentChance chance, int last) const {
    G game = now;
    double value = 0;
    for (std::size_t i = 0; i < kDepth; ++i) {
      const double weight = 1 - 0.5 * static_cast<double>(i) / kDepth;
      chance.NextStep();
      last = StickyAction(plan[i], last, sticky_, chance);
      const G before = game;
      const Outcome outcome = game.Step(last, chance);
      value += weight * style_.reward * outcome.reward;
      if ((Rarities<G>::Seen(before, game, last, outcome) & style_.wish) != 0) {
        value += weight * style_.wish_weight;
      }
      if (outcome.terminal) return value - weight * style_.death;
    }
    return value + Rarities<G>::Liking(now, game, style_.tastes);
  }

  RandomStream stream_;
  double sticky_;
  Style style_;
  Plan best_{};
};

}  // namespace starling::envs::cross_check
