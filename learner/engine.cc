#include "learner/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "net/norm.h"

namespace starling::learner {
namespace {

wire::Outcome OutcomeOf(Arrival arrival) {
  switch (arrival) {
    case Arrival::kHeld:
      return wire::Outcome::kNone;
    case Arrival::kNoGrant:
      return wire::Outcome::kNoGrant;
    case Arrival::kBelowGrant:
      return wire::Outcome::kBelowGrant;
    case Arrival::kFutureVersion:
      return wire::Outcome::kFutureVersion;
    case Arrival::kStale:
      return wire::Outcome::kStale;
  }
  return wire::Outcome::kNone;
}

ArrivalRecord RecordOf(const Received& gradient) {
  return {.slot = gradient.header.slot,
          .incarnation = gradient.header.incarnation,
          .sequence = gradient.header.sequence,
          .grant = gradient.body.grant,
          .base_version = gradient.header.version,
          .samples = gradient.body.samples,
          .norm = gradient.body.norm};
}

wire::Grant ToWire(const Grant& grant) {
  return {.number = grant.number,
          .version = grant.version,
          .use = grant.use,
          .acting = grant.acting ? 1u : 0u};
}

}  // namespace

UnrollStatus TimesOf(const wire::Gradient& gradient) {
  return {.wait = gradient.wait_us,
          .refresh = gradient.refresh_us,
          .act = gradient.act_us,
          .act_wait = gradient.act_wait_us,
          .gradient = gradient.gradient_us,
          .push = gradient.push_us};
}

Engine::Engine(const Config& config, const Start& start, wire::SnapshotWriter& snapshot,
               EngineOptions options)
    : config_(config),
      options_(std::move(options)),
      term_(start.state.term),
      seconds_before_(start.counters.seconds),
      deadline_ns_(static_cast<std::int64_t>(config.staleness.deadline_s * 1e9)),
      counters_(start.counters),
      roster_(term_),
      lives_(term_, options_.exact ? start.actors : std::nullopt),
      journal_(options_.run_dir / "journal",
               {.seed = config.run.seed,
                .fingerprint = options_.fingerprint,
                .term = term_,
                .after = start.journal},
               {.discard = !options_.journal}),
      pipeline_(config_, CutOut(start.state, options_.slice), options_.trained, snapshot, journal_,
                counters_, options_.on_progress),
      pace_(options_.exact && options_.redo ? config.checkpoint.redo_s
                                            : std::numeric_limits<double>::infinity()) {
  if (options_.exact) pipeline_.SeekCuts();
  if (options_.sum_ahead) pipeline_.SumAhead();
  pipeline_.AddUpElsewhere(options_.mean);
  if (!start.checkpoint.empty() && !(options_.exact && start.actors)) ++counters_.breaks;
  journal_.Append(TermRecord{term_, start.state.version, start.state.steps});
  journal_.Append(EntropyRecord{pipeline_.entropy()});
  journal_.Append(HashRecord{start.state.version, HashWeights(start.state.weights)});
}

// ---- members

Member& Engine::Join(std::uint32_t slot, std::string peer, bool fresh) {
  Member& member = roster_.Join(slot, std::move(peer));
  journal_.Append(JoinRecord{slot, member.incarnation});
  if (fresh && lives_.Discard(slot)) ++counters_.breaks;
  const Lives::Life life = lives_.Of(slot);
  member.life = life.number;
  if (life.state != nullptr || life.number != member.incarnation) {
    journal_.Append(LifeRecord{slot, member.incarnation, life.number, life.state != nullptr});
  }
  pipeline_.judge().Join(slot);
  return member;
}

const ActorState* Engine::StateOf(const Member& member) const {
  return member.begun ? nullptr : lives_.Of(member.slot).state;
}

void Engine::Remove(std::uint32_t slot, const std::string& why) {
  const Member* member = roster_.Find(slot);
  CHECK(member != nullptr, "slot {}", slot);
  for (const Grant& grant : pipeline_.judge().RemoveActor(slot)) {
    const bool sent = begun_ns_.erase(grant.number) == 1;
    if (sent) journal_.Append(LostRecord{slot, grant.number, LostWhy::kDeath});
    // A run that is not stopped has an update with its gradient, and none without.
    if (sent && options_.exact && pipeline_.ending()) pipeline_.Freeze();
  }
  std::erase_if(unsent_, [&](const Grant& grant) { return grant.slot == slot; });
  // Actors that leave with their learner have not died: a redo knows their states.
  if (!pipeline_.ending()) journal_.Append(DeathRecord{slot, member->incarnation});
  roster_.Leave(slot, why);
}

Member* Engine::SenderOf(const wire::Header& header) { return Identify(header).sender; }

// ---- gradients in

Engine::Receipt Engine::Receive(Received gradient) {
  // 1. Find the sender. The gradient of a stranger is counted, but is no part of the run.
  ++counters_.received;
  const auto [stranger, sender] = Identify(gradient.header);
  if (!sender) {
    counters_.AddDropped(stranger);
    return {stranger, nullptr};
  }
  // 2. Check its content, then its grant.
  ArrivalRecord record = RecordOf(gradient);
  const std::uint64_t use = gradient.body.use, played = gradient.body.played;
  wire::Outcome outcome = CheckContent(gradient, *sender);
  if (outcome == wire::Outcome::kNone) {
    Count(gradient.body);  // it is newest_ now
    outcome = Hold(std::move(gradient), *sender);
    // The update of a held gradient counts its episodes. Nothing does once the run is over: the
    // window that has ended it stays.
    if (outcome != wire::Outcome::kNone && !over()) counters_.AddEpisodes(newest_);
  } else if (outcome != wire::Outcome::kDuplicate) {
    Revoke(record.slot, record.grant);
  }
  // 3. Journal the outcome before any update can contain the gradient.
  if (!std::exchange(sender->begun, true)) lives_.Begin(record.slot, sender->life);
  record.outcome = static_cast<std::uint8_t>(outcome);
  if (config_.reuses_data()) {
    journal_.Append(UseRecord{record.slot, record.incarnation, record.sequence, use, played});
  }
  journal_.Append(record);
  // 4. An actor whose gradient was refused gets another grant.
  if (outcome != wire::Outcome::kNone) {
    counters_.AddDropped(outcome);
    pipeline_.judge().GrantOrQueue(record.slot);
  }
  return {outcome, sender};
}

void Engine::Acted(Member& member, std::uint64_t number) {
  if (!pipeline_.judge().Acted(member.slot, number)) {
    unsent_.push_back({.slot = member.slot, .number = number, .version = pipeline_.taken()});
  }
}

// Returns the sender, or why there is none.
Engine::Receipt Engine::Identify(const wire::Header& header) {
  if (header.term != term_ || header.session != options_.session) {
    return {wire::Outcome::kOtherTerm, nullptr};
  }
  Member* member = roster_.Find(header.slot);
  if (!member) return {wire::Outcome::kUnknownActor, nullptr};
  if (header.incarnation != member->incarnation) return {wire::Outcome::kOldIncarnation, nullptr};
  return {wire::Outcome::kNone, member};
}

// The live grant of this number, if it is the sender's.
const Grant* Engine::GrantOf(const Member& sender, std::uint64_t number) const {
  const Grant* grant = judge().FindGrant(number);
  return grant && grant->slot == sender.slot ? grant : nullptr;
}

// Checks sequence, samples, its place in the unroll, buffer and values; Receive has checked the
// sender, the judge checks grant and base. Notes the sequence, and borrows the values if they are
// in shared memory.
wire::Outcome Engine::CheckContent(Received& gradient, Member& sender) const {
  const auto& [header, body] = std::tie(gradient.header, gradient.body);
  if (header.sequence <= sender.last_sequence) return wire::Outcome::kDuplicate;
  sender.last_sequence = header.sequence;
  // Whole unrolls of any number of envs, in which actors may differ, or a share of their samples.
  // An external net has any number.
  const auto unroll =
      static_cast<std::uint64_t>(config_.net.external() ? 1 : config_.actors.unroll);
  const std::uint64_t all = body.samples * static_cast<std::uint64_t>(config_.updates.minibatches);
  const std::uint64_t whole = config_.updates.shuffle == Shuffle::kEnvs ? body.samples : all;
  if (body.samples < 1 || all > kMaxSamples || whole % unroll != 0) {
    return wire::Outcome::kBadSamples;
  }
  const Grant* grant = GrantOf(sender, body.grant);
  if ((grant && grant->use != body.use) || body.played > header.version) {
    return wire::Outcome::kWrongUse;
  }
  if (body.buffer > 0 && !gradient.norm) {  // not lent for its checks yet
    auto loan = sender.buffers ? sender.buffers->Lend(body.buffer - 1) : std::nullopt;
    if (!loan) return wire::Outcome::kNoBuffer;
    gradient.tensor = *std::move(loan);
  }
  const net::FiniteNorm norm =
      gradient.norm ? *gradient.norm : net::CheckFinite(gradient.tensor.values, options_.trained);
  if (!norm.finite || !std::isfinite(gradient.other_square)) return wire::Outcome::kNotFinite;
  const double length = gradient.other_square > 0
                            ? std::sqrt(norm.norm * norm.norm + gradient.other_square)
                            : norm.norm;
  return length > config_.updates.max_norm ? wire::Outcome::kNormTooLarge : wire::Outcome::kNone;
}

// Ends the grant of the gradient, if it names a live one: the gradient is held for an update, or
// refused by the judge.
wire::Outcome Engine::Hold(Received gradient, Member& sender) {
  const std::uint64_t number = gradient.body.grant, base = gradient.header.version;
  const std::uint32_t wait_us = gradient.body.wait_us;
  // The steps of an unroll count with its first gradient that is held, and so do its running sums.
  const auto minibatches = static_cast<std::uint64_t>(config_.updates.minibatches);
  const Grant* grant = GrantOf(sender, number);
  const std::uint64_t unroll = grant ? grant->unroll : sender.unroll;
  if (unroll != sender.unroll) gradient.steps = gradient.body.samples * minibatches;
  const std::uint64_t steps = gradient.steps;
  const Arrival arrival = pipeline_.Hold(std::move(gradient));
  if (arrival == Arrival::kHeld) {
    ++sender.accepted;
    sender.steps += steps;
    sender.unroll = unroll;
    sender.wait_us += wait_us;
    sender.version = base;
  }
  if (arrival == Arrival::kBelowGrant || arrival == Arrival::kFutureVersion) {
    pipeline_.judge().RevokeGrant(sender.slot, number);
  }
  if (arrival != Arrival::kNoGrant) {
    begun_ns_.erase(number);
    spent_[sender.slot] = std::max(spent_[sender.slot], number);
  }
  return OutcomeOf(arrival);
}

void Engine::Count(const wire::Gradient& gradient) {
  counters_.episodes_cut += gradient.episodes_cut;
  counters_.envs_replaced += gradient.envs_replaced;
  actor_times_ += TimesOf(gradient);
  newest_ = gradient;
  pace_.Add((static_cast<double>(gradient.act_us) + gradient.act_wait_us + gradient.gradient_us) /
            1e6);
  const bool broken = options_.journal_broken ? options_.journal_broken() : journal_.broken();
  if (options_.exact && options_.redo && broken) RetryCheckpoint();
  if (options_.may_save && options_.may_save() && pace_.Due(counters_.seconds)) {
    pipeline_.AskForCheckpoint();
  }
}

// The grant ends without a gradient. Returns false if it was not live.
bool Engine::Revoke(std::uint32_t slot, std::uint64_t number) {
  if (!pipeline_.judge().RevokeGrant(slot, number)) return false;
  begun_ns_.erase(number);
  return true;
}

// ---- updates out

std::optional<Engine::Finished> Engine::TakeFinished(double seconds) {
  auto finished = pipeline_.TakeFinished();
  if (!finished) return std::nullopt;
  counters_.seconds = seconds_before_ + seconds;
  if (pipeline_.seeks_cut()) pace_.Withheld(counters_.seconds);
  applied_.insert(applied_.end(), finished->applied.begin(), finished->applied.end());
  if (finished->checkpoint) {
    if (finished->cut) finished->checkpoint->actors = lives_.Save();
    pace_.Saved(counters_.seconds, finished->cut);
  }
  return Finished{finished->version, finished->hash, std::move(finished->checkpoint)};
}

CheckpointContent Engine::ContentOf(TrainingState state) {
  journal_.Flush();
  const bool cut = options_.exact && AtCut();
  if (cut && journal_.broken()) {
    journal_.GoOn({term_, state.version, state.steps}, pipeline_.entropy());
  }
  CheckpointContent content{.state = std::move(state),
                            .counters = counters_.Save(),
                            .journal = journal_.position(),
                            .journal_sync = journal_.TakeSync(),
                            .journal_whole = !journal_.broken()};
  if (cut) content.actors = lives_.Save();
  return content;
}

// Grants that were not sent yet are none to an actor.
bool Engine::AtCut() const {
  return judge().state().held.empty() && judge().late().empty() && begun_ns_.empty() &&
         std::ranges::all_of(roster_.members(),
                             [](const auto& member) { return member.second.next_use == 0; });
}

// ---- grants and answers out

std::vector<Engine::Reply> Engine::TakeReplies(std::int64_t now_ns) {
  RestartDeadlines(now_ns);
  // 1. Collect and journal the grants whose version is completed.
  for (const Grant& grant : pipeline_.judge().TakeGrants()) unsent_.push_back(grant);
  std::map<std::uint32_t, std::vector<wire::Grant>> grants;  // by slot
  std::erase_if(unsent_, [&](const Grant& grant) {
    if (grant.version > pipeline_.taken() || over()) return false;
    grants[grant.slot].push_back(ToWire(grant));
    granted_ = true;
    const Grant* live = judge().FindGrant(grant.number);
    if (!live || live->slot != grant.slot) return true;  // it has ended; its actor waits for it
    const bool anew = !begun_ns_.insert_or_assign(grant.number, now_ns).second;
    if (anew) return true;
    journal_.Append(GrantRecord{grant.slot, grant.number, grant.version});
    roster_.Find(grant.slot)->next_use = (grant.use + 1) % judge().rules().uses;
    return true;
  });
  // 2. Gather the outcomes of the applied gradients whose actors still live, then the grants, in
  // one answer for each slot.
  std::vector<Reply> replies;
  std::map<std::uint32_t, std::size_t> at;  // by slot: index of its reply
  const auto answer_to = [&](std::uint32_t slot) -> wire::Answer& {
    const auto [found, first] = at.try_emplace(slot, replies.size());
    if (first) replies.push_back({slot, {}});
    return replies[found->second].answer;
  };
  for (const Pipeline::Applied& one : std::exchange(applied_, {})) {
    Member* member = roster_.Find(one.slot);
    if (!member || member->incarnation != one.incarnation) continue;
    member->staleness = one.staleness;
    answer_to(one.slot).outcomes.push_back({one.sequence, one.outcome, one.staleness});
  }
  for (auto& [slot, numbers] : grants) answer_to(slot).grants = std::move(numbers);
  // 3. An actor never hears of an update that a killed learner could lose.
  if (!replies.empty()) journal_.Flush();
  return replies;
}

std::vector<wire::Grant> Engine::SentGrants(std::uint32_t slot) const {
  std::vector<wire::Grant> sent;
  for (const Grant& grant : judge().state().outstanding) {
    if (grant.slot == slot && begun_ns_.contains(grant.number)) {
      sent.push_back(ToWire(grant));
    }
  }
  return sent;
}

// An actor that has spent a grant begins with its newer ones only now.
void Engine::RestartDeadlines(std::int64_t now_ns) {
  for (const auto& [slot, newest] : std::exchange(spent_, {})) {
    for (const Grant& grant : judge().state().outstanding) {
      if (grant.slot != slot || grant.number < newest) continue;
      const auto begun = begun_ns_.find(grant.number);
      if (begun != begun_ns_.end()) begun->second = now_ns;
    }
  }
}

std::optional<std::int64_t> Engine::DeadlineNs(std::uint64_t grant) const {
  const auto begun = begun_ns_.find(grant);
  return begun == begun_ns_.end() ? std::nullopt : std::optional(begun->second + deadline_ns_);
}

std::vector<Grant> Engine::ExpireGrants(std::int64_t now_ns) {
  RestartDeadlines(now_ns);
  std::vector<Grant> late;
  for (const auto& [number, begun_ns] : begun_ns_) {
    if (now_ns - begun_ns >= deadline_ns_) late.push_back(*judge().FindGrant(number));
  }
  for (const Grant& grant : late) {
    pipeline_.judge().ExpireGrant(grant.slot, grant.number);
    begun_ns_.erase(grant.number);
    journal_.Append(LostRecord{grant.slot, grant.number, LostWhy::kDeadline});
    ++counters_.deadlines;
  }
  return late;
}

}  // namespace starling::learner
