#include "learner/staleness.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace starling::learner {

namespace {

// Returns whether weights or a gradient of `version` are over the bound when the learner is at
// version `now`.
bool TooOld(const JudgeRules& rules, std::uint64_t now, std::uint64_t version) {
  return rules.bound != kUnbounded && now - version > rules.bound;
}

void SortForSum(std::vector<HeldGradient>& gradients) {
  std::ranges::sort(gradients, {}, [](const HeldGradient& gradient) {
    return std::pair(gradient.slot, gradient.arrival);
  });
}

// Puts slots that are listed several times in the order 0, 1, ... 0, 1, ...
void TakeTurns(std::vector<std::uint32_t>& slots) {
  std::map<std::uint32_t, std::size_t> rounds;
  std::vector<std::pair<std::size_t, std::uint32_t>> turns;
  for (const std::uint32_t slot : slots) turns.emplace_back(rounds[slot]++, slot);
  std::ranges::sort(turns);
  std::ranges::transform(turns, slots.begin(), [](const auto& turn) { return turn.second; });
}

// DueUpdate with a delay.
std::vector<std::size_t> DueInTurn(const JudgeRules& rules, const JudgeState& state) {
  std::vector<std::size_t> order(state.held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return state.held[i].grant; });
  if (!state.outstanding.empty()) {
    if (order.size() < rules.gradients) return {};
    const std::uint64_t last = state.held[order[rules.gradients - 1]].grant;
    if (last > state.outstanding.front().number) return {};
  }
  order.resize(std::min<std::size_t>(rules.gradients, order.size()));
  return order;
}

}  // namespace

std::vector<std::size_t> DueUpdate(const JudgeRules& rules, const JudgeState& state) {
  if (rules.delayed()) return DueInTurn(rules, state);
  // 1. Is an update due?
  const std::uint64_t after = state.version + 1;
  const bool enough = state.held.size() >= rules.gradients || state.outstanding.empty();
  if (state.held.empty() || !enough) return {};
  if (!rules.drop) {
    for (const Grant& grant : state.outstanding) {
      if (grant.acting && rules.bound > 0) continue;
      if (TooOld(rules, after, grant.version)) return {};
    }
  }
  // 2. The oldest first.
  std::vector<std::size_t> order(state.held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(state.held[i].base, state.held[i].arrival);
  });
  // 3. Sorted by base, the gradients that would be too old stand first, so "K and every other that
  //    is too old" is a prefix.
  std::size_t take = std::min<std::size_t>(rules.gradients, order.size());
  while (take < order.size() && TooOld(rules, after, state.held[order[take]].base)) ++take;
  order.resize(take);
  return order;
}

std::vector<HeldGradient> CertainNext(const JudgeRules& rules, const JudgeState& state) {
  if (rules.bound != 0 || rules.drop || state.held.empty()) return {};
  std::uint32_t first = UINT32_MAX;  // slot that can still send a gradient
  for (const Grant& grant : state.outstanding) first = std::min(first, grant.slot);
  std::vector<HeldGradient> certain;
  std::ranges::copy_if(state.held, std::back_inserter(certain),
                       [&](const HeldGradient& held) { return held.slot < first; });
  SortForSum(certain);
  return certain;
}

bool MayOvertake(std::uint64_t bound, std::uint64_t version, std::uint64_t base) {
  return version - 1 - base <= bound;
}

Judge::Judge(const JudgeRules& rules, std::uint64_t version) : rules_(rules) {
  CHECK(rules.gradients >= 1 && rules.in_flight >= 1);
  CHECK(rules.bound != 0 || rules.in_flight == 1, "in_flight {} at bound 0", rules.in_flight);
  CHECK(rules.uses == 1 || rules.acts_first, "{} gradients on the weights that play", rules.uses);
  CHECK(!rules.delayed() || (rules.delay <= rules.bound && !rules.drop && !rules.acts_first),
        "a delay of {} at bound {}", rules.delay, rules.bound);
  state_.version = version;
}

void Judge::Open() {
  open_ = true;
  if (rules_.delayed()) TakeTurns(waiting_);  // not in the order of the joins
  GrantWaiting();
}

void Judge::Release() {
  withheld_ = false;
  if (open_ && state_.held.empty()) GrantWaiting();
}

void Judge::Join(std::uint32_t slot) {
  CHECK(std::ranges::none_of(state_.outstanding, [&](const Grant& g) { return g.slot == slot; }),
        "slot {} joins with a live grant", slot);
  for (std::uint64_t i = 0; i < rules_.in_flight; ++i) GrantOrQueue(slot);
}

Arrival Judge::Arrive(std::uint32_t slot, std::uint64_t number, std::uint64_t base,
                      std::uint64_t ticket) {
  Spent(slot, number);
  const auto found = FindOutstanding(slot, number);
  if (!found) return Arrival::kNoGrant;
  if (base < state_.outstanding[*found].version) return Arrival::kBelowGrant;
  const bool other = rules_.delayed() && base != state_.outstanding[*found].version;
  if (base > state_.version || other) return Arrival::kFutureVersion;
  const bool acting = state_.outstanding[*found].acting;
  state_.outstanding.erase(state_.outstanding.begin() + static_cast<std::ptrdiff_t>(*found));
  if (TooOld(rules_, state_.version, base)) {
    CHECK(rules_.drop || acting, "version {} left base {} behind under wait", state_.version, base);
    MayGrant(slot) ? GrantTo(slot) : waiting_.push_back(slot);
    return Arrival::kStale;
  }
  state_.held.push_back(
      {.slot = slot, .base = base, .arrival = next_arrival_++, .ticket = ticket, .grant = number});
  return Arrival::kHeld;
}

bool Judge::Acted(std::uint32_t slot, std::uint64_t number) {
  for (Grant& grant : state_.outstanding) {
    if (grant.slot != slot || grant.number < number || !grant.acting) continue;
    if (grant.number > number && grant.use == 0) break;  // of the next unroll
    grant.version = state_.version;
    grant.acting = false;
    fresh_.push_back(grant);
  }
  return FindOutstanding(slot, number).has_value();
}

bool Judge::RevokeGrant(std::uint32_t slot, std::uint64_t number) {
  Spent(slot, number);
  const auto found = FindOutstanding(slot, number);
  if (!found) return false;
  state_.outstanding.erase(state_.outstanding.begin() + static_cast<std::ptrdiff_t>(*found));
  GrantFreed();
  return true;
}

bool Judge::ExpireGrant(std::uint32_t slot, std::uint64_t number) {
  if (!RevokeGrant(slot, number)) return false;
  late_[slot] = number;
  return true;
}

// An actor spends its grants in order: it computes on none before this one any more.
void Judge::Spent(std::uint32_t slot, std::uint64_t number) {
  const auto late = late_.find(slot);
  if (late != late_.end() && late->second <= number) late_.erase(late);
}

void Judge::GrantOrQueue(std::uint32_t slot) {
  if (HeldOrGranted(slot) >= rules_.in_flight) return;
  if (open_ && MayGrant(slot) && state_.held.empty()) {
    GrantTo(slot);
  } else {
    waiting_.push_back(slot);
  }
}

std::vector<Grant> Judge::RemoveActor(std::uint32_t slot) {
  std::vector<Grant> ended;
  std::erase_if(state_.outstanding, [&](const Grant& grant) {
    if (grant.slot == slot) ended.push_back(grant);
    return grant.slot == slot;
  });
  for (HeldGradient& gradient : state_.held) gradient.orphan |= gradient.slot == slot;
  late_.erase(slot);
  unrolls_.erase(slot);
  std::erase(waiting_, slot);
  std::erase_if(fresh_, [&](const Grant& grant) { return grant.slot == slot; });
  GrantFreed();
  return ended;
}

std::optional<Judge::Update> Judge::NextUpdate() {
  const std::vector<std::size_t> chosen = DueUpdate(rules_, state_);
  if (chosen.empty()) return std::nullopt;

  // 1. Check the bound, always: a violation can only be our bug.
  Update update;
  std::vector<bool> taken(state_.held.size(), false);
  for (std::size_t i : chosen) {
    const HeldGradient& gradient = state_.held[i];
    const std::uint64_t staleness = state_.version - gradient.base;
    CHECK(staleness <= rules_.bound, "staleness {} over the bound {}: slot {}, base {}, version {}",
          staleness, rules_.bound, gradient.slot, gradient.base, state_.version);
    taken[i] = true;
    update.gradients.push_back(gradient);
  }
  // 2. Fix the order of the sum, and take the gradients out of `held`.
  SortForSum(update.gradients);
  std::size_t next = 0;
  std::erase_if(state_.held, [&](const HeldGradient&) { return taken[next++]; });

  // 3. Raise the version before granting: the new grants are of the new version.
  update.version = ++state_.version;
  update.cut = AtCut();
  for (const HeldGradient& gradient : update.gradients) {
    if (!gradient.orphan) waiting_.push_back(gradient.slot);
  }
  GrantWaiting();
  return update;
}

std::vector<Grant> Judge::TakeGrants() { return std::exchange(fresh_, {}); }

// A later grant of an unroll that is still to be played acts with the first one.
void Judge::GrantTo(std::uint32_t slot) {
  Unroll& unroll = unrolls_[slot];
  if (unroll.next == 0) ++unroll.number;
  Grant grant{slot, next_number_++, state_.version, unroll.next, unroll.number};
  grant.acting = rules_.acts_first &&
                 (grant.use == 0 || std::ranges::any_of(state_.outstanding, [&](const Grant& g) {
                    return g.slot == slot && g.acting;
                  }));
  unroll.next = (grant.use + 1) % rules_.uses;
  state_.outstanding.push_back(grant);
  fresh_.push_back(grant);
}

void Judge::GrantWaiting() {
  if (!open_) return;
  for (std::uint32_t slot : std::exchange(waiting_, {})) {
    MayGrant(slot) ? GrantTo(slot) : waiting_.push_back(slot);
  }
}

// With a delay a grant that is lost makes room for another one. If a gradient is held, its update
// grants.
void Judge::GrantFreed() {
  if (rules_.delayed() && state_.held.empty()) GrantWaiting();
}

// An unroll that has begun runs out also where new ones are withheld.
bool Judge::MayGrant(std::uint32_t slot) const {
  const std::size_t under_way = state_.held.size() + state_.outstanding.size();
  if (rules_.delayed() && under_way >= rules_.gradients * (rules_.delay + 1)) return false;
  return !withheld_ || NextUse(slot) != 0;
}

std::uint64_t Judge::NextUse(std::uint32_t slot) const {
  const auto unroll = unrolls_.find(slot);
  return unroll == unrolls_.end() ? 0 : unroll->second.next;
}

bool Judge::AtCut() const {
  return state_.held.empty() && state_.outstanding.empty() && late_.empty() &&
         std::ranges::all_of(unrolls_, [](const auto& one) { return one.second.next == 0; });
}

std::size_t Judge::HeldOrGranted(std::uint32_t slot) const {
  const auto held = std::ranges::count_if(
      state_.held, [&](const HeldGradient& g) { return g.slot == slot && !g.orphan; });
  const auto granted =
      std::ranges::count_if(state_.outstanding, [&](const Grant& g) { return g.slot == slot; });
  return static_cast<std::size_t>(held + granted + std::ranges::count(waiting_, slot));
}

std::optional<std::size_t> Judge::FindOutstanding(std::uint32_t slot, std::uint64_t number) const {
  const Grant* grant = FindGrant(number);
  if (!grant || grant->slot != slot) return std::nullopt;
  return static_cast<std::size_t>(grant - state_.outstanding.data());
}

const Grant* Judge::FindGrant(std::uint64_t number) const {
  const auto found = std::ranges::lower_bound(state_.outstanding, number, {}, &Grant::number);
  return found != state_.outstanding.end() && found->number == number ? &*found : nullptr;
}

}  // namespace starling::learner
