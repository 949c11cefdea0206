#include "tools/simulate/simulator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace starling::simulate {
namespace {

constexpr std::uint64_t kLines = 200;  // of metrics.jsonl in a run, evenly spaced in steps

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

VirtualLearner& Joined(VirtualLearner& learner) {
  learner.JoinAll();
  return learner;
}

enum Draws : std::uint32_t { kComputes, kPushes };  // take the place of the env in a StreamId

RandomStream Stream(std::uint64_t seed, std::uint32_t slot, std::uint32_t life, Draws what) {
  return RandomStream(
      {.seed = seed, .slot = slot, .life = life, .env = what, .purpose = Purpose::kTime});
}

}  // namespace

std::int64_t NsOf(double ms) { return std::llround(ms * 1e6); }

std::int64_t ApplyNs(const SimulateConfig& simulate, std::size_t gradients) {
  return NsOf(simulate.apply_ms + static_cast<double>(gradients - 1) * simulate.merge_ms);
}

ActorTimes::ActorTimes(const Config& config, std::uint32_t slot, std::uint32_t life)
    : simulate_(config.simulate),
      factor_(slot < simulate_.stragglers ? simulate_.straggler_factor : 1.0),
      unroll_(config.actors.unroll),
      pace_(config.env, config.actors.unroll, {config.run.seed, slot, life}),
      computes_(Stream(config.run.seed, slot, life, kComputes)),
      pushes_(Stream(config.run.seed, slot, life, kPushes)) {}

std::int64_t ActorTimes::ComputeNs() {
  const double between = 2 * computes_.UniformDouble() - 1;  // -1 to 1
  const double compute_ms = simulate_.compute_ms * (1 + simulate_.compute_spread * between);
  std::int64_t paced_ns = 0;
  for (std::int64_t step = 0; step < unroll_; ++step) paced_ns += pace_.NextStepNs();
  return NsOf(factor_ * (compute_ms + static_cast<double>(paced_ns) / 1e6));
}

std::int64_t ActorTimes::PushNs() {
  const bool delayed = pushes_.UniformDouble() < simulate_.delayed_share;
  return NsOf(simulate_.network_ms * (delayed ? simulate_.delayed_factor : 1.0));
}

Simulator::Simulator(const Config& config, VirtualLearner& learner, int threads)
    : config_(config),
      network_ns_(NsOf(config.simulate.network_ms)),
      receive_ns_(NsOf(config.simulate.receive_ms)),
      refresh_ns_(NsOf(config.simulate.refresh_ms)),
      learner_(Joined(learner)),
      workers_(config, learner.incarnation(), threads) {
  for (std::uint32_t slot = 0; slot < config.actors.count; ++slot) {
    actors_.push_back({.times = ActorTimes(config, slot, learner.incarnation())});
  }
  published_.push_back({.at_ns = -network_ns_, .weights = learner.first_weights()});
  SendGrants();
}

bool Simulator::Step() {
  if (closed() && learner_.idle()) return false;
  CHECK(!events_.empty(), "nothing will ever happen, at version {}", learner_.published());
  events_.Next();
  return true;
}

// ---- Events of an actor

void Simulator::OnGrant(const Granted& granted) {
  const std::uint32_t slot = granted.grant.slot;
  actors_[slot].grants.push_back(granted);
  BeginUnroll(slot);
}

void Simulator::BeginUnroll(std::uint32_t slot) {
  Actor& actor = actors_[slot];
  if (closed() || actor.computing || actor.grants.empty()) return;
  // 1. Take the oldest grant and the newest weights that have arrived, or those of its version.
  const std::int64_t now = events_.now_ns();
  const auto [grant, its] = actor.grants.front();
  actor.grants.pop_front();
  const std::shared_ptr<const Weights>& weights = its ? its : NewestThatHasArrived();
  CHECK(weights->version >= grant.version, "a grant of version {} came before its weights",
        grant.version);

  // 2. Draw and count the durations.
  const std::int64_t refresh = weights->version == actor.holds ? 0 : refresh_ns_;
  const std::int64_t compute = actor.times.ComputeNs();
  if (actor.idle_since_ns >= 0) wait_ns_ += now - actor.idle_since_ns;
  refreshed_ns_ += refresh;
  computed_ns_ += compute;

  // 3. Start the computation now in real time; EndUnroll ends it in virtual time.
  // VirtualLearner::Receive waits for the result.
  actor.computing = true;
  actor.holds = weights->version;
  actor.under_way.push_back({.slot = slot,
                             .sequence = ++actor.sequence,
                             .grant = grant.number,
                             .base = weights->version,
                             .computed = workers_.Compute(slot, weights)});
  events_.At(now + refresh + compute, [this, slot] { EndUnroll(slot); });
}

void Simulator::EndUnroll(std::uint32_t slot) {
  Actor& actor = actors_[slot];
  const std::int64_t now = events_.now_ns();
  actor.last_arrival_ns = std::max(now + actor.times.PushNs(), actor.last_arrival_ns);
  events_.At(actor.last_arrival_ns, [this, slot] { Arrive(slot); });
  actor.computing = false;
  actor.idle_since_ns = now;
  BeginUnroll(slot);
}

const std::shared_ptr<const Weights>& Simulator::NewestThatHasArrived() {
  const std::int64_t left = events_.now_ns() - network_ns_;  // weights that left then arrive now
  while (published_.size() > 1 && published_[1].at_ns <= left) published_.pop_front();
  return published_.front().weights;
}

// ---- Events of the learner

void Simulator::Arrive(std::uint32_t slot) {
  std::deque<Pushed>& under_way = actors_[slot].under_way;
  inbox_.push_back(std::move(under_way.front()));
  under_way.pop_front();
  if (inbox_.size() == 1) BeginReceiving();
}

void Simulator::BeginReceiving() {
  if (closed()) return;
  events_.At(events_.now_ns() + receive_ns_, [this] { EndReceiving(); });
}

void Simulator::EndReceiving() {
  if (closed()) return;
  received_ns_ += receive_ns_;
  learner_.Receive(std::move(inbox_.front()));
  inbox_.pop_front();
  if (!inbox_.empty()) BeginReceiving();
  DecideAll();
  SendGrants();
}

void Simulator::DecideAll() {
  if (stopped_) return;
  while (auto decided = learner_.Decide()) {
    const std::int64_t takes = ApplyNs(config_.simulate, decided->gradients);
    lanes_free_ns_ = std::max(lanes_free_ns_, events_.now_ns()) + takes;
    applied_ns_ += takes;
    events_.At(lanes_free_ns_, [this, weights = std::move(decided->weights)] { Publish(weights); });
  }
}

void Simulator::Publish(const std::shared_ptr<const Weights>& weights) {
  learner_.Publish(events_.now_ns());
  if (config_.staleness.delayed()) published_.clear();  // each grant has brought its own
  published_.push_back({.at_ns = events_.now_ns(), .weights = weights});
  DecideAll();
  SendGrants();
  Report();
}

void Simulator::Report() {
  const std::uint64_t due = kLines * learner_.steps() / config_.run.steps;
  if (due == lines_) return;
  lines_ = due;
  learner_.SetTime(Time());
  learner_.WriteMetrics();
}

void Simulator::SendGrants() {
  const std::int64_t now = events_.now_ns();
  for (const learner::Grant& grant : learner_.TakeGrants(now)) {
    Granted granted{grant};
    if (config_.staleness.delayed()) {
      granted.weights = published_.back().weights;
      CHECK(granted.weights->version == grant.version, "a grant of version {} left with version {}",
            grant.version, granted.weights->version);
    }
    events_.At(now + network_ns_, [this, granted] { OnGrant(granted); });
    AwaitDeadline(grant.number);
  }
}

// Checks the grant at its deadline, and once more if the deadline has moved by then.
void Simulator::AwaitDeadline(std::uint64_t grant) {
  const auto deadline_ns = learner_.DeadlineNs(grant);
  if (!deadline_ns) return;
  events_.At(*deadline_ns, [this, grant] {
    if (closed()) return;
    learner_.ExpireGrants(events_.now_ns());
    DecideAll();
    SendGrants();
    AwaitDeadline(grant);
  });
}

learner::TimeStatus Simulator::Time() const {
  const std::int64_t now = events_.now_ns();
  learner::TimeStatus time;
  time.actors = {
      .wait = Seconds(wait_ns_), .refresh = Seconds(refreshed_ns_), .act = Seconds(computed_ns_)};
  time.learner = {.receive = Seconds(received_ns_),
                  .idle = Seconds(std::max<std::int64_t>(now - received_ns_, 0)),
                  .lanes = Seconds(applied_ns_)};
  return time;
}

}  // namespace starling::simulate
