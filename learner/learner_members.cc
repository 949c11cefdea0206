// Who comes, who stays, who leaves: the learner's dealings with its members.
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "core/check.h"
#include "core/error.h"
#include "learner/learner.h"

namespace starling::learner {

// The local actors' keys are new with every start: whoever read them once cannot come back with them.
void Learner::OpenGate() {
  const wire::KeyPair local = wire::NewKeyPair();
  gate_->Admit(local.public_key, "of this host");
  place_.WriteKeys({.own = local, .server_key = keys_->public_key});
  LogInfo("whoever comes in shows a key; our public key is {}", keys_->public_key);
  for (const std::string& line : gate_->Reload()) LogInfo("{}", line);
  LogInfo("kill -HUP {} reads {} again", ::getpid(), config_.wire.allowed);
}

void Learner::WatchGate(bool reload) {
  const std::int64_t now = clock_.NowMs();
  if (reload) {
    eventfd_t count;
    ::eventfd_read(options_.reload_fd, &count);
    for (const std::string& line : gate_->Reload()) LogWarn("{}", line);
    std::vector<std::uint32_t> revoked;
    for (const auto& [slot, member] : roster_.members()) {
      if (!gate_->NameOf(member.key)) revoked.push_back(slot);
    }
    for (const std::uint32_t slot : revoked) {
      const Member& member = *roster_.Find(slot);
      Say(member.peer, &member,
          wire::Bye{wire::ByeReason::kRefused, "your key is no longer on the learner's list"});
      Remove(slot, "has a key that is no longer on the list");
    }
  }
  for (const std::string& line : gate_->Answer()) {
    ++counters_.frames_refused["unknown_key"];
    strangers_.Warn(now, "turned away: " + line);
  }
  if (const std::size_t failed = socket_.FailedHandshakes()) {
    counters_.frames_refused["handshake"] += failed;
    handshakes_.Warn(now,
                     fmt::format("turned away: {} connections without a key, or meant for another "
                                 "learner",
                                 failed));
  }
}

// Newcomers are turned away by the gate; this is for those who came in before their key was revoked.
bool Learner::MayComeIn(const wire::Envelope& envelope) {
  if (!gate_ || gate_->NameOf(envelope.key())) return true;
  ++counters_.frames_refused["revoked_key"];
  refusals_.Warn(clock_.NowMs(), "threw a message away: its sender's key is no longer on the list");
  return false;
}

void Learner::OnHello(const wire::Envelope& envelope, const wire::Hello& hello) {
  const std::string& peer = envelope.peer();
  if (Member* again = roster_.FindPeer(peer)) {
    if (again->last_sequence == 0) return WelcomeAgain(*again);
    Remove(again->slot, "said hello again");
  }
  const std::uint32_t slot = roster_.SlotFor(hello.slot);
  if (const Member* previous = roster_.Find(slot)) {
    Say(previous->peer, previous,
        wire::Bye{wire::ByeReason::kRefused,
                  "another actor has taken slot " + std::to_string(slot)});
    Remove(slot, "was replaced by a new actor in its slot");
  }
  Member& member = roster_.Join(slot, peer, clock_.NowMs());
  member.key = envelope.key();
  journal_.Append(JoinRecord{slot, member.incarnation});
  const std::string* name = gate_ ? gate_->NameOf(member.key) : nullptr;
  comings_.Info(clock_.NowMs(),
                fmt::format("actor {} joined (pid {} on {}{}), {} here", slot, hello.pid,
                            hello.host, name ? ", key " + *name : "", roster_.size()));
  GiveBuffers(member);
  SayWelcome(member);
  pipeline_.judge().Join(slot);
}

// Where its gradients go without being copied. Without, they come in messages: slower, but they
// come.
void Learner::GiveBuffers(Member& member) {
  if (!beacon_) return;
  try {
    member.buffers = std::make_unique<wire::GradientBuffers>(
        place_.BuffersPath(member.slot, member.incarnation),
        static_cast<std::size_t>(config_.updates.in_flight), layout_.size());
  } catch (const UserError& error) {
    refusals_.Warn(clock_.NowMs(), fmt::format("{}: the gradients of actor {} are sent instead",
                                               error.what(), member.slot));
  }
}

// A connection whose life has not begun to work is not made a new one for asking again: it could
// fill log and journal that way. It is told again what it was told.
void Learner::WelcomeAgain(Member& member) {
  member.heard_ms = clock_.NowMs();
  refusals_.Warn(clock_.NowMs(), fmt::format("actor {} said hello again", member.slot));
  SayWelcome(member);
  wire::Answer answer;
  for (const Grant& grant : pipeline_.judge().state().outstanding) {
    if (grant.slot == member.slot && granted_ms_.contains(grant.number)) {
      answer.grants.push_back({.number = grant.number, .version = grant.version});
    }
  }
  if (!answer.grants.empty()) Say(member.peer, &member, answer);
}

void Learner::SayWelcome(const Member& member) {
  Say(member.peer, &member,
      wire::Welcome{.config = ToToml(config_),
                    .snapshot = beacon_ ? place_.SnapshotPath(term_).string() : "",
                    .beacon = beacon_ ? beacon_->endpoint() : "",
                    .buffers = member.buffers ? member.buffers->path().string() : ""});
}

// Answered whoever asks: an actor sees in our term and in its incarnation whether it is still a
// member.
void Learner::OnHeartbeat(const std::string& peer, const wire::Header& header) {
  Member* member = roster_.Find(header.slot);
  const bool known = member && member->incarnation == header.incarnation && header.term == term_;
  if (known) {
    member->heard_ms = clock_.NowMs();
    member->peer = peer;  // its connection may be a new one
  }
  Say(peer, known ? member : nullptr, wire::Heartbeat{});
}

void Learner::OnFetch(const std::string& peer, const wire::Header& header) {
  Member* member = roster_.Find(header.slot);
  if (!member || member->incarnation != header.incarnation || header.term != term_) return;
  member->heard_ms = clock_.NowMs();
  const wire::SnapshotMeta& meta = fetched_meta_;
  if ((meta.term != term_ || reader_.Latest() != meta.version) && !ReadWeights()) {
    return;  // overtaken: the actor asks again
  }
  Say(peer, member, wire::Weights{.steps = meta.steps, .entropy = meta.entropy}, fetched_,
      meta.version);
}

// The newest, once for all who ask for them.
bool Learner::ReadWeights() {
  const std::size_t floats = layout_.size();
  auto values = std::make_shared_for_overwrite<float[]>(floats);
  if (!reader_.Read(0, {values.get(), floats}, fetched_meta_)) {
    fetched_meta_ = {};
    return false;
  }
  fetched_ = {std::move(values), floats};
  return true;
}

void Learner::Remove(std::uint32_t slot, const std::string& why) {
  const Member* member = roster_.Find(slot);
  CHECK(member != nullptr, "slot {}", slot);
  for (const Grant& grant : pipeline_.judge().Leave(slot)) {
    const bool sent = granted_ms_.erase(grant.number) == 1;
    if (sent) journal_.Append(LostRecord{slot, grant.number, LostWhy::kDeath});
  }
  std::erase_if(unsent_, [&](const Grant& grant) { return grant.slot == slot; });
  journal_.Append(DeathRecord{slot, member->incarnation});
  comings_.Info(clock_.NowMs(),
                fmt::format("actor {} {}; at most its gradient in flight is lost, {} left", slot,
                            why, roster_.size() - 1));
  roster_.Leave(slot);
}

void Learner::FarewellTo(wire::ByeReason reason, const std::string& text) {
  for (const auto& [slot, member] : roster_.members()) {
    Say(member.peer, &member, wire::Bye{reason, text});
  }
}

}  // namespace starling::learner
