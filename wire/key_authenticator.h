// Admission by key. A CURVE socket asks about the key of each new connection (ZAP, RFC 27); the
// KeyAuthenticator answers from a list of allowed keys and reports the rejected ones.
//
// It fails closed: a peer that has no key or is not on the list is rejected before any of its
// frames is delivered, and a list that cannot be read counts as empty.
//
// Thread safety: none; it belongs to the thread of the server's socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "wire/keys.h"
#include "wire/socket.h"

namespace starling::wire {

class KeyAuthenticator : public Socket {
 public:
  // Serves all servers of `context` that are opened with keys after it. Throws UserError if the
  // directory `allowed` cannot be read.
  KeyAuthenticator(Context& context, std::filesystem::path allowed);
  ~KeyAuthenticator();

  // Allows a key that is not on the list, permanently.
  void Admit(const std::string& public_key, const std::string& name);
  // Reads the list again. Returns sentences for the log; the first gives the number of keys.
  std::vector<std::string> Reload();

  // Returns the name for an allowed key, or nullptr if the key is not allowed (any more).
  const std::string* NameOf(const std::string& public_key) const;

  // Answers all waiting questions. Call it when Poll reports the KeyAuthenticator readable. Returns
  // a sentence for each rejected peer.
  std::vector<std::string> Answer();

 private:
  const std::filesystem::path allowed_;
  Allowlist list_;
  std::map<std::string, std::string> admitted_;  // names by key, from Admit
};

}  // namespace starling::wire
