#include "actors/own_program.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace starling::actors {
namespace {

constexpr char kRunDir[] = "STARLING_RUN_DIR";
constexpr char kConnect[] = "STARLING_CONNECT";
constexpr char kConnectFile[] = "STARLING_CONNECT_FILE";
constexpr char kSecret[] = "STARLING_SECRET";
constexpr char kLearnerKey[] = "STARLING_LEARNER_KEY";
constexpr char kRuntimeDir[] = "STARLING_RUNTIME_DIR";
constexpr char kSlot[] = "STARLING_SLOT";
constexpr char kConnectTimeout[] = "STARLING_CONNECT_TIMEOUT";

std::string Absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

// The value of a variable; "" if it is not there.
std::string Told(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

template <class Number>
void TakeNumber(const char* name, Number low, Number high, Number& value) {
  const std::string text = Told(name);
  if (text.empty()) return;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last && value >= low && value <= high) return;
  throw UserError(fmt::format("{} is \"{}\" in the environment: it is a number from {} to {}", name,
                              text, low, high));
}

// All variables, "NAME=value", also those that say nothing: others of the same name may be there
// from a run around this one. Paths are made absolute, since the program may go elsewhere.
std::vector<std::string> PlaceVariables(const ToldPlace& told) {
  const auto is = [](const char* name, const std::string& value) {
    return fmt::format("{}={}", name, value);
  };
  const LearnerPlace& place = told.place;
  return {is(kRunDir, Absolute(place.run_dir)),
          is(kConnect, place.endpoint),
          is(kConnectFile, Absolute(place.endpoint_file)),
          is(kSecret, Absolute(place.secret)),
          is(kLearnerKey, Absolute(place.learner_key)),
          is(kRuntimeDir, Absolute(place.runtime_dir)),
          is(kSlot, told.slot < 0 ? "" : fmt::to_string(told.slot)),
          is(kConnectTimeout, fmt::to_string(told.connect_timeout_s))};
}

}  // namespace

ChildSpec OwnProgramSpec(const std::vector<std::string>& words, const ToldPlace& told) {
  ChildSpec spec;
  const std::string program = FindProgram(words.front());
  spec.program = program.empty() ? words.front() : program;
  spec.arguments = {words.begin() + 1, words.end()};
  spec.environment = {"PYTHONUNBUFFERED=1"};  // its lines are for the log, as they come
  spec.settings = PlaceVariables(told);
  return spec;
}

ToldPlace PlaceOfVariables() {
  ToldPlace told{.place = {.run_dir = Told(kRunDir),
                           .endpoint = Told(kConnect),
                           .endpoint_file = Told(kConnectFile),
                           .secret = Told(kSecret),
                           .learner_key = Told(kLearnerKey),
                           .runtime_dir = Told(kRuntimeDir)}};
  const int places = !told.place.run_dir.empty() + !told.place.endpoint.empty() +
                     !told.place.endpoint_file.empty();
  if (places == 0) {
    throw UserError(fmt::format(
        "no place is given, and no run has started this program ({} is not set): name a run "
        "directory or an endpoint",
        kRunDir));
  }
  if (places > 1) {
    throw UserError(
        fmt::format("{}, {} and {} of the environment are three ways to name one "
                    "learner: set one of them",
                    kRunDir, kConnect, kConnectFile));
  }
  if (told.place.secret.empty() != told.place.learner_key.empty()) {
    throw UserError(fmt::format("{} and {} of the environment go together: set both or none",
                                kSecret, kLearnerKey));
  }
  constexpr double kDayS = 86'400;
  TakeNumber<std::int64_t>(kSlot, 0, 65'535, told.slot);
  TakeNumber(kConnectTimeout, 0.001, kDayS, told.connect_timeout_s);
  return told;
}

}  // namespace starling::actors
