// What becomes of a gradient that arrives: checked, judged, held or refused.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "learner/learner.h"
#include "net/norm.h"

namespace starling::learner {
namespace {

wire::Outcome OutcomeOf(Arrival arrival) {
  switch (arrival) {
    case Arrival::kHeld:
      return wire::Outcome::kNone;
    case Arrival::kNoGrant:
      return wire::Outcome::kNoGrant;
    case Arrival::kBelowGrant:
      return wire::Outcome::kBelowGrant;
    case Arrival::kFutureVersion:
      return wire::Outcome::kFutureVersion;
    case Arrival::kStale:
      return wire::Outcome::kStale;
  }
  return wire::Outcome::kNone;
}

}  // namespace

// True: it is held. `other_square`: the sum of squares of what other shards have of it.
bool Learner::OnGradient(wire::Envelope envelope, const wire::Message& message,
                         double other_square) {
  const wire::Header header = message.header;
  const auto gradient = std::get<wire::Gradient>(message.body);
  const std::string peer = envelope.peer();
  const bool count = gradient.buffer > 0 || header.count == slice_.size;
  if (header.fingerprint != layout_.fingerprint() || !count) {
    ++counters_.frames_refused[count ? "fingerprint" : "count"];
    Say(peer, nullptr, wire::Bye{wire::ByeReason::kRefused, "your net is not the learner's"});
    return false;
  }
  ++counters_.received;
  Member* member = nullptr;
  Received received;
  wire::Outcome outcome = CheckGradient(message, other_square, member, received);
  if (member) {
    member->heard_ms = clock_.NowMs();
    member->peer = peer;
    if (outcome == wire::Outcome::kNone) {
      for (const wire::Episode& episode : gradient.episodes) counters_.AddEpisode(episode);
      counters_.episodes_cut += gradient.episodes_cut;
      counters_.envs_replaced += gradient.envs_replaced;
      newest_ = gradient;
      times_.Add(gradient);
      received.envelope = std::move(envelope);
      outcome = SpendGrant(gradient, std::move(received), *member);
    } else if (outcome != wire::Outcome::kDuplicate &&
               pipeline_.judge().Lose(member->slot, gradient.grant)) {
      granted_ms_.erase(gradient.grant);
    }
  }
  if (member) Journal(message, outcome);
  if (outcome == wire::Outcome::kNone) return true;  // answered when it is applied

  counters_.AddDropped(outcome);
  if (outcome != wire::Outcome::kStale) {  // that one is what "drop" is for
    refusals_.Warn(clock_.NowMs(), fmt::format("refused a gradient of actor {}: {}", header.slot,
                                               wire::OutcomeName(outcome)));
  }
  if (!member) {
    Say(peer, nullptr, wire::Answer{.answers = header.sequence, .outcome = outcome});
    return false;
  }
  Say(peer, member, wire::Answer{.answers = header.sequence, .outcome = outcome});
  pipeline_.judge().Retry(member->slot);
  return false;
}

// Only members' gradients: what a stranger sends is no part of the run.
void Learner::Journal(const wire::Message& message, wire::Outcome outcome) {
  const auto& gradient = std::get<wire::Gradient>(message.body);
  journal_.Append(ArrivalRecord{.slot = message.header.slot,
                                .incarnation = message.header.incarnation,
                                .sequence = message.header.sequence,
                                .grant = gradient.grant,
                                .base_version = message.header.version,
                                .samples = gradient.samples,
                                .outcome = static_cast<std::uint8_t>(outcome),
                                .norm = gradient.norm});
}

// What can be said of a gradient without the judge; `member` is its sender if it is one of us,
// `received` the gradient, once its values are found.
wire::Outcome Learner::CheckGradient(const wire::Message& message, double other_square,
                                     Member*& member, Received& received) {
  const wire::Header& header = message.header;
  const auto& gradient = std::get<wire::Gradient>(message.body);
  if (header.term != term_ || header.session != session_) return wire::Outcome::kOtherTerm;
  Member* found = roster_.Find(header.slot);
  if (!found) return wire::Outcome::kUnknownActor;
  if (header.incarnation != found->incarnation) return wire::Outcome::kOldIncarnation;
  member = found;
  if (header.sequence <= member->last_sequence) return wire::Outcome::kDuplicate;
  member->last_sequence = header.sequence;
  // Whole unrolls, of as many envs as its actor has: not all need have the same number.
  if (gradient.samples < 1 || gradient.samples > kMaxSamples ||
      gradient.samples % static_cast<std::uint64_t>(config_.actors.unroll) != 0) {
    return wire::Outcome::kBadSamples;
  }
  received = {.slot = member->slot,
              .incarnation = member->incarnation,
              .sequence = header.sequence,
              .base = header.version,
              .samples = gradient.samples};
  if (gradient.buffer == 0) {
    received.values = message.floats();
  } else {
    auto loan = member->buffers ? member->buffers->Lend(gradient.buffer - 1) : std::nullopt;
    if (!loan) return wire::Outcome::kNoBuffer;
    received.loan = *std::move(loan);
    received.values = received.loan.values;
  }
  const net::FiniteNorm norm = net::CheckFinite(received.values);
  if (!norm.finite || !std::isfinite(other_square)) return wire::Outcome::kNotFinite;
  const double whole =
      other_square > 0 ? std::sqrt(norm.norm * norm.norm + other_square) : norm.norm;
  if (whole > config_.updates.max_norm) return wire::Outcome::kNormTooLarge;
  return wire::Outcome::kNone;
}

wire::Outcome Learner::SpendGrant(const wire::Gradient& gradient, Received received,
                                  Member& member) {
  const std::uint64_t number = gradient.grant, base = received.base;
  const Arrival arrival = pipeline_.Hold(number, std::move(received));
  if (arrival == Arrival::kHeld) {
    ++member.accepted;
    member.steps += gradient.samples;
    member.wait_us += gradient.wait_us;
    member.version = base;
  }
  if (arrival == Arrival::kBelowGrant || arrival == Arrival::kFutureVersion) {
    pipeline_.judge().Lose(member.slot, number);
  }
  if (arrival != Arrival::kNoGrant) granted_ms_.erase(number);
  return OutcomeOf(arrival);
}

}  // namespace starling::learner
