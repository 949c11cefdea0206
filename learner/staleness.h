// The judge: decides which gradients become the next update, so that none is ever older than the
// bound.
//
// It only counts and decides: no clock, no socket, no floats. The learner's network thread tells it
// what happened (a join, an arrival, a loss) and then asks NextUpdate() until there is nothing left
// to apply.
//
// Words: a *grant* (number, version u) allows an actor to compute one gradient on weights of
// version u or newer; theirs is its *base*. A gradient that arrived under a live grant is *held*
// until an update takes it. The *staleness* of an applied gradient is (version just before the
// update) - base.
//
// Invariants, after NextUpdate() has returned nothing:
// - no gradient was ever applied with a staleness over the bound (checked, fatal)
// - if anything is held, a grant is outstanding (never stuck)
// - a grant is spent once: by an arrival, or by a loss
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
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
};

struct Grant {
  std::uint32_t slot = 0;
  std::uint64_t number = 0;   // unique within the judge, from 1
  std::uint64_t version = 0;  // u
};

struct HeldGradient {
  std::uint32_t slot = 0;
  std::uint64_t base = 0;
  std::uint64_t arrival = 0;  // the judge's count
  std::uint64_t ticket = 0;   // the caller's handle to the gradient itself
  bool orphan = false;        // its actor died since; it counts, but nobody is granted for it
};

// Why an arrived gradient is refused, in the order the checks are made.
enum class Arrival : std::uint8_t { kHeld, kNoGrant, kBelowGrant, kFutureVersion, kStale };

struct JudgeState {
  std::uint64_t version = 0;
  std::vector<HeldGradient> held;  // in order of arrival
  std::vector<Grant> outstanding;  // in order of number
};

// The rule of the dial, as a pure function: the indices into `state.held` that the next update
// takes, in (base, arrival) order, or nothing if no update is due. At version v one is due when
//   (a) v + 1 - u <= bound for every outstanding grant of version u     (skipped under "drop"), and
//   (b) K gradients are held, or no grant is outstanding (and something is held).
// It takes the K with the smallest (base, arrival), and every other that would be too old
// afterwards: v + 1 - base > bound.
std::vector<std::size_t> DueUpdate(const JudgeRules& rules, const JudgeState& state);

// Where updates may land in another order than they were decided in (learner.apply = "hogwild"):
// whether the update that makes `version` may land before one that is decided but not completed and
// has a gradient of `base`, which would then be version - 1 - base versions stale.
bool MayOvertake(std::uint64_t bound, std::uint64_t version, std::uint64_t base);

class Judge {
 public:
  Judge(const JudgeRules& rules, std::uint64_t version);

  // Nothing is granted before Open(); those who joined by then are granted at once.
  void Open();
  bool open() const { return open_; }

  // `slot` has no grant and nothing waiting. It is granted `in_flight` times: at once if nothing is
  // held, else with the next version.
  void Join(std::uint32_t slot);

  // A gradient that spends grant `number` of `slot`. kHeld: it will be in exactly one update.
  // kStale (only under "drop"): refused and granted anew at once. The other refusals spend no
  // grant: the caller decides what the actor gets (see GrantOrQueue).
  Arrival Arrive(std::uint32_t slot, std::uint64_t number, std::uint64_t base,
                 std::uint64_t ticket);

  // The grant ends without a gradient (deadline, or a gradient whose content was refused). False if
  // it was not live.
  bool RevokeGrant(std::uint32_t slot, std::uint64_t number);

  // `slot` gets one more grant if it holds fewer than `in_flight`: at once if nothing is held, else
  // with the next version, so that an actor that is refused for ever cannot hold the others up.
  void GrantOrQueue(std::uint32_t slot);

  // The actor died: its grants end, it waits for nothing. What it sent before stays held.
  // Returns the grants that ended.
  std::vector<Grant> RemoveActor(std::uint32_t slot);

  // The next update if one is due: raises the version by one, regrants the actors whose gradients
  // it takes and those who wait. The gradients are in (slot, arrival) order, the order of the sum;
  // an actor's own arrive in its own sequence, so this is (slot, sequence) whatever came first.
  struct Update {
    std::uint64_t version = 0;  // that it produces; the staleness of one is version - 1 - base
    std::vector<HeldGradient> gradients;
  };
  std::optional<Update> NextUpdate();

  // Grants made since the last call. One of version u is to be sent once version u is published.
  std::vector<Grant> TakeGrants();

  const JudgeState& state() const { return state_; }
  const JudgeRules& rules() const { return rules_; }
  std::uint64_t version() const { return state_.version; }
  // Slots that get a grant with the next version, once per grant.
  const std::vector<std::uint32_t>& waiting() const { return waiting_; }

 private:
  void GrantTo(std::uint32_t slot);
  void GrantWaiting();
  std::size_t HeldOrGranted(std::uint32_t slot) const;
  std::optional<std::size_t> FindOutstanding(std::uint32_t slot, std::uint64_t number) const;

  const JudgeRules rules_;
  JudgeState state_;
  bool open_ = false;
  std::uint64_t next_number_ = 1;
  std::uint64_t next_arrival_ = 0;
  std::vector<std::uint32_t> waiting_;  // a slot stands here once per grant it waits for
  std::vector<Grant> fresh_;            // made, not yet taken
};

}  // namespace starling::learner
