// The seats of starling_seat.h.
#include "actors/seat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "actors/learner_place.h"
#include "actors/own_program.h"
#include "api/guard.h"
#include "api/quiet.h"
#include "api/starling_seat.h"

using starling::UserError;
using starling::actors::Seat;

// A member that is added to a struct must make it larger: there is no room behind the last one.
static_assert(sizeof(starling_seat_options) ==
                  offsetof(starling_seat_options, reserved) + sizeof(std::int32_t) &&
              sizeof(starling_seat_facts) ==
                  offsetof(starling_seat_facts, refusal) + sizeof(const char*) &&
              sizeof(starling_tensor) == offsetof(starling_tensor, count) + sizeof(std::uint64_t) &&
              sizeof(starling_grant) == offsetof(starling_grant, version) + sizeof(std::uint64_t) &&
              sizeof(starling_weights) ==
                  offsetof(starling_weights, reserved) + sizeof(std::uint32_t) &&
              sizeof(starling_push) == offsetof(starling_push, entropy) + sizeof(double));

// What a handle stands for.
struct starling_seat {
  starling_seat(starling::actors::LearnerPlace at, starling::actors::ClientOptions options)
      : place(std::move(at)), seat(std::move(options)) {}

  const starling::actors::LearnerPlace place;
  const pid_t process = ::getpid();  // whose threads it has
  Seat seat;
  bool joined = false;  // once
  std::string config;
};

namespace starling::api {
namespace {

constexpr double kDay = 86'400;  // seconds

std::string Text(const char* text) { return text == nullptr ? "" : text; }

// Only files with endpoints go with keys: a run directory has its own.
void SetPlace(const std::string& where, actors::LearnerPlace& place) {
  if (where.empty()) throw UserError("place is empty: name a run directory or an endpoint");
  if (where.find("://") != std::string::npos) {
    place.endpoint = where;
    return;
  }
  const std::filesystem::path path = std::filesystem::absolute(where);
  std::error_code ignored;
  const bool file = !place.secret.empty() || path.filename() == "endpoint" ||
                    std::filesystem::is_regular_file(path, ignored);
  (file ? place.endpoint_file : place.run_dir) = path.string();
}

std::unique_ptr<starling_seat> Open(const char* where, const starling_seat_options& options) {
  // 1. Check what is given.
  const std::string secret = Text(options.secret), learner_key = Text(options.learner_key);
  if (secret.empty() != learner_key.empty()) {
    throw UserError("options->secret and options->learner_key go together: give both or none");
  }
  if (!(options.connect_timeout >= 0 && options.connect_timeout <= kDay)) {
    throw UserError(
        fmt::format("options->connect_timeout is {}: it is at most {} seconds, 0 for 60",
                    options.connect_timeout, kDay));
  }
  constexpr std::int32_t kMostSlots = 65'536;
  if (options.slot < 0 || options.slot > kMostSlots) {
    throw UserError(
        fmt::format("options->slot is {}: it is at most {}, 0 for any", options.slot, kMostSlots));
  }
  // 2. Find the place.
  actors::ToldPlace told = where == nullptr ? actors::PlaceOfVariables() : actors::ToldPlace{};
  actors::LearnerPlace& place = told.place;
  if (!secret.empty()) place.secret = secret, place.learner_key = learner_key;
  if (where != nullptr) SetPlace(where, place);
  if (!secret.empty() && std::filesystem::is_directory(place.text())) {
    throw UserError("options->secret is for an endpoint: a run directory has its keys");
  }
  if (options.slot > 0) told.slot = options.slot - 1;
  if (options.connect_timeout > 0) told.connect_timeout_s = options.connect_timeout;
  actors::ClientOptions client{.find_endpoint = actors::EndpointFinder(place),
                               .find_keys = actors::KeysFinder(place),
                               .slot = told.slot,
                               .connect_timeout_s = told.connect_timeout_s};
  // 3. Begin.
  BeQuiet();
  return std::make_unique<starling_seat>(std::move(place), std::move(client));
}

actors::WaitMs WaitOf(double seconds) {
  if (std::isnan(seconds)) throw UserError("seconds is not a number");
  constexpr double kForeverS = static_cast<double>(Seat::kForever / 1000);
  return seconds < 0 || seconds > kForeverS ? Seat::kForever
                                            : static_cast<actors::WaitMs>(seconds * 1000);
}

starling_status StatusOf(Seat::Outcome outcome) {
  switch (outcome) {
    case Seat::Outcome::kDone:
      return STARLING_OK;
    case Seat::Outcome::kLater:
      return STARLING_LATER;
    case Seat::Outcome::kLost:
      return STARLING_LOST;
    case Seat::Outcome::kOver:
      break;
  }
  return STARLING_OVER;
}

// Runs `function`, which returns an outcome.
template <class Function>
starling_status GuardedOutcome(const Function& function) {
  Seat::Outcome outcome{};
  const starling_status status = Guarded([&] { outcome = function(); });
  return status == STARLING_OK ? StatusOf(outcome) : status;
}

// Throws UserError if there is no seat, or it is another process's.
void RequireSeat(const starling_seat* seat) {
  Require(seat, "seat");
  if (seat->process == ::getpid()) return;
  throw UserError("this seat is the parent's: after a fork the child opens one of its own");
}

// Throws UserError unless the seat has been a member.
Seat& Joined(starling_seat* seat) {
  RequireSeat(seat);
  if (!seat->joined) throw UserError("this seat has not joined yet: starling_seat_join");
  return seat->seat;
}

// Calls the function, whose NoLearner becomes a sentence about the place.
template <class Function>
Seat::Outcome Reaching(const starling_seat& seat, const Function& function) {
  try {
    return function();
  } catch (const actors::NoLearner& error) {
    throw std::runtime_error(
        fmt::format("{} at {}; start one, or give a longer connect_timeout{}", error.what(),
                    seat.place.text(), actors::WhyNoLearner(seat.place, "secret", "learner_key")));
  }
}

starling_seat_facts FactsOf(Seat& seat) {
  starling_seat_facts facts{.size = sizeof(facts),
                            .numbers = seat.layout().size(),
                            .tensors = static_cast<std::int32_t>(seat.layout().parameters().size()),
                            .slot = seat.slot(),
                            .seed = seat.config().run.seed,
                            .applied = 0,
                            .refused = 0,
                            .refusal = ""};
  const actors::Outcomes outcomes = seat.outcomes();
  for (std::size_t i = 0; i < outcomes.counts.size(); ++i) {
    const auto outcome = static_cast<wire::Outcome>(i);
    (outcome > wire::Outcome::kMerged ? facts.refused : facts.applied) += outcomes.counts[i];
  }
  if (outcomes.last_refusal != wire::Outcome::kNone) {
    facts.refusal = wire::OutcomeName(outcomes.last_refusal);
  }
  return facts;
}

Seat::Report ReportOf(const starling_push& push) {
  Seat::Report report{.samples = push.samples,
                      .policy_loss = push.policy_loss,
                      .value_loss = push.value_loss,
                      .entropy = push.entropy};
  if (push.episodes < 0) throw UserError(fmt::format("push->episodes is {}", push.episodes));
  if (push.episodes == 0) return report;
  Require(push.returns, "push->returns");
  Require(push.lengths, "push->lengths");
  for (std::int32_t i = 0; i < push.episodes; ++i) {
    report.episodes.push_back(
        {.episode_return = push.returns[i], .length = static_cast<std::int64_t>(push.lengths[i])});
  }
  return report;
}

}  // namespace
}  // namespace starling::api

using starling::api::Guarded;
using starling::api::GuardedOutcome;
using starling::api::Joined;
using starling::api::Reaching;
using starling::api::Require;
using starling::api::WaitOf;

starling_status starling_seat_open(const char* place, const starling_seat_options* options,
                                   starling_seat** seat) {
  if (seat != nullptr) *seat = nullptr;
  return Guarded([&] {
    Require(seat, "seat");
    starling_seat_options known{};
    if (options != nullptr) known = starling::api::Read(options, "options");
    *seat = starling::api::Open(place, known).release();
  });
}

void starling_seat_close(starling_seat* seat) {
  // In a forked child its threads are not there, and its sockets are the parent's.
  if (seat != nullptr && seat->process == ::getpid()) delete seat;
}

starling_status starling_seat_join(starling_seat* seat, double seconds) {
  return GuardedOutcome([&] {
    starling::api::RequireSeat(seat);
    const auto wait_ms = WaitOf(seconds);
    const auto outcome = Reaching(*seat, [&] { return seat->seat.Join(wait_ms); });
    seat->joined |= outcome == Seat::Outcome::kDone;
    return outcome;
  });
}

starling_status starling_seat_get_facts(starling_seat* seat, starling_seat_facts* facts) {
  return Guarded(
      [&] { starling::api::Write(starling::api::FactsOf(Joined(seat)), facts, "facts"); });
}

starling_status starling_seat_tensor(starling_seat* seat, int32_t index, starling_tensor* tensor) {
  return Guarded([&] {
    const auto& parameters = Joined(seat).layout().parameters();
    if (index < 0 || index >= std::ssize(parameters)) {
      throw UserError(fmt::format("index is {}: the net has {} tensors", index, parameters.size()));
    }
    const starling::net::Parameter& one = parameters[static_cast<std::size_t>(index)];
    starling::api::Write<starling_tensor>({.size = sizeof(starling_tensor),
                                           .name = one.name.c_str(),
                                           .shape = one.shape.empty() ? nullptr : one.shape.data(),
                                           .dimensions = static_cast<int32_t>(one.shape.size()),
                                           .reserved = 0,
                                           .first = one.offset,
                                           .count = one.size},
                                          tensor, "tensor");
  });
}

const char* starling_seat_config(starling_seat* seat) {
  const starling_status status = Guarded([&] {
    std::string text = starling::ToToml(Joined(seat).config());
    if (text != seat->config) seat->config = std::move(text);  // else what was returned stays
  });
  return status == STARLING_OK ? seat->config.c_str() : "";
}

starling_status starling_seat_next(starling_seat* seat, double seconds, starling_grant* grant) {
  return GuardedOutcome([&] {
    starling::wire::Grant next;
    Seat& joined = Joined(seat);
    starling::api::RequireStruct(grant, "grant");
    const auto wait_ms = WaitOf(seconds);
    const auto outcome = Reaching(*seat, [&] { return joined.Next(wait_ms, next); });
    starling::api::Write<starling_grant>(
        {.size = sizeof(starling_grant), .number = next.number, .version = next.version}, grant,
        "grant");
    return outcome;
  });
}

starling_status starling_seat_weights(starling_seat* seat, float* weights, starling_weights* held) {
  return GuardedOutcome([&] {
    Seat& joined = Joined(seat);
    Require(weights, "weights");
    const starling_weights known = starling::api::Read(held, "held");
    starling::wire::SnapshotMeta meta{.term = known.term,
                                      .version = known.version,
                                      .steps = known.steps,
                                      .entropy = known.entropy};
    const Seat::Outcome outcome = joined.Weights({weights, joined.layout().size()}, meta);
    starling::api::Write<starling_weights>({.size = sizeof(starling_weights),
                                            .version = meta.version,
                                            .steps = meta.steps,
                                            .entropy = meta.entropy,
                                            .term = outcome == Seat::Outcome::kDone ? meta.term : 0,
                                            .reserved = 0},
                                           held, "held");
    return outcome;
  });
}

starling_status starling_seat_space(starling_seat* seat, float** space) {
  return GuardedOutcome([&] {
    Require(space, "space");
    const std::span<float> next = Joined(seat).GradientSpace();
    *space = next.data();
    return next.empty() ? Seat::Outcome::kLost : Seat::Outcome::kDone;
  });
}

starling_status starling_seat_push(starling_seat* seat, const float* gradient,
                                   const starling_push* push) {
  return GuardedOutcome([&] {
    Seat& joined = Joined(seat);
    Require(gradient, "gradient");
    const Seat::Report report = starling::api::ReportOf(starling::api::Read(push, "push"));
    return joined.Push({gradient, joined.layout().size()}, report);
  });
}
