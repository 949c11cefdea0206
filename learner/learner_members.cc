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
  local_key_ = local.public_key;
  gate_->Admit(local_key_, "of this host");
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
    if (shards_) shards_->ReloadKeys();
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

void Learner::WatchConnections() {
  const std::int64_t now = clock_.NowMs();
  for (const std::string& line : socket_.CutUnfinished(now)) {
    ++counters_.frames_refused["endless"];
    refusals_.Warn(now, "cut off: " + line);
  }
}

// Newcomers are turned away by the gate; this is for those who came in before their key was revoked.
bool Learner::MayComeIn(const wire::Envelope& envelope) {
  if (!gate_ || gate_->NameOf(envelope.key())) return true;
  ++counters_.frames_refused["revoked_key"];
  refusals_.Warn(clock_.NowMs(), "threw a message away: its sender's key is no longer on the list");
  return false;
}

// A member is whoever shows the key that it joined with.
bool Learner::SpeaksForAnother(const wire::Envelope& envelope, const wire::Header& header) {
  const Member* member = gate_ ? SenderOf(header) : nullptr;
  if (!member || member->key == envelope.key()) return false;
  CountImpostor(header.slot);
  return true;
}

Member* Learner::SenderOf(const wire::Header& header) {
  if (header.term != term_ || header.session != session_) return nullptr;
  Member* member = roster_.Find(header.slot);
  return member && member->incarnation == header.incarnation ? member : nullptr;
}

void Learner::CountImpostor(std::uint32_t slot) {
  ++counters_.frames_refused["another_key"];
  refusals_.Warn(clock_.NowMs(),
                 fmt::format("threw a message away: it spoke for actor {} with another key", slot));
}

void Learner::OnHello(const wire::Envelope& envelope, const wire::Hello& hello) {
  const std::string& peer = envelope.peer();
  if (Member* again = roster_.FindPeer(peer)) {
    if (again->last_sequence == 0) return WelcomeAgain(*again);
    Remove(again->slot, "said hello again");
  }
  const std::uint32_t slot = roster_.SlotFor(hello.slot);
  if (const Member* previous = roster_.Find(slot)) {
    // One that had not asked for it takes another; one that had is not wanted any more.
    Say(previous->peer, previous,
        wire::Bye{previous->asked ? wire::ByeReason::kRefused : wire::ByeReason::kLeaving,
                  "another actor has taken slot " + std::to_string(slot)});
    Remove(slot, "was replaced by a new actor in its slot");
  }
  Member& member = roster_.Join(slot, peer, clock_.NowMs());
  member.key = envelope.key();
  member.asked = hello.slot >= 0;
  member.host = hello.host;
  member.pid = hello.pid;
  journal_.Append(JoinRecord{slot, member.incarnation});
  const std::string* name = gate_ ? gate_->NameOf(member.key) : nullptr;
  if (name) member.key_name = *name;
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
  if (!beacon_ || shards_) return;
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

// A little is left for what is set after the configuration was read: the directory, paths made whole.
static_assert(kMaxConfigBytes + 16 * 1024 <= wire::kMaxConfigBytes);

void Learner::SayWelcome(const Member& member) {
  std::vector<wire::ShardPlace> shards;
  if (shards_) shards = shards_->places();
  // Over tcp it is the evaluator alone that reads what is shared on this host.
  if (!beacon_) {
    for (wire::ShardPlace& place : shards) place.snapshot.clear();
  }
  Say(member.peer, &member,
      wire::Welcome{.config = ToToml(config_),
                    .snapshot = beacon_ ? place_.SnapshotPath(term_).string() : "",
                    .beacon = beacon_ ? beacon_->endpoint() : "",
                    .buffers = member.buffers ? member.buffers->path().string() : "",
                    .shards = std::move(shards)});
}

// Answered whoever asks: an actor sees in our term and in its incarnation whether it is still a
// member.
void Learner::OnHeartbeat(const std::string& peer, const wire::Header& header) {
  Member* member = SenderOf(header);
  if (member) {
    member->heard_ms = clock_.NowMs();
    member->peer = peer;  // its connection may be a new one
  }
  Say(peer, member, wire::Heartbeat{});
}

void Learner::OnFetch(const wire::Header& header) {
  Member* member = SenderOf(header);
  if (!member) return;
  member->heard_ms = clock_.NowMs();
  SendWeights(*member);
}

void Learner::SendWeights(const Member& member) {
  if (!newest_weights_.Look()) return;  // overtaken: the actor asks again
  const wire::SnapshotMeta& meta = newest_weights_.meta();
  Say(member.peer, &member, wire::Weights{.steps = meta.steps, .entropy = meta.entropy},
      newest_weights_.values(), meta.version);
}

void Learner::Remove(std::uint32_t slot, const std::string& why) {
  const Member* member = roster_.Find(slot);
  CHECK(member != nullptr, "slot {}", slot);
  for (const Grant& grant : pipeline_.judge().Leave(slot)) {
    const bool sent = granted_ms_.erase(grant.number) == 1;
    if (sent) journal_.Append(LostRecord{slot, grant.number, LostWhy::kDeath});
  }
  std::erase_if(unsent_, [&](const Grant& grant) { return grant.slot == slot; });
  if (assembly_) ForgetSlices(slot, member->incarnation);
  journal_.Append(DeathRecord{slot, member->incarnation});
  comings_.Info(clock_.NowMs(),
                fmt::format("actor {} {}; at most its gradient in flight is lost, {} left", slot,
                            why, roster_.size() - 1));
  roster_.Leave(slot, why);
}

void Learner::FarewellTo(wire::ByeReason reason, const std::string& text) {
  for (const auto& [slot, member] : roster_.members()) {
    Say(member.peer, &member, wire::Bye{reason, text});
  }
}

}  // namespace starling::learner
