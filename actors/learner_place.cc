#include "actors/learner_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "wire/endpoint.h"
#include "wire/runtime_dir.h"

namespace starling::actors {
namespace {

// Returns the endpoint that the learner wrote to `file` (wire.address), or nullopt if it has not
// yet, or has ended.
std::optional<std::string> EndpointIn(const std::string& file) {
  std::string text;
  try {
    text = ReadRegularFile(file);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace

std::function<std::optional<std::string>()> EndpointFinder(const LearnerPlace& place) {
  if (!place.endpoint.empty()) {
    wire::ParseEndpoint(place.endpoint, !place.secret.empty());
    if (place.endpoint.ends_with(":0") || place.endpoint.ends_with(":*")) {
      throw UserError(fmt::format("{}: that is any port; give the port that the learner printed",
                                  place.endpoint));
    }
    return [endpoint = place.endpoint] { return endpoint; };
  }
  if (!place.endpoint_file.empty()) {
    return [file = place.endpoint_file] { return EndpointIn(file); };
  }
  const auto root = wire::RuntimeRoot(place.runtime_dir);
  return [root, run_dir = place.run_dir] { return wire::RuntimeDir::Find(root, run_dir).endpoint; };
}

std::function<std::optional<wire::Credentials>()> KeysFinder(const LearnerPlace& place) {
  if (!place.secret.empty()) {
    const wire::Credentials keys{wire::ReadSecretFile(place.secret),
                                 wire::ReadPublicFile(place.learner_key)};
    return [keys] { return keys; };
  }
  if (place.run_dir.empty()) return {};
  const auto root = wire::RuntimeRoot(place.runtime_dir);
  return [root, run_dir = place.run_dir] { return wire::RuntimeDir::FindKeys(root, run_dir); };
}

std::string WhyNoLearner(const LearnerPlace& place, const std::string& secret,
                         const std::string& learner_key) {
  if (!place.run_dir.empty()) return "";
  if (!place.endpoint.empty()) {
    const std::string problem = wire::FindNameProblem(place.endpoint, !place.secret.empty());
    if (!problem.empty()) return ". " + problem;
  }
  return place.secret.empty()
             ? fmt::format(". If it runs, it may ask for keys: give {} and {}", secret, learner_key)
             : fmt::format(
                   ". If it runs, our key may not be on its list, {} may not be its key, "
                   "or it uses no keys",
                   learner_key);
}

}  // namespace starling::actors
