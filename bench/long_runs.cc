// Runs of many gradients: ten million through real processes whose learner is killed every minute,
// a hundred million through the engine on a fake clock, with actors that die and that are late.
// Memory and journal do not grow, and a replay of the part that is kept gives the same bits.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "bench/enduring_run.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/child.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/text.h"
#include "learner/apply/lanes.h"
#include "learner/engine.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/checkpoint_keeper.h"
#include "learner/storage/journal_reader.h"
#include "net/parameters.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// What is written at once, or still read: a segment that is begun, and one that a replay begins in.
constexpr double kSlackGb = 0.14;
constexpr double kSlackMb = 4;  // of memory that is called flat

double JournalGb(const fs::path& run_dir) {
  double bytes = 0;
  for (const learner::Segment& segment : learner::ListSegments(run_dir / "journal")) {
    bytes += static_cast<double>(fs::file_size(segment.path));
  }
  return bytes / 1e9;
}

// ---- 1. real processes

void MeasureProcesses(const Site& site, Result& result) {
  constexpr double kKeepGb = 0.2;
  const std::uint64_t gradients = site.quick ? 60'000 : 10'000'000;
  EnduringRun run(site, "long-processes");
  Tell("long-processes");
  run.timeout_s = 3600;
  std::vector<double> learner_mb, supervisor_mb, journal_gb;
  run.before_interruption = [&](int learner) {
    learner_mb.push_back(PeakMb(learner).value_or(0));
    for (const int supervisor : ChildrenOf(::getpid())) {
      supervisor_mb.push_back(ResidentMb(supervisor).value_or(0));
    }
    journal_gb.push_back(JournalGb(run.dir()));
  };
  // 1. A gradient for each step, as small as they come.
  run.Train(site.shipped / "catch.toml",
            {"actors.count=2", "actors.envs_per_actor=1", "actors.unroll=1", "net.hidden=[16]",
             "staleness.bound=4", Set("run.steps", gradients), "checkpoint.every_steps=100_000",
             Set("journal.keep", kKeepGb)},
            SIGKILL, site.quick ? 2 : 1000, site.quick ? 500 : 60'000);
  journal_gb.push_back(JournalGb(run.dir()));
  if (learner_mb.empty()) throw std::runtime_error("no learner was killed: the run was too short");
  // 2. Everything that was kept is done again.
  const Strings said = RunChild({.program = site.programs / "starling",
                                 .arguments = {"replay", run.dir().string()},
                                 .timeout_s = 1800,
                                 .stop_fd = site.stop_fd});
  const Json summary = run.Summary();
  const bool exact =
      summary["exact"].get<bool>() && run.Last().steps >= gradients && run.Lines("lost: ").empty();
  const bool flat = Most(journal_gb) <= kKeepGb + kSlackGb &&
                    Most(supervisor_mb) <= supervisor_mb.front() + kSlackMb &&
                    Most(learner_mb) <= learner_mb.front() + kSlackMb;
  result.broken |= !exact || !flat;
  result.rows.push_back(
      {.what = fmt::format("{} gradients through real processes, the learner killed every minute "
                           "({} times)",
                           Grouped(gradients), run.interruptions()),
       .measured = fmt::format("{}; {}", exact ? "nothing lost, exact" : "**not exact**",
                               said.empty() ? "" : said.back()),
       .wanted = "replay from the oldest kept cut exact",
       .holds = exact});
  result.rows.push_back(
      {.what = "… peak of each minute's learner, first and last; the supervisor; journal at most",
       .measured = fmt::format("{:.0f}, {:.0f} MB; {:.0f}, {:.0f} MB; {:.2f} GB",
                               learner_mb.front(), learner_mb.back(), supervisor_mb.front(),
                               supervisor_mb.back(), Most(journal_gb)),
       .wanted = fmt::format("flat; ≤ journal.keep = {} GB and two segments", kKeepGb),
       .holds = flat});
  result.json["processes"] = {{"gradients", gradients},
                              {"kills", run.interruptions()},
                              {"learner_mb", learner_mb},
                              {"supervisor_mb", supervisor_mb},
                              {"journal_gb", journal_gb},
                              {"replay", said},
                              {"exact", exact}};
}

// ---- 2. the engine

constexpr std::size_t kWeights = 64;
constexpr std::uint32_t kLongActors = 16;

// The gradient that an actor computes as its `sequence`th. Both the run and its repetition ask.
void Fill(std::uint32_t slot, std::uint32_t incarnation, std::uint64_t sequence,
          std::span<float> values) {
  std::uint64_t bits = (std::uint64_t{incarnation} << 32 | slot) ^ sequence * 0x9E3779B97F4A7C15;
  for (float& value : values) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    value = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 1e-13f;
  }
}

// Drives an engine as the learner's loop does, with all of its actors.
class EngineRun {
 public:
  EngineRun(const fs::path& dir, std::uint64_t gradients)
      : dir_(dir),
        config_(ParseConfig(
            "[run]\nseed = 1\n[env]\nname = \"catch\"\n[actors]\ncount = 16\nenvs_per_actor = 1\n"
            "unroll = 1\n[optimizer]\nkind = \"rmsprop\"\nlr_schedule = \"constant\"\n"
            "[staleness]\nbound = 16\n[updates]\ngradients = 3\nin_flight = 1\n[checkpoint]\n"
            "every_steps = 1_000_000\n[journal]\nkeep = 1.0\n",
            "long.toml", {Set("run.steps", gradients), "run.dir=" + dir.string()})),
        start_(NewStart()),
        snapshot_("", kWeights, 1, start_.state.term),
        engine_(config_, start_, snapshot_,
                {.run_dir = dir_,
                 .fingerprint = layout_.fingerprint(),
                 .slice = {.begin = 0, .size = kWeights},
                 .exact = true}),
        keeper_(
            config_, layout_, dir_, start_, [] {}, clock_) {
    keeper_.Save(engine_.ContentOf(start_.state));
    for (std::uint32_t slot = 0; slot < kLongActors; ++slot) engine_.Join(slot);
    engine_.Open();
  }

  bool over() const { return engine_.over() && engine_.idle(); }
  std::uint64_t steps() const { return engine_.pipeline().steps(); }
  const learner::Counters& counters() const { return engine_.counters(); }
  const Config& config() const { return config_; }
  const net::ParameterLayout& layout() const { return layout_; }

  // One turn of the loop, a millisecond long.
  void Turn() {
    clock_.AdvanceMs(1);
    bool any = false;
    // 1. Every actor spends its grant, but for one that is late from time to time.
    for (std::uint32_t slot = 0; slot < kLongActors; ++slot) any |= Push(slot);
    for (const learner::Grant& grant : engine_.ExpireGrants(clock_.NowNs())) late_ = grant.slot;
    LimitCut();
    engine_.Advance();
    // 2. Finished versions; a cut gets the states of the actors.
    while (auto finished = engine_.TakeFinished(static_cast<double>(clock_.NowMs()) / 1e3)) {
      any = true;
      if (finished->checkpoint) Save(*std::move(finished->checkpoint));
      engine_.Advance();
    }
    for (auto& [slot, answer] : engine_.TakeReplies(clock_.NowNs())) {
      any = true;
      grants_[slot].insert(grants_[slot].end(), answer.grants.begin(), answer.grants.end());
    }
    keeper_.Collect();
    // 3. From time to time an actor dies, and another takes its slot.
    if (steps() >= death_at_) Die();
    if (!any) std::this_thread::yield();
  }
  void End() {
    while (!keeper_.idle()) keeper_.Collect();
    Save(engine_.CaptureNow());
    keeper_.Finish();
    if (!keeper_.error().empty()) throw std::runtime_error(keeper_.error());
  }

 private:
  static constexpr std::uint64_t kBetweenDeaths = 99'991, kBetweenSleeps = 1'000'003;

  learner::Start NewStart() {
    layout_.Add("weight", {static_cast<int>(kWeights)});
    learner::InitialNet net{layout_, std::vector<float>(kWeights, 0.0f)};
    return learner::FindStart(config_, net, dir_, /*resume=*/false);
  }
  bool Push(std::uint32_t slot) {
    std::deque<wire::Grant>& grants = grants_[slot];
    if (grants.empty()) return false;
    if (steps() >= sleep_at_ && !sleeper_) {  // until its grant has expired
      sleeper_ = slot;
      sleep_at_ += kBetweenSleeps;
    }
    if (sleeper_ == slot && late_ != slot) return false;
    if (sleeper_ == slot) sleeper_.reset(), late_.reset();
    const wire::Grant grant = grants.front();
    grants.pop_front();
    const learner::Member& member = *engine_.roster().Find(slot);
    const auto values = std::make_shared<std::array<float, kWeights>>();
    const std::uint64_t sequence = member.last_sequence + 1;
    Fill(slot, member.incarnation, sequence, *values);
    engine_.Receive({.header = {.slot = slot,
                                .incarnation = member.incarnation,
                                .sequence = sequence,
                                .term = engine_.term(),
                                .session = engine_.session(),
                                .version = grant.version,
                                .fingerprint = layout_.fingerprint()},
                     .body = {.grant = grant.number, .samples = 1, .norm = 1},
                     .tensor = {.values = *values, .hold = values}});
    return true;
  }
  void Die() {
    death_at_ += kBetweenDeaths;
    const auto slot = static_cast<std::uint32_t>(death_at_ / kBetweenDeaths % kLongActors);
    if (sleeper_ == slot) sleeper_.reset(), late_.reset();
    engine_.Remove(slot, "died");
    grants_[slot].clear();
    engine_.Join(slot);
  }
  void LimitCut() {
    if (!engine_.seeks_cut()) {
      seeking_ms_ = clock_.NowMs();
    } else if (clock_.NowMs() - seeking_ms_ > 1000) {
      engine_.GiveUpCut();
    }
  }
  void Save(learner::CheckpointContent content) {
    if (content.actors) {
      for (const auto& [slot, member] : engine_.roster().members()) {
        if (!member.begun) continue;
        content.actors->actors.push_back(
            {.slot = slot, .incarnation = member.incarnation, .life = member.life});
      }
    }
    keeper_.Save(std::move(content));
  }

  const fs::path dir_;
  FakeClock clock_;
  const Config config_;
  net::ParameterLayout layout_;
  const learner::Start start_;
  wire::SnapshotWriter snapshot_;
  std::map<std::uint32_t, std::deque<wire::Grant>> grants_;
  std::optional<std::uint32_t> sleeper_, late_;
  std::uint64_t death_at_ = kBetweenDeaths, sleep_at_ = kBetweenSleeps;
  std::int64_t seeking_ms_ = 0;
  learner::Engine engine_;
  learner::CheckpointKeeper keeper_;
};

struct Repeated {
  std::uint64_t updates = 0, hashes = 0, different = 0;
};

// Applies the kept updates again, from the oldest kept cut on.
Repeated Repeat(const EngineRun& run, const fs::path& dir) {
  // 1. The oldest cut.
  std::optional<learner::Checkpoint> from;
  for (const fs::path& path : learner::ListCheckpoints(dir / "checkpoints")) {
    if (!fs::exists(learner::ActorStatesPath(path))) continue;
    from = learner::ReadCheckpoint(path);
    break;
  }
  if (!from) throw std::runtime_error("no cut was kept");
  // 2. Its updates, one at a time.
  wire::SnapshotWriter snapshot("", kWeights, 1, 1);
  learner::Lanes lanes(
      {.optimizer = learner::MakeOptimizerSpec(run.config().optimizer), .size = kWeights},
      from->weights, from->optimizer_state, snapshot, {.term = 1, .version = from->version}, {});
  Repeated repeated;
  std::uint64_t step = from->optimizer_step;
  std::map<std::uint64_t, std::uint64_t> hashes;  // by version
  learner::JournalReader journal(dir / "journal", from->journal);
  while (const auto record = journal.Next()) {
    const auto* hash = std::get_if<learner::HashRecord>(&*record);
    if (hash && hash->version > from->version) {  // a few updates after its own
      ++repeated.hashes;
      repeated.different += hashes[hash->version] != hash->hash ? 1 : 0;
      hashes.erase(hashes.begin(), hashes.upper_bound(hash->version));
    }
    const auto* update = std::get_if<learner::UpdateRecord>(&*record);
    if (!update) continue;
    std::vector<std::array<float, kWeights>> values(update->items.size());
    learner::Update again;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [slot, incarnation, sequence] = update->items[i];
      Fill(slot, incarnation, sequence, values[i]);
      again.gradients.push_back({.values = values[i]});
    }
    again.version = update->version;
    again.lr = update->lr;
    again.scale = update->scale;
    again.optimizer_step = ++step;
    again.meta = {.term = 1, .version = update->version};
    again.hash = true;
    if (!lanes.Submit(&again)) throw std::runtime_error("the lane takes no update");
    while (!lanes.Idle()) std::this_thread::yield();
    hashes[update->version] = again.WeightsHash();
    ++repeated.updates;
  }
  return repeated;
}

void MeasureEngine(const Site& site, Result& result) {
  constexpr double kKeepGb = 1.0;
  const std::uint64_t gradients = site.quick ? 1'000'000 : 100'000'000;
  const Scratch dir(site.scratch / "long-engine");
  fs::create_directories(dir.path / "checkpoints");
  Tell("long-engine");
  EngineRun run(dir.path, gradients);
  std::vector<double> memory_mb, journal_gb;
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  for (std::uint64_t look = 1; !run.over(); run.Turn()) {
    if (run.steps() < look * gradients / 20) continue;
    ++look;
    ThrowIfInterrupted(site.stop_fd);
    memory_mb.push_back(ResidentMb(::getpid()).value_or(0));
    journal_gb.push_back(JournalGb(dir.path));
  }
  run.End();
  const double seconds = static_cast<double>(clock.NowNs() - begin) / 1e9;
  const Repeated repeated = Repeat(run, dir.path);
  const bool exact = repeated.different == 0 && repeated.hashes > 0;
  const bool flat =
      memory_mb.back() <= memory_mb.at(1) + kSlackMb && Most(journal_gb) <= kKeepGb + kSlackGb;
  result.broken |= !exact || !flat;
  result.rows.push_back(
      {.what = fmt::format("{} gradients through the engine on a fake clock", Grouped(gradients)),
       .measured = fmt::format("{:.0f} s; repeated from the oldest kept cut: {} updates, {} of {} "
                               "hashes differ",
                               seconds, Grouped(repeated.updates), repeated.different,
                               Grouped(repeated.hashes)),
       .wanted = "exact",
       .holds = exact});
  result.rows.push_back(
      {.what = "… memory after 10 % and at the end; journal at most",
       .measured = fmt::format("{:.1f}, {:.1f} MB; {:.2f} GB", memory_mb.at(1), memory_mb.back(),
                               Most(journal_gb)),
       .wanted = fmt::format("flat; ≤ journal.keep = {} GB and two segments", kKeepGb),
       .holds = flat});
  result.json["engine"] = {{"gradients", gradients},
                           {"seconds", seconds},
                           {"expired", run.counters().deadlines},
                           {"memory_mb", memory_mb},
                           {"journal_gb", journal_gb},
                           {"repeated", repeated.updates},
                           {"hashes", repeated.hashes},
                           {"different", repeated.different}};
}

}  // namespace

Result MeasureLong(const Site& site) {
  Result result{.json = Json::object()};
  MeasureProcesses(site, result);
  MeasureEngine(site, result);
  return result;
}

}  // namespace starling::bench
