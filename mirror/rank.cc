#include "mirror/rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "actors/actor.h"
#include "actors/gradient_message.h"
#include "core/check.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "core/state_bytes.h"
#include "core/text.h"
#include "net/norm.h"
#include "wire/socket.h"

namespace starling::mirror {

namespace {

constexpr std::int64_t kPollMs = 50;  // longest wait for the applier between two looks
constexpr double kMaxStopS = 2;       // a supervisor does not wait longer

std::uint32_t Us(std::int64_t ns) { return static_cast<std::uint32_t>(ns / 1000); }

// The evaluator reads the weights of rank 0; where shared memory is full it cannot.
wire::SnapshotWriter MakeSnapshot(const Config& config, const net::ParameterLayout& layout,
                                  const HeldRun* run, std::uint32_t term) {
  if (!run || config.eval.every_steps == 0) {
    return {{}, layout.size(), layout.fingerprint(), term};
  }
  return wire::SnapshotWriter::SharedIfThereIsRoom(run->runtime_dir.SnapshotPath(term),
                                                   layout.size(), layout.fingerprint(), term);
}

// The layout of this machine, if it is that of rank 0: another version of a game or a plug-in may
// have other actions.
net::ParameterLayout Checked(net::ParameterLayout layout, const StartMessage& message, int rank) {
  if (layout.fingerprint() == message.fingerprint) return layout;
  throw UserError(fmt::format(
      "the net of rank {} on {} is not that of rank 0: the environment differs on the two machines",
      rank, HostName()));
}

}  // namespace

Rank::Rank(World& world, const Config& config, net::ParameterLayout layout,
           const StartMessage& message, const HeldRun* run, RankOptions options)
    : world_(world),
      config_(config),
      layout_(Checked(std::move(layout), message, world.rank())),
      options_(std::move(options)),
      cut_at_start_(message.start.actors ? std::optional(message.start.state.version)
                                         : std::nullopt),
      reached_(message.start.reached),
      exact_(message.exact),
      all_reduce_(world, layout_.size(), layout_.trained(), config.wire.gradient),
      snapshot_(MakeSnapshot(config_, layout_, run, message.start.state.term)),
      reader_(snapshot_),
      engine_(config_, message.start, snapshot_,
              {.run_dir = run ? run->dir : std::filesystem::path(),
               .fingerprint = layout_.fingerprint(),
               .session = message.session,
               .slice = {.begin = 0, .size = layout_.size()},
               .trained = layout_.trained(),
               .exact = exact_,
               .redo = message.redo,
               .journal = run != nullptr,
               .journal_broken = [this] { return agreed_.journal_broken; },
               .mean = [this](const auto& gradients) { return all_reduce_.Mean(gradients); },
               .may_save = [this] { return agreed_.may_save; },
               .on_progress = [this] { wake_up_.Notify(); }}),
      hashed_(message.start.state.version),
      hash_(learner::HashWeights(message.start.state.weights)),
      laps_(real_) {
  FlushDenormals();
  if (run) {
    books_.emplace(config_, layout_, *run, engine_, message.start, options_.sinks, clock_, real_);
    if (message.start.checkpoint.empty()) books_->Save(engine_.CaptureNow());
  }
  Enter(message.start);
}

// ---- begin

// A rank says of itself that it goes on from its saved state, or begins afresh.
struct Rank::Entry {
  bool restored = false;
  std::uint32_t pid = 0;
  Bytes host{};
  void Fields(StateBytes& bytes) {
    bytes(restored), bytes(pid);
    bytes.Bytes(host);
  }
};

// All ranks become members of the run, in the order of ranks.
void Rank::Enter(const learner::Start& start) {
  // 1. Each tries to go on from its state.
  const std::string host = HostName();
  const auto* text = reinterpret_cast<const std::byte*>(host.data());
  Entry mine{.restored = Restore(start),
             .pid = static_cast<std::uint32_t>(::getpid()),
             .host{text, text + host.size()}};
  Bytes packed;
  SaveState(mine, packed);
  // 2. Every engine learns who could.
  std::uint32_t rank = 0;
  for (const Bytes& bytes : world_.Share(packed)) {
    Entry entry;
    RestoreState(entry, bytes);
    learner::Member& member = engine_.Join(rank, "", /*fresh=*/!entry.restored);
    member.pid = entry.pid;
    member.host.assign(reinterpret_cast<const char*>(entry.host.data()), entry.host.size());
    ++rank;
  }
  // 3. Who begins afresh has a new life.
  if (!mine.restored) {
    MakeRollout(engine_.roster().Find(slot())->life);
  }
  LogInfo("rank {} of {}: {} envs x {} steps an unroll{}", slot(), world_.size(),
          config_.actors.envs_per_actor, config_.actors.unroll, rollout_->where());
  engine_.Open();
}

void Rank::MakeRollout(std::uint32_t life) {
  rollout_ = actors::MakeRollout(
      config_, slot(), life, [this] { Beat(); }, [this](std::int64_t) { Beat(); });
}

// Goes on from this rank's state in the checkpoint. Returns false if there is none, or it is of no
// use.
bool Rank::Restore(const learner::Start& start) {
  if (!exact_ || !start.actors) return false;
  for (const learner::ActorState& actor : start.actors->actors) {
    if (actor.slot != slot()) continue;
    MakeRollout(actor.life);
    try {
      rollout_->Restore(actor.state);
      return true;
    } catch (const StateError& error) {
      LogWarn("the saved state of rank {} is of no use here ({}): beginning afresh", slot(),
              error.what());
      rollout_.reset();
    }
  }
  return false;
}

// ---- a turn

bool Rank::Run() {
  while (!engine_.over()) {
    const std::uint64_t before = engine_.published();
    Turn();
    if (stopped_ && MayEnd(before)) break;
  }
  End();
  return engine_.over();
}

// Whether no further turn would make the last checkpoint a better one. Unrolls that have begun run
// out, and held gradients are worth another turn, unless the last one brought no update. All ranks
// agree: `seconds` are those of rank 0. The first call ends the granting of new unrolls.
bool Rank::MayEnd(std::uint64_t published_before) {
  if (!stopped_s_) {
    stopped_s_ = agreed_.seconds;
    engine_.StopGranting();
  }
  return !exact_ || engine_.AtCut() || engine_.published() == published_before ||
         agreed_.seconds - *stopped_s_ >= kMaxStopS;
}

void Rank::Turn() {
  // 1. Play, and tell the others.
  laps_.LapNs();
  Report mine = Play();
  const std::int64_t played_ns = laps_.LapNs();
  const std::vector<Report> reports = Unpack(world_.Share(Pack(std::move(mine))));
  const std::int64_t waited_ns = laps_.LapNs();
  // 2. Every engine gets the same gradients and decides the same update. Advance calls Mean, in
  //    which the ranks add up its gradients.
  CheckSameWeights(reports);
  Receive(reports);
  engine_.Advance();
  const bool nobody_played = std::ranges::none_of(
      reports, [](const Report& report) { return report.gradient.has_value(); });
  // Grants are withheld for a cut, but the last gradient of the unrolls was refused: no update
  // brings it.
  if (nobody_played && engine_.seeks_cut()) engine_.GiveUpCut();
  const std::int64_t exchanged_ns = laps_.LapNs();
  AwaitUpdates();
  // 3. Count the time. That of the learner's network thread is the time of the engine.
  wait_us_ = Us(waited_ns), push_us_ = Us(exchanged_ns);
  times_.idle_ns += played_ns + waited_ns + exchanged_ns;
  Beat();
  times_.dispatch_ns += laps_.LapNs();
}

// Between two steps of envs, too: a supervisor waits for reports.
void Rank::Beat() {
  clock_.Tick();
  if (books_ && !ended_) books_->Report(times_);
}

Report Rank::Play() {
  const std::optional<wire::Grant> grant = TakeGrant();
  if (!begin_ns_) begin_ns_ = real_.NowNs();
  Report report{.hashed = hashed_, .hash = hash_};
  if (grant) report.gradient = Compute(*grant);
  report.stop = MustStop();
  report.circumstances = MyCircumstances();
  return report;
}

Circumstances Rank::MyCircumstances() {
  if (!books_) return {};
  return {.seconds = static_cast<double>(real_.NowNs() - *begin_ns_) / 1e9,
          .may_save = books_->idle(),
          .save_failed = books_->TakeFailed(),
          .journal_broken = engine_.journal().broken()};
}

// Returns the grant of this rank, if it has one: a rank whose gradient is held has none. The others
// do the same with theirs.
std::optional<wire::Grant> Rank::TakeGrant() {
  std::optional<wire::Grant> mine;
  for (const auto& [slot, answer] : engine_.TakeReplies(clock_.NowNs())) {
    if (slot == this->slot() && !answer.grants.empty()) mine = answer.grants.front();
  }
  return mine;
}

Computed Rank::Compute(const wire::Grant& grant) {
  // 1. The newest weights.
  const std::int64_t begin = real_.NowNs();
  wire::SnapshotMeta meta;
  CHECK(reader_.Read(grant.version, rollout_->weights(), meta), "no version {}", grant.version);
  const std::uint32_t refresh_us = Us(real_.NowNs() - begin);
  // 2. An unroll, and its gradients in turn. No version comes between it and the first.
  if (grant.use == 0) {
    rollout_->Act();
    played_ = meta.version;
  }
  const actors::RolloutGradient gradient =
      rollout_->Gradient(grant.use, meta.entropy, all_reduce_.own());
  // 3. All but its values.
  Computed computed{.header = {.slot = slot(),
                               .incarnation = engine_.roster().Find(slot())->incarnation,
                               .sequence = ++sequence_,
                               .term = engine_.term(),
                               .session = engine_.session(),
                               .version = meta.version,
                               .fingerprint = layout_.fingerprint()},
                    .body = actors::GradientMessage(gradient, rollout_->TakeEpisodes()),
                    .norm = net::CheckFinite(gradient.values, layout_.trained())};
  computed.body.grant = grant.number;
  computed.body.use = grant.use;
  computed.body.played = played_;
  computed.body.wait_us = wait_us_;
  computed.body.refresh_us = refresh_us;
  computed.body.push_us = push_us_;
  return computed;
}

void Rank::Receive(const std::vector<Report>& reports) {
  agreed_ = reports[0].circumstances;
  if (agreed_.save_failed) engine_.RetryCheckpoint();
  for (std::uint32_t rank = 0; rank < reports.size(); ++rank) {
    const Report& report = reports[rank];
    stopped_ |= report.stop;
    if (!report.gradient) continue;
    const auto [outcome, sender] = engine_.Receive({.header = report.gradient->header,
                                                    .body = report.gradient->body,
                                                    .norm = report.gradient->norm});
    if (!books_) continue;
    if (sender) sender->heard_ms = clock_.NowMs();
    books_->Count(rank, outcome);
  }
}

void Rank::AwaitUpdates() {
  std::array<wire::PollItem, 1> items{};
  items[0].fd = wake_up_.fd();
  while (true) {
    while (auto finished = engine_.TakeFinished(agreed_.seconds)) {
      if (finished->hash) hashed_ = finished->version, hash_ = *finished->hash;
      if (finished->checkpoint) Save(*std::move(finished->checkpoint));
    }
    if (engine_.idle()) return;
    wire::Poll(items, kPollMs);
    wake_up_.Clear();
  }
}

// ---- checkpoints

// All ranks hold the same content; rank 0 writes it, at a cut with the states of all.
void Rank::Save(learner::CheckpointContent content) {
  if (content.actors && !AddStates(*content.actors)) content.actors.reset();
  if (books_) books_->Save(std::move(content));
}

// Brings the states of all ranks to rank 0. Returns false if one cannot be saved.
bool Rank::AddStates(learner::ActorStates& states) {
  // 1. Each saves its own, "" if it cannot.
  Bytes mine;
  try {
    if (rollout_->WhyNotSaved().empty()) rollout_->Save(mine);
  } catch (const StateError& error) {
    LogWarn("the state of rank {} cannot be saved: {}", slot(), error.what());
  }
  // 2. Rank 0 adds them to those that wait, of which there are none once all have played.
  std::vector<Bytes> all = world_.Collect(mine);
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    const learner::Member& member = *engine_.roster().Find(rank);
    if (!member.begun) continue;
    if (all[rank].empty()) {
      LogWarn("the checkpoint has no states of actors: rank {} has none that can be saved", rank);
      return false;
    }
    states.actors.push_back({.slot = rank,
                             .incarnation = member.incarnation,
                             .life = member.life,
                             .state = std::move(all[rank])});
  }
  return true;
}

// ---- end

void Rank::End() {
  using Moment = learner::StatusReporter::Moment;
  ended_ = true;
  const std::string reached = learner::GoalOf(config_).Describe(engine_.Status());
  if (books_ && !reached.empty()) LogInfo("{}", reached);
  if (books_) books_->ReportEnd(Moment::kDismissed, times_);
  // 1. All have come to the same weights.
  learner::CheckpointContent last = engine_.CaptureNow();
  const Report mine{.hashed = last.state.version, .hash = learner::HashWeights(last.state.weights)};
  CheckSameWeights(Unpack(world_.Share(Pack(mine))));
  // 2. Something was applied since the cut that the run goes on from, or that one is the last.
  if (engine_.published() != cut_at_start_) {
    if (last.actors && !AddStates(*last.actors)) last.actors.reset();
    if (books_) books_->SaveLast(std::move(last), times_);
  }
  if (books_ && engine_.published() < reached_) {
    LogWarn(
        "the run had come to version {} before a rank died, and stops at {}: --resume with the "
        "same settings makes these updates again",
        Grouped(reached_), Grouped(engine_.published()));
  }
  if (books_) books_->ReportEnd(Moment::kEnd, times_);
  Bytes done;
  world_.Broadcast(done);  // rank 0 may take its time
}

bool Rank::MustStop() const {
  std::array<wire::PollItem, 1> items{};
  items[0].fd = options_.stop_fd;
  if (options_.stop_fd >= 0) wire::Poll(items, 0);
  return items[0].readable || (books_ && !books_->hopeless().empty());
}

}  // namespace starling::mirror
