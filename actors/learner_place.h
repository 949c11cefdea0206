// The place of a learner: a run directory of this host, an endpoint, or a file with an endpoint;
// and the keys for it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "wire/keys.h"

namespace starling::actors {

struct LearnerPlace {
  // One of them; the others are "". A file is read again at every attempt.
  std::string run_dir{}, endpoint{}, endpoint_file{};
  std::string secret{}, learner_key{};  // files: our secret key, the learner's public one; "": none
  std::string runtime_dir{};            // wire.runtime_dir of the learner in run_dir

  std::string text() const { return run_dir + endpoint + endpoint_file; }
};

// Return find_endpoint and find_keys of ClientOptions for this place. Throw UserError if the
// endpoint is malformed, or a key cannot be read.
std::function<std::optional<std::string>()> EndpointFinder(const LearnerPlace& place);
std::function<std::optional<wire::Credentials>()> KeysFinder(const LearnerPlace& place);

// Returns possible reasons why no learner has answered there, as further sentences, or "". The real
// reason is unknown: a learner with keys does not answer strangers. `secret` and `learner_key` are
// the names of the user's options for the keys ("--secret").
std::string WhyNoLearner(const LearnerPlace& place, const std::string& secret,
                         const std::string& learner_key);

}  // namespace starling::actors
