// The judge: decides which gradients become the next update. No gradient is ever applied with a
// staleness over the bound.
//
// It only counts and decides: no clock, no socket, no floats. The learner's network thread reports
// each event (a join, an arrival, a loss) and then calls NextUpdate() until it returns nullopt.
//
// Words: a *grant* (number, version u) allows an actor to compute one gradient on weights of
// version u or newer. The version of the weights used is the *base* of the gradient. A gradient
// that arrived under a live grant is *held* until an update takes it. The *staleness* of an applied
// gradient is (version just before the update) - base. A *cut* is a version at which every actor
// stands between two unrolls: nothing is outstanding, held or late, and no unroll has gradients
// left, so the weights and the states of the actors are the whole run. At bound 0, with one
// gradient an unroll, every version is one; otherwise the grants of new unrolls are withheld until
// there is one.
//
// An unroll gives `uses` gradients (epochs x minibatches), each under a grant of its own, which
// knows its place among them. Where they are computed on other weights than those that played the
// unroll, the first of these grants is *acting* until the actor says that it has played. It then
// becomes a grant of the version of that time. An acting grant does not get old: above bound 0 the
// bound makes no update wait for it.
//
// With a *delay* d gradients are applied in the order of their grants, and K (d + 1) grants and
// held gradients are all there are at a time. So a grant of version u has at most K (d + 1) - 1
// before it. Its gradient is applied at version u + d; earlier only in the first d updates after
// the start or a loss. Actors beyond that number take turns. A gradient must be computed on exactly
// the version of its grant. So the order of everything depends on no timing, not even on that of
// the joins before the start.
//
// Invariants, after NextUpdate() has returned nullopt:
// - no gradient was ever applied with a staleness over the bound (checked, fatal)
// - if anything is held, a grant is outstanding (never stuck)
// - a grant is spent once: by an arrival, or by a loss
// - while grants are withheld, every arrival and loss brings the cut nearer
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/config/config.h"

namespace starling::learner {

struct JudgeRules {
  std::uint64_t bound = kUnbounded;  // staleness.bound
  bool drop = false;                 // staleness.on_exceed = "drop"
  std::uint64_t gradients = 1;       // updates.gradients, K
  std::uint64_t in_flight = 1;       // updates.in_flight: grants an actor holds
  std::uint64_t uses = 1;            // gradients of one unroll
  bool acts_first = false;           // the grant of its first gradient is acting until it is played
  std::uint64_t delay = kNoDelay;  // staleness.delay; REQUIRES: <= bound, not drop, not acts_first

  bool delayed() const { return delay != kNoDelay; }
};

struct Grant {
  std::uint32_t slot = 0;
  std::uint64_t number = 0;   // 1, 2, ... in the order the judge makes them
  std::uint64_t version = 0;  // u
  std::uint64_t use = 0;      // of its unroll, in [0, uses)
  std::uint64_t unroll = 0;   // of its actor, from 1
  bool acting = false;
};

struct HeldGradient {
  std::uint32_t slot = 0;
  std::uint64_t base = 0;
  std::uint64_t arrival = 0;  // 0, 1, ... in the order of arrival
  std::uint64_t ticket = 0;   // the caller's handle to the gradient itself
  bool orphan = false;        // its actor has died: it is applied, but earns no new grant
  std::uint64_t grant = 0;    // number of the grant it spent
};

// Held, or why an arrived gradient is refused, in the order of the checks. With a delay every
// version after that of the grant is a future one.
enum class Arrival : std::uint8_t { kHeld, kNoGrant, kBelowGrant, kFutureVersion, kStale };

struct JudgeState {
  std::uint64_t version = 0;
  std::vector<HeldGradient> held;  // in order of arrival
  std::vector<Grant> outstanding;  // in order of number
};

// The rule of the staleness bound, as a pure function. Returns the indices into `state.held` that
// the next update takes, in (base, arrival) order; empty if no update is due. At version v an
// update is due when
//   (a) v + 1 - u <= bound for every outstanding grant of version u (skipped under "drop", and for
//       acting grants unless the bound is 0, under which every update waits for all), and
//   (b) K gradients are held, or no grant is outstanding (and something is held).
// It takes the K held gradients with the smallest (base, arrival), and every other one that would
// be too old afterwards: v + 1 - base > bound.
//
// With a delay an update takes the gradients of the K oldest grants, when all of them are held or
// no grant is outstanding; it waits for no other.
std::vector<std::size_t> DueUpdate(const JudgeRules& rules, const JudgeState& state);

// Returns the held gradients of which it is certain that the next update takes them, and that no
// gradient that is still to come precedes them in its sum, in the order of the sum. Their sum can
// be begun while the update waits. At bound 0 every update takes all that is held, no actor has two
// gradients in it, and nothing is granted before it: so those are certain whose slot is below every
// slot with an outstanding grant. Otherwise none is.
std::vector<HeldGradient> CertainNext(const JudgeRules& rules, const JudgeState& state);

// With learner.apply = "hogwild" updates may land in another order than they were decided in.
// Returns whether the update that makes `version` may land before a decided, uncompleted update
// with a gradient of `base`. That gradient would then have a staleness of version - 1 - base.
bool MayOvertake(std::uint64_t bound, std::uint64_t version, std::uint64_t base);

class Judge {
 public:
  Judge(const JudgeRules& rules, std::uint64_t version);

  // Starts granting: every slot that has joined is granted at once. Before, nothing is granted.
  void Open();
  bool open() const { return open_; }

  // REQUIRES: `slot` has no grant and nothing queued. Grants it `in_flight` times: at once if no
  // gradient is held, else with the next version.
  void Join(std::uint32_t slot);

  // A gradient arrives that names grant `number` of `slot`. kHeld: it will be in exactly one
  // update. kStale (only under "drop", or under an acting grant): refused, and its actor gets a new
  // grant at once. The other refusals leave the grant as it is; the caller ends it (RevokeGrant).
  Arrival Arrive(std::uint32_t slot, std::uint64_t number, std::uint64_t base,
                 std::uint64_t ticket);

  // The actor has played the unroll of its acting grant `number`, which becomes one of the newest
  // version, with those behind it that belong to the same unroll: all are granted anew under their
  // numbers. Returns false if the grant was not live: its gradient will be refused.
  bool Acted(std::uint32_t slot, std::uint64_t number);

  // Ends a grant without a gradient: the content of its gradient was refused. Returns false if the
  // grant was not live.
  bool RevokeGrant(std::uint32_t slot, std::uint64_t number);
  // The same for a grant whose gradient is late. Its actor may still compute, so there is no cut
  // before the gradient arrives or the actor dies.
  bool ExpireGrant(std::uint32_t slot, std::uint64_t number);

  // Grants `slot` once more if it holds fewer than `in_flight`: at once if no gradient is held,
  // else with the next version. So an actor that is refused every time cannot block the others.
  void GrantOrQueue(std::uint32_t slot);

  // The actor has died: its grants end and its queued grants are dropped. Its held gradients stay
  // held. Returns the grants that ended.
  std::vector<Grant> RemoveActor(std::uint32_t slot);

  // Returns the next update, or nullopt if none is due. Raises the version by one, then makes new
  // grants for the actors of these gradients and for the queued slots. The gradients are in (slot,
  // arrival) order, the order of the sum. Gradients of one actor arrive in its own sequence, so
  // this is (slot, sequence) order, in whichever order the actors arrived.
  struct Update {
    std::uint64_t version = 0;  // produced by it; staleness of a gradient: version - 1 - base
    std::vector<HeldGradient> gradients;
    bool cut = false;  // `version` is a cut
  };
  std::optional<Update> NextUpdate();

  // From now on no unroll is granted, and slots wait; what is granted and held runs out. Release
  // grants the slots that wait: at once if no gradient is held, else with the next version.
  void Withhold() { withheld_ = true; }
  void Release();
  bool withheld() const { return withheld_; }
  // Returns whether version() is a cut.
  bool AtCut() const;
  // The newest expired grant of every actor that may still compute on it, by slot.
  const std::map<std::uint32_t, std::uint64_t>& late() const { return late_; }

  // Returns the grants made since the last call. The caller sends a grant of version u once version
  // u is published.
  std::vector<Grant> TakeGrants();

  // Returns the live grant with this number, or nullptr.
  const Grant* FindGrant(std::uint64_t number) const;

  const JudgeState& state() const { return state_; }
  const JudgeRules& rules() const { return rules_; }
  std::uint64_t version() const { return state_.version; }
  // The use of the next grant of `slot`.
  std::uint64_t NextUse(std::uint32_t slot) const;
  // Slots that get a grant with the next version; a slot is listed once per grant.
  const std::vector<std::uint32_t>& waiting() const { return waiting_; }

 private:
  void GrantTo(std::uint32_t slot);
  void GrantWaiting();
  void GrantFreed();
  bool MayGrant(std::uint32_t slot) const;
  std::size_t HeldOrGranted(std::uint32_t slot) const;
  std::optional<std::size_t> FindOutstanding(std::uint32_t slot, std::uint64_t number) const;
  void Spent(std::uint32_t slot, std::uint64_t number);

  const JudgeRules rules_;
  JudgeState state_;
  bool open_ = false, withheld_ = false;
  std::map<std::uint32_t, std::uint64_t> late_;
  std::uint64_t next_number_ = 1;
  std::uint64_t next_arrival_ = 0;
  std::vector<std::uint32_t> waiting_;  // one entry per queued grant
  std::vector<Grant> fresh_;            // made since the last TakeGrants
  struct Unroll {
    std::uint64_t number = 0;  // of the last grant
    std::uint64_t next = 0;    // use of the next grant
  };
  std::map<std::uint32_t, Unroll> unrolls_;  // by slot
};

}  // namespace starling::learner
