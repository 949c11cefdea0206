#include "bench/scripted_fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "wire/codec.h"
#include "wire/runtime_dir.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPerContext = 256;  // ZeroMQ allows about a thousand sockets
constexpr std::int64_t kFleetPatienceMs = 120'000;
constexpr std::int64_t kFleetPollMs = 20;
constexpr float kValue = 1e-6f;  // of every weight in a gradient

std::vector<std::string> Arguments(const fs::path& config, const fs::path& dir,
                                   const std::vector<std::string>& overrides) {
  std::vector<std::string> words = {config.string(), "--run-dir", dir.string()};
  for (const std::string& one : overrides) words.insert(words.end(), {"--set", one});
  return words;
}

}  // namespace

// ---- the learner

LearnerProcess::LearnerProcess(const Site& site, const std::string& name, const fs::path& config,
                               const std::vector<std::string>& overrides)
    : dir_(site.scratch / name),
      job_(site.programs / "starling-learner", Arguments(config, dir_.path, overrides)) {
  Tell(name);
  const SteadyClock clock;
  const fs::path root = wire::RuntimeRoot("");
  for (const std::int64_t end = clock.NowMs() + kFleetPatienceMs; endpoint_.empty();) {
    ThrowIfInterrupted(site.stop_fd);
    job_.Read();
    if (const auto exit = job_.Reap()) Fail(Describe(*exit));
    if (clock.NowMs() > end) Fail("does not listen");
    endpoint_ = wire::RuntimeDir::Find(root, dir_.path).endpoint.value_or("");
    ::poll(nullptr, 0, kFleetPollMs);
  }
  pid_ = wire::RuntimeDir::FindOwner(root, dir_.path).value_or(-1);
}

learner::RunStatus LearnerProcess::Status() {
  job_.Read();
  std::istringstream lines(ReadFile(dir_.path / "metrics.jsonl"));
  learner::RunStatus newest;
  for (std::string line; std::getline(lines, line);) {
    if (auto status = learner::ParseStatus(line)) newest = *std::move(status);
  }
  return newest;
}

double LearnerProcess::Stop() {
  job_.Signal(SIGTERM);
  double peak = PeakMb(pid_).value_or(0);
  const SteadyClock clock;
  for (const std::int64_t end = clock.NowMs() + kFleetPatienceMs; clock.NowMs() < end;) {
    job_.Read();
    if (job_.Reap()) return peak;
    peak = std::max(peak, PeakMb(pid_).value_or(0));
    ::poll(nullptr, 0, 1);
  }
  Fail("does not end");
  return peak;
}

void LearnerProcess::Fail(const std::string& why) {
  throw std::runtime_error(
      fmt::format("starling-learner {}:\n{}", why, fmt::join(job_.said(), "\n")));
}

// ---- the actors

ScriptedFleet::ScriptedFleet(const std::string& endpoint, std::size_t actors, std::size_t floats)
    : floats_(floats), gradient_(floats, kValue), actors_(actors) {
  for (std::size_t i = 0; i < actors; ++i) {
    if (i % kPerContext == 0) contexts_.push_back(std::make_unique<wire::Context>());
    actors_[i].socket = std::make_unique<wire::ClientSocket>(
        *contexts_.back(), endpoint, wire::SocketOptions{.max_elements = floats});
    Send(actors_[i], wire::Hello{.slot = static_cast<std::int64_t>(i), .host = "bench"});
  }
  for (Actor& actor : actors_) Await("grant", actor, [&] { return !actor.grants.empty(); });
}

double ScriptedFleet::PushAll(double seconds) {
  std::vector<wire::PollItem> items(actors_.size());
  for (std::size_t i = 0; i < actors_.size(); ++i) items[i].socket = actors_[i].socket.get();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  const std::uint64_t before = applied();
  double spent = 0;
  while (spent < seconds) {
    for (Actor& actor : actors_) {
      while (!actor.grants.empty()) Push(actor);
    }
    wire::Poll(items, kFleetPollMs);
    for (Actor& actor : actors_) Receive(actor);
    spent = static_cast<double>(clock.NowNs() - begin) / 1e9;
  }
  return static_cast<double>(applied() - before) / spent;
}

void ScriptedFleet::PushInTurn(double seconds) {
  const SteadyClock clock;
  const std::int64_t end = clock.NowNs() + static_cast<std::int64_t>(seconds * 1e9);
  for (std::size_t i = 0; clock.NowNs() < end; ++i) {
    Actor& actor = actors_[i % actors_.size()];
    const std::uint64_t applied_before = actor.applied;
    Await("grant", actor, [&] { return !actor.grants.empty(); });
    Push(actor);
    Await("answer", actor, [&] { return actor.applied > applied_before; });
  }
}

std::uint64_t ScriptedFleet::applied() const {
  std::uint64_t sum = 0;
  for (const Actor& actor : actors_) sum += actor.applied;
  return sum;
}

void ScriptedFleet::Send(Actor& actor, const wire::Body& body, std::span<const float> tensor) {
  ++actor.header.sequence;
  const wire::Frames frames = wire::Encode(actor.header, body, tensor);
  const SteadyClock clock;
  for (const std::int64_t end = clock.NowMs() + kFleetPatienceMs; !actor.socket->Send(frames);) {
    if (clock.NowMs() > end) throw std::runtime_error("the learner reads nothing");
    std::array<wire::PollItem, 1> item{{{.socket = actor.socket.get(), .want_writable = true}}};
    wire::Poll(item, kFleetPollMs);
  }
}

void ScriptedFleet::Push(Actor& actor) {
  wire::Gradient gradient{.grant = actor.grants.front().number, .samples = 5, .norm = 1};
  actor.header.version = actor.grants.front().version;
  actor.grants.pop_front();
  if (!actor.buffers) return Send(actor, gradient, gradient_);
  const auto free = actor.buffers->Free();
  if (!free) throw std::runtime_error("more grants than buffers");
  gradient.buffer = static_cast<std::uint32_t>(*free) + 1;
  Send(actor, gradient);
  actor.buffers->Pushed(*free, actor.header.sequence);
}

void ScriptedFleet::Receive(Actor& actor) {
  wire::Envelope envelope;
  while (actor.socket->Receive(envelope)) {
    const wire::DecodeResult decoded = wire::Decode(envelope.frames(), floats_);
    if (!decoded) throw std::runtime_error(wire::RefusalName(decoded.refusal));
    const wire::Message& message = decoded.message;
    if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) {
      OnWelcome(actor, message.header, *welcome);
    } else if (const auto* answer = std::get_if<wire::Answer>(&message.body)) {
      for (const wire::GradientOutcome& one : answer->outcomes) {
        const bool good =
            one.outcome == wire::Outcome::kApplied || one.outcome == wire::Outcome::kMerged;
        if (!good) throw std::runtime_error(wire::OutcomeName(one.outcome));
        if (actor.buffers) actor.buffers->Answered(one.gradient);
        ++actor.applied;
      }
      actor.grants.insert(actor.grants.end(), answer->grants.begin(), answer->grants.end());
    } else if (const auto* leave = std::get_if<wire::Leave>(&message.body)) {
      throw std::runtime_error("the learner has sent an actor away: " + leave->text);
    }
  }
}

void ScriptedFleet::OnWelcome(Actor& actor, const wire::Header& header,
                              const wire::Welcome& welcome) {
  actor.header.slot = header.slot;
  actor.header.incarnation = header.incarnation;
  actor.header.term = header.term;
  actor.header.session = header.session;
  actor.header.fingerprint = header.fingerprint;
  if (welcome.buffers.empty()) return;
  actor.buffers = std::make_unique<wire::GradientBuffersClient>(welcome.buffers, floats_);
  const auto count =
      static_cast<std::size_t>(ParseConfig(welcome.config, "welcome").updates.in_flight);
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(gradient_, actor.buffers->floats(i).begin());
  }
}

void ScriptedFleet::Await(const char* what, Actor& actor, const std::function<bool()>& done) {
  const SteadyClock clock;
  for (const std::int64_t end = clock.NowMs() + kFleetPatienceMs; !done();) {
    if (clock.NowMs() > end) throw std::runtime_error(fmt::format("no {} has come", what));
    std::array<wire::PollItem, 1> item{{{.socket = actor.socket.get()}}};
    wire::Poll(item, kFleetPollMs);
    Receive(actor);
  }
}

}  // namespace starling::bench
