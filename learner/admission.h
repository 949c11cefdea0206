// Admission to a socket for actors, of the learner or of a shard: the keys that may connect, the
// slots a key may send for, and the connections that are cut. Every refusal is counted.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "learner/roster.h"
#include "wire/key_authenticator.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

namespace starling::learner {

class Admission {
 public:
  using Refusals = std::map<std::string, std::uint64_t>;  // counts by reason

  // With wire.secret: opens the authenticator for the servers that `context` opens afterwards, and
  // makes new keys for the actors of this host, so that keys of an earlier start are of no use.
  // Throws UserError.
  Admission(const Config& config, wire::Context& context, const wire::RuntimeDir& runtime_dir,
            Refusals& refused, const Clock& clock);
  // The same with the keys for the actors of this host that shard 0 has made.
  Admission(const Config& config, wire::Context& context, std::string local_key, Refusals& refused,
            const Clock& clock);

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
  // Reads the list again and logs its changes. REQUIRES, as the next: has_keys().
  void Reload(LogLevel level);
  // Returns the slots whose keys are not on the list.
  std::vector<std::uint32_t> Revoked(const Roster& roster) const;

 private:
  void Open(wire::Context& context, const std::string& allowed, std::string local_key);

  Refusals& refused_;
  const Clock& clock_;
  const std::optional<wire::KeyPair> keys_;
  std::optional<wire::KeyAuthenticator> authenticator_;
  std::string local_key_;
  RateLimitedLog refusals_, strangers_{5'000}, handshakes_{5'000};
};

}  // namespace starling::learner
