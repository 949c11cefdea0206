#include "learner/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::learner {
namespace {

constexpr int kComingsAtOnce = 100;  // lines per kComingsMs
constexpr std::int64_t kComingsMs = 10'000;
constexpr std::int64_t kLookMs = 50;       // between two looks at silent members
constexpr std::int64_t kAloneMs = 10'000;  // between two warnings that there are no actors

std::int64_t Ms(double seconds) { return static_cast<std::int64_t>(seconds * 1000.0); }

// Leaves room for settings made after the configuration was read: the directory, absolute paths.
static_assert(kMaxConfigBytes + 16 * 1024 <= wire::kMaxConfigBytes);

}  // namespace

Membership::Membership(const Config& config, Engine& engine, Outbox& outbox,
                       const Admission& admission, Options options, const Clock& clock)
    : config_(config),
      engine_(engine),
      outbox_(outbox),
      admission_(admission),
      options_(std::move(options)),
      clock_(clock),
      started_ms_(clock.NowMs()),
      alone_ms_(started_ms_),
      comings_(kComingsMs, kComingsAtOnce) {}

// ---- messages

void Membership::OnHello(const std::string& peer, const std::string& key,
                         const wire::Hello& hello) {
  // 1. A connection that already has a member joins again.
  Roster& roster = engine_.roster();
  if (Member* again = roster.FindPeer(peer)) {
    if (again->last_sequence == 0) return WelcomeAgain(*again);
    Remove(again->slot, "said hello again");
  }
  // 2. The newcomer takes its slot. A previous member that had not asked for this slot may join in
  //    another one.
  const std::uint32_t slot = roster.SlotFor(hello.slot);
  if (Member* previous = roster.Find(slot)) {
    if (!ProvesAlive(*previous, peer)) return;
    Expel(slot, previous->asked ? wire::LeaveReason::kRefused : wire::LeaveReason::kLeaving,
          fmt::format("another actor has taken slot {}", slot),
          "was replaced by a new actor in its slot");
  }
  if (hello.fresh != 0 && engine_.waiting().contains(slot)) {
    oddities_.Warn(clock_.NowMs(),
                   fmt::format("actor {} cannot go on from its saved state and begins afresh: from "
                               "here on the run is not what it would have been",
                               slot));
  }
  Member& member = engine_.Join(slot, peer, hello.fresh != 0);
  member.heard_ms = clock_.NowMs();
  member.key = key;
  member.key_name = admission_.NameOf(member.key);
  member.asked = hello.slot >= 0;
  member.host = hello.host;
  member.pid = hello.pid;
  // 3. Welcome it. Its first grants follow when the judge makes them.
  const std::string owner = member.key_name.empty() ? "" : ", key " + member.key_name;
  comings_.Info(clock_.NowMs(), fmt::format("actor {} joined (pid {} on {}{}), {} here", slot,
                                            hello.pid, hello.host, owner, roster.size()));
  options_.buffers ? ReserveBuffers(member) : Welcome(member);
}

void Membership::Welcome(Member& member) {
  member.welcomed = true;
  member.heard_ms = clock_.NowMs();
  // A stale hello came over a connection that has ended.
  if (SendWelcome(member) == wire::SendStatus::kGone) {
    Remove(member.slot, "has ended its connection");
  }
}

// A hello may come out of a buffer of the network long after its sender has ended, or has joined
// over another connection. So it takes no member's place by itself: its sender gets a heartbeat,
// and repeats the hello if it still waits.
bool Membership::ProvesAlive(Member& previous, const std::string& peer) {
  if (previous.successor == peer) return true;
  previous.successor = peer;
  outbox_.Send(peer, wire::Heartbeat{});
  return false;
}

// A member that has sent no gradient yet keeps its incarnation when it sends another hello;
// otherwise it could fill log and journal with joins. It gets the same welcome and grants again.
void Membership::WelcomeAgain(Member& member) {
  if (!member.welcomed) return;  // the first is on its way
  member.heard_ms = clock_.NowMs();
  oddities_.Warn(clock_.NowMs(), fmt::format("actor {} said hello again", member.slot));
  SendWelcome(member);
  member.unsent.grants.clear();  // they are among these
  outbox_.Add(member, {.grants = engine_.SentGrants(member.slot)});
}

wire::SendStatus Membership::SendWelcome(const Member& member) {
  wire::Welcome welcome = options_.welcome();
  if (member.buffers) welcome.buffers = member.buffers->path().string();
  welcome.life = member.life;
  if (const ActorState* state = engine_.StateOf(member)) welcome.state = state->state.size();
  return outbox_.Send(member, welcome);
}

// Gradients in shared memory are not copied. Without room for them they come in messages. The
// memory of a large net takes long to reserve: the welcome follows when it is there.
void Membership::ReserveBuffers(Member& member) {
  struct Reserved {
    std::unique_ptr<wire::GradientBuffers> buffers;
    std::string error;
  };
  const auto reserved = std::make_shared<Reserved>();
  member.welcomed = false;
  options_.background->Run(
      [reserved, path = options_.buffers->BuffersPath(member.slot, member.incarnation),
       count = static_cast<std::size_t>(config_.updates.in_flight), floats = engine_.floats()] {
        try {
          reserved->buffers = std::make_unique<wire::GradientBuffers>(path, count, floats);
        } catch (const UserError& error) {
          reserved->error = error.what();
        }
      },
      [this, reserved, slot = member.slot, incarnation = member.incarnation] {
        Member* newcomer = engine_.roster().Find(slot);
        if (!newcomer || newcomer->incarnation != incarnation) {  // it has left meanwhile
          return Free(std::move(reserved->buffers));
        }
        newcomer->buffers = std::move(reserved->buffers);
        if (!reserved->error.empty()) {
          oddities_.Warn(
              clock_.NowMs(),
              fmt::format("{}: the gradients of actor {} are sent instead", reserved->error, slot));
        }
        Welcome(*newcomer);
      });
}

// The system takes long to take back the memory of a large net.
void Membership::Free(std::unique_ptr<wire::GradientBuffers> buffers) {
  options_.background->Run([freed = std::shared_ptr<wire::GradientBuffers>(
                                std::move(buffers))]() mutable { freed.reset(); },
                           [] {});
}

void Membership::OnHeartbeat(const std::string& peer, const wire::Header& header) {
  Member* member = engine_.SenderOf(header);
  if (!member) {
    outbox_.Send(peer, wire::Heartbeat{});
    return;
  }
  Heard(*member, peer);
  outbox_.Send(*member, wire::Heartbeat{});
}

void Membership::OnLeave(const std::string& peer) {
  if (const Member* member = engine_.roster().FindPeer(peer)) Remove(member->slot, "said goodbye");
}

void Membership::OnFetchState(const wire::Header& header, const wire::FetchState& fetch) {
  Member* member = engine_.SenderOf(header);
  if (!member) return;
  member->heard_ms = clock_.NowMs();
  const ActorState* found = engine_.StateOf(*member);
  if (!found || fetch.offset >= found->state.size()) return;
  const auto part = std::span(found->state).subspan(fetch.offset);
  const std::size_t size = std::min(part.size(), wire::kMaxStatePart);
  outbox_.Send(*member, wire::State{.offset = fetch.offset,
                                    .total = found->state.size(),
                                    .bytes{reinterpret_cast<const char*>(part.data()), size}});
}

void Membership::OnDamaged(const std::string& peer, const std::string& refusal) {
  const Member* member = engine_.roster().FindPeer(peer);
  if (!member) return;
  Expel(member->slot, wire::LeaveReason::kLeaving, "damaged message",
        "sent a damaged message: " + refusal);
}

void Membership::Heard(Member& member, const std::string& peer) {
  member.heard_ms = clock_.NowMs();
  member.bytes.reset();
  member.peer = peer;
}

void Membership::Expel(std::uint32_t slot, wire::LeaveReason reason, const std::string& text,
                       const std::string& why) {
  const Member* member = engine_.roster().Find(slot);
  CHECK(member != nullptr, "slot {}", slot);
  outbox_.Send(*member, wire::Leave{reason, text});
  Remove(slot, why);
}

void Membership::Remove(std::uint32_t slot, const std::string& why) {
  Member* member = engine_.roster().Find(slot);
  CHECK(member != nullptr, "slot {}", slot);
  const std::uint32_t incarnation = member->incarnation;
  if (member->buffers) Free(std::move(member->buffers));
  engine_.Remove(slot, why);
  if (options_.on_left) options_.on_left(slot, incarnation);
  comings_.Info(clock_.NowMs(),
                fmt::format("actor {} {}; at most its gradients in flight are lost, {} left", slot,
                            why, engine_.roster().size()));
}

std::size_t Membership::Dismiss(wire::LeaveReason reason, const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(engine_.roster().members(), [&](const auto& one) {
        return outbox_.Send(one.second, wire::Leave{reason, text}) == wire::SendStatus::kSent;
      }));
}

// ---- time

void Membership::OpenWhenReady() {
  const std::int64_t now_ms = clock_.NowMs();
  const std::size_t here = engine_.roster().size();
  if (here == 0 && now_ms - alone_ms_ >= kAloneMs) {
    alone_ms_ = now_ms;
    LogWarn("no actor is here; waiting for one on {}", options_.endpoint);
  }
  if (engine_.open()) return;
  const std::size_t missing = AwaitedStates();
  const bool late = now_ms - started_ms_ >= Ms(config_.updates.start_timeout_s);
  if (here >= static_cast<std::size_t>(config_.updates.start_with) && missing == 0) {
    engine_.Open();
  } else if (late && here > 0 && missing > 0) {
    LogWarn(
        "{} actors whose states are saved did not come within updates.start_timeout_s = {} s: "
        "going on without them; the run is not what it would have been",
        missing, config_.updates.start_timeout_s);
    ++engine_.counters().breaks;
    engine_.Open();
  } else if (late && here > 0) {
    LogWarn(
        "only {} of {} actors came within updates.start_timeout_s = {} s: going on with them; "
        "this run is not reproducible",
        here, config_.updates.start_with, config_.updates.start_timeout_s);
    engine_.Open();
  }
}

// The actors of the cut that the run goes on from which are not here, of as many as it has now.
std::size_t Membership::AwaitedStates() const {
  const auto actors = std::max(config_.actors.count, config_.updates.start_with);
  return static_cast<std::size_t>(std::ranges::count_if(engine_.waiting(), [&](const auto& state) {
    return state.first < static_cast<std::uint64_t>(actors) &&
           engine_.roster().Find(state.first) == nullptr;
  }));
}

void Membership::ExpireGrants() {
  for (const Grant& grant : engine_.ExpireGrants(clock_.NowNs())) {
    LogWarn("actor {} did not spend its grant within staleness.deadline_s = {} s: going on without",
            grant.slot, config_.staleness.deadline_s);
  }
}

// Looks at the bytes of members that were silent for half of the time, so that there is a count to
// compare with at its end.
void Membership::RemoveSilent() {
  const std::int64_t now_ms = clock_.NowMs(), limit_ms = Ms(config_.wire.timeout_s);
  if (now_ms < silence_ms_) return;
  // 1. Large messages that are arriving are signs of life.
  for (const std::uint32_t slot : engine_.roster().SilentSince(now_ms - limit_ms / 2)) {
    Member& member = *engine_.roster().Find(slot);
    const auto bytes = options_.bytes_from ? options_.bytes_from(member.peer) : std::nullopt;
    if (member.bytes && bytes && *bytes != *member.bytes) member.heard_ms = now_ms;
    member.bytes = bytes;
  }
  // 2. Remove the silent ones.
  for (const std::uint32_t slot : engine_.roster().SilentSince(now_ms - limit_ms)) {
    Remove(slot, fmt::format("was silent for wire.timeout_s = {} s", config_.wire.timeout_s));
  }
  // 3. Nothing to do until the one that was heard first is silent for half of the time.
  silence_ms_ = std::max(engine_.roster().HeardFirst(now_ms) + limit_ms / 2, now_ms + kLookMs);
}

}  // namespace starling::learner
