#include "learner/outbox.h"

namespace starling::learner {
namespace {

bool Empty(const wire::Answer& answer) { return answer == wire::Answer{}; }

// An honest member has at most updates.in_flight of either.
bool Fits(const wire::Answer& answer) {
  return answer.outcomes.size() <= wire::kMaxOutcomes && answer.grants.size() <= wire::kMaxGrants;
}

}  // namespace

void Outbox::Add(Member& member, const wire::Answer& more) {
  wire::Answer& unsent = member.unsent;
  if (Empty(unsent)) waiting_.push_back(member.slot);
  if (!Fits(unsent)) return;  // SendAnswers reports the member
  unsent.outcomes.insert(unsent.outcomes.end(), more.outcomes.begin(), more.outcomes.end());
  if (more.cut > 0) unsent.cut = more.cut;
  unsent.grants.insert(unsent.grants.end(), more.grants.begin(), more.grants.end());
}

Outbox::Sent Outbox::SendAnswers(Roster& roster) {
  Sent sent;
  for (const std::uint32_t slot : std::exchange(waiting_, {})) {
    Member* member = roster.Find(slot);
    if (!member || Empty(member->unsent)) continue;
    if (!Fits(member->unsent)) {
      sent.lost.emplace_back(slot, "does not read its answers");
      continue;
    }
    if (!member->welcomed) {
      waiting_.push_back(slot);
      continue;
    }
    const bool weights = member->wants_weights && !member->unsent.grants.empty();
    member->unsent.weights = weights ? 1 : 0;
    switch (Send(*member, member->unsent)) {
      case wire::SendStatus::kSent:
        if (weights) sent.want_weights.push_back(slot);
        member->wants_weights &= !weights;
        member->unsent = {};
        break;
      case wire::SendStatus::kFull:
        waiting_.push_back(slot);
        break;
      case wire::SendStatus::kGone:
        sent.lost.emplace_back(slot, "has ended its connection");
        break;
    }
  }
  return sent;
}

wire::SendStatus Outbox::Send(const std::string& peer, const Member* member, const wire::Body& body,
                              const wire::SharedTensor& tensor, std::uint64_t version) {
  const wire::Header header{.slot = member ? member->slot : 0,
                            .incarnation = member ? member->incarnation : 0,
                            .sequence = ++sent_,
                            .term = engine_.term(),
                            .session = engine_.session(),
                            .version = version,
                            .fingerprint = engine_.fingerprint()};
  return deliver_(peer, wire::Encode(header, body, tensor));
}

}  // namespace starling::learner
