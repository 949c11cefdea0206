// Who may read which page.
//
// The rules:
//  - /healthz and /metrics are open to all who can reach the port; a browser that was sent by the
//    page of another site is refused everywhere, unless its reader followed a link.
//  - On the loopback a request must name this machine.
//  - With a token, all other pages want it: in a cookie, which /?token=TOKEN sets, or as
//    `Authorization: Bearer TOKEN`.
//  - Without one they are served on the loopback only.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "monitor/http/answer.h"

namespace starling::monitor {

// Returns the token in `file`. Throws UserError, which begins with "status.token_file", unless it
// is one line of 16 to 1000 printable characters without spaces, quotes, commas and semicolons.
std::string ReadToken(const std::filesystem::path& file);

// Returns 32 random hexadecimal digits, for a content-security policy.
std::string NewNonce();

struct GateRules {
  bool loopback = true;  // the pages are served there
  std::string token{};   // "": none
};

class Gate {
 public:
  explicit Gate(GateRules rules) : rules_(std::move(rules)) {}

  // Returns the answer to a request that may not pass; nullopt if it may.
  std::optional<PageAnswer> Stop(const PageRequest& request) const;

 private:
  std::optional<PageAnswer> StopWithoutToken(const PageRequest& request) const;

  const GateRules rules_;
};

}  // namespace starling::monitor
