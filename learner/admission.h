// Admission to the learner's socket: the keys that may connect, the slots a key may send for, and
// the connections that are cut. Every refusal is counted in Counters::frames_refused.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "learner/counters.h"
#include "learner/roster.h"
#include "wire/key_authenticator.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

namespace starling::learner {

class Admission {
 public:
  // With wire.secret: opens the authenticator for the servers that `context` opens afterwards, and
  // makes new keys for the actors of this host, so that keys of an earlier start are of no use.
  // Throws UserError.
  Admission(const Config& config, wire::Context& context, const wire::RunPlace& place,
            Counters& counters, const Clock& clock);

  bool has_keys() const { return authenticator_.has_value(); }
  const std::optional<wire::KeyPair>& keys() const { return keys_; }  // the learner's own
  const std::string& local_key() const { return local_key_; }  // public, of this host's actors
  // For wire::Poll; nullptr without keys.
  const wire::Socket* socket() const { return authenticator_ ? &*authenticator_ : nullptr; }

  // Returns whether the sender's key is (still) on the list.
  bool Allows(const wire::Envelope& envelope);
  // Returns whether the message names a member that joined with another key.
  bool IsImpostor(const wire::Envelope& envelope, const Member* sender);
  void CountImpostor(std::uint32_t slot);
  // Returns the owner of the key; "" without keys.
  std::string NameOf(const std::string& key) const;

  // Answers new connections and cuts those that never finish a message.
  void Poll(wire::ServerSocket& socket);
  // Reads the list again. Returns the slots whose keys are no longer on it. REQUIRES: has_keys().
  std::vector<std::uint32_t> Reload(const Roster& roster);

 private:
  Counters& counters_;
  const Clock& clock_;
  const std::optional<wire::KeyPair> keys_;
  std::optional<wire::KeyAuthenticator> authenticator_;
  std::string local_key_;
  RateLimitedLog refusals_, strangers_{5'000}, handshakes_{5'000};
};

}  // namespace starling::learner
