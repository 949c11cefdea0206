// Where a learner is, as an actor is told: a run directory of this host, an endpoint, or a file
// with one; and the keys for it.
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

// Returns what ClientOptions::find_endpoint and find_keys are for it. Throw UserError if the
// endpoint is none, or a key cannot be read.
std::function<std::optional<std::string>()> EndpointFinder(const LearnerPlace& place);
std::function<std::optional<wire::Credentials>()> KeysFinder(const LearnerPlace& place);

// Returns possible reasons why no learner has answered there, as further sentences, or "". A
// learner with keys does not answer strangers, so the real one is unknown. `secret` and
// `learner_key` are what the user calls them.
std::string WhyNoLearner(const LearnerPlace& place, const std::string& secret,
                         const std::string& learner_key);

}  // namespace starling::actors
