// The members of a run: joins, leaves, silences and late grants. The caller provides the clock;
// messages are sent through the outbox.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "learner/admission.h"
#include "learner/background.h"
#include "learner/engine.h"
#include "learner/outbox.h"
#include "wire/protocol.h"
#include "wire/runtime_dir.h"

namespace starling::learner {

class Membership {
 public:
  struct Options {
    std::string endpoint;  // where actors find the learner, for the log
    // Where the gradient buffers of an actor lie; nullptr: gradients come in messages.
    const wire::RuntimeDir* buffers = nullptr;
    Background* background = nullptr;  // reserves the memory of the buffers
    // Returns the welcome, but for the member's buffers.
    std::function<wire::Welcome()> welcome;
    // Returns the bytes received over a connection so far, those of a message that is still
    // arriving too, or nullopt if that is unknown; may be empty.
    std::function<std::optional<std::uint64_t>(const std::string& peer)> bytes_from{};
    // Called when a member has left; may be empty.
    std::function<void(std::uint32_t slot, std::uint32_t incarnation)> on_left{};
  };
  // The references must outlive the membership.
  Membership(const Config& config, Engine& engine, Outbox& outbox, const Admission& admission,
             Options options, const Clock& clock);

  // ---- messages `key`: the public key of the sender; "" without keys.
  void OnHello(const std::string& peer, const std::string& key, const wire::Hello& hello);
  // Every sender is answered: an actor sees in the answer's header whether it is still a member.
  void OnHeartbeat(const std::string& peer, const wire::Header& header);
  void OnLeave(const std::string& peer);
  // Sends a member the next part of the state that it goes on from.
  void OnFetchState(const wire::Header& header, const wire::FetchState& fetch);
  // A member whose message is damaged would never get its answer, so it must join again.
  void OnDamaged(const std::string& peer, const std::string& refusal);
  // A message of `member` came through `peer`, which may be a new connection.
  void Heard(Member& member, const std::string& peer);

  // Sends `text` and removes the member: it must not come back in this slot (kRefused) or may join
  // again (kLeaving). REQUIRES: `slot` has a member.
  void Expel(std::uint32_t slot, wire::LeaveReason reason, const std::string& text,
             const std::string& why);
  // Without a message. REQUIRES: `slot` has a member.
  void Remove(std::uint32_t slot, const std::string& why);
  // Sends every member a leave message: the run has ended. Returns to how many it could be sent.
  std::size_t Dismiss(wire::LeaveReason reason, const std::string& text);

  // ---- time

  // Opens the judge when updates.start_with actors are here, among them those whose states wait; or
  // at least one after updates.start_timeout_s.
  void OpenWhenReady();
  // Ends the grants that are staleness.deadline_s old. REQUIRES, as the next: every message that
  // had arrived was handled.
  void ExpireGrants();
  // Removes members that were silent for wire.timeout_s: no message, and no byte of one. Costs
  // nothing until one of them may be.
  void RemoveSilent();

 private:
  void WelcomeAgain(Member& member);
  bool ProvesAlive(Member& previous, const std::string& peer);
  wire::SendStatus SendWelcome(const Member& member);
  std::size_t AwaitedStates() const;
  void ReserveBuffers(Member& member);
  void Free(std::unique_ptr<wire::GradientBuffers> buffers);
  void Welcome(Member& member);

  const Config& config_;
  Engine& engine_;
  Outbox& outbox_;
  const Admission& admission_;
  const Options options_;
  const Clock& clock_;
  const std::int64_t started_ms_;
  std::int64_t silence_ms_ = 0;  // RemoveSilent has nothing to do before
  std::int64_t alone_ms_;        // when it was last reported that there are no actors
  RateLimitedLog comings_;       // lines on who joins and leaves
  RateLimitedLog oddities_;
};

}  // namespace starling::learner
