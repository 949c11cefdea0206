#include "learner/admission.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace starling::learner {
namespace {

std::optional<wire::KeyPair> OwnKeys(const Config& config) {
  if (config.wire.secret.empty()) return std::nullopt;
  return wire::ReadSecretFile(config.wire.secret);
}

}  // namespace

Admission::Admission(const Config& config, wire::Context& context,
                     const wire::RuntimeDir& runtime_dir, Refusals& refused, const Clock& clock)
    : refused_(refused), clock_(clock), keys_(OwnKeys(config)) {
  if (!keys_) return;
  const wire::KeyPair local = wire::NewKeyPair();
  Open(context, config.wire.allowed, local.public_key);
  runtime_dir.WriteKeys({.own = local, .server_key = keys_->public_key});
  LogInfo("actors need a key; our public key is {}", keys_->public_key);
  for (const std::string& line : authenticator_->Reload()) LogInfo("{}", line);
  LogInfo("kill -HUP {} reads {} again", ::getpid(), config.wire.allowed);
}

Admission::Admission(const Config& config, wire::Context& context, std::string local_key,
                     Refusals& refused, const Clock& clock)
    : refused_(refused), clock_(clock), keys_(OwnKeys(config)) {
  if (keys_) Open(context, config.wire.allowed, std::move(local_key));
}

void Admission::Open(wire::Context& context, const std::string& allowed, std::string local_key) {
  local_key_ = std::move(local_key);
  authenticator_.emplace(context, allowed);
  authenticator_->Admit(local_key_, "of this host");
}

// The authenticator rejects new connections; this rejects those whose key was revoked after they
// connected.
bool Admission::Allows(const wire::Envelope& envelope) {
  if (!authenticator_ || authenticator_->NameOf(envelope.key())) return true;
  ++refused_["revoked_key"];
  refusals_.Warn(clock_.NowMs(), "discarded a message: its sender's key is no longer on the list");
  return false;
}

bool Admission::IsImpostor(const wire::Envelope& envelope, const Member* sender) {
  if (!authenticator_ || !sender || sender->key == envelope.key()) return false;
  CountImpostor(sender->slot);
  return true;
}

void Admission::CountImpostor(std::uint32_t slot) {
  ++refused_["another_key"];
  refusals_.Warn(clock_.NowMs(),
                 fmt::format("discarded a message: it spoke for actor {} with another key", slot));
}

std::string Admission::NameOf(const std::string& key) const {
  const std::string* name = authenticator_ ? authenticator_->NameOf(key) : nullptr;
  return name ? *name : "";
}

void Admission::Poll(wire::ServerSocket& socket) {
  for (const std::string& line : socket.CutUnfinished(clock_.NowMs())) {
    ++refused_["endless"];
    refusals_.Warn(clock_.NowMs(), "cut off: " + line);
  }
  if (!authenticator_) return;
  for (const std::string& line : authenticator_->Answer()) {
    ++refused_["unknown_key"];
    strangers_.Warn(clock_.NowMs(), "turned away: " + line);
  }
  if (const std::size_t failed = socket.FailedHandshakes()) {
    refused_["handshake"] += failed;
    handshakes_.Warn(clock_.NowMs(),
                     fmt::format("turned away: {} connections without a key, or meant for "
                                 "another learner",
                                 failed));
  }
}

void Admission::Reload(LogLevel level) {
  const std::vector<std::string> lines = authenticator_->Reload();  // problems behind the first
  for (std::size_t i = 0; i < lines.size(); ++i)
    LogLine(i == 0 ? level : LogLevel::kWarn, lines[i]);
}

std::vector<std::uint32_t> Admission::Revoked(const Roster& roster) const {
  std::vector<std::uint32_t> revoked;
  for (const auto& [slot, member] : roster.members()) {
    if (!authenticator_->NameOf(member.key)) revoked.push_back(slot);
  }
  return revoked;
}

}  // namespace starling::learner
