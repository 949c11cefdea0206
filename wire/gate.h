// Who may come in: answers the questions of a socket with CURVE about the key of each newcomer (ZAP, RFC
// 27), from a list of keys, and tells of those who were turned away.
//
// It fails closed: whoever is not on the list, has no key, or meets a list that cannot be read is turned
// away before a frame of theirs reaches anybody.
//
// Thread safety: none; one thread, that of the server's socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "wire/keys.h"
#include "wire/socket.h"

namespace starling::wire {

class Gate : public Socket {
 public:
  // For the servers of `context` that are opened with keys, later than this. Throws UserError if `allowed`
  // cannot be read.
  Gate(Context& context, std::filesystem::path allowed);
  ~Gate();

  // In addition to those of the list, for good.
  void Admit(const std::string& public_key, const std::string& name);
  // Reads the list again. Sentences for the log; the first says how many are on it now.
  std::vector<std::string> Reload();

  // The name of the one with this key; null: may not come in (any more).
  const std::string* NameOf(const std::string& public_key) const;

  // Call when Poll says readable. A sentence for everybody who was turned away.
  std::vector<std::string> Answer();

 private:
  const std::filesystem::path allowed_;
  Allowlist list_;
  std::map<std::string, std::string> own_;  // Admit's
};

}  // namespace starling::wire
