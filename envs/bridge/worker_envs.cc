#include "envs/bridge/worker_envs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/clock.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

constexpr int kMaxFailures = 3;          // in a row, without an action played
constexpr std::size_t kStartAtOnce = 4;  // processes: all at once they may be too slow for 60 s

std::int64_t NowMs() {
  using std::chrono::steady_clock;
  return std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now().time_since_epoch())
      .count();
}

std::string WithLastWords(const WorkerError& error) {
  if (error.last_words.empty()) return error.text;
  return fmt::format("{}, its last words \"{}\"", error.text, error.last_words);
}

}  // namespace

std::uint64_t WorkerSeed(RandomStream& stream) {
  const std::uint64_t high = stream.Bits() >> 1;
  return high << 32 | stream.Bits();
}

WorkerOptions WorkerOptionsOf(const EnvConfig& config, const WhileWaiting& while_waiting) {
  return {.per_process = static_cast<int>(config.per_process),
          .timeout_s = config.timeout_s,
          .repeat = RepeatOf(config),
          .sticky_actions = StickyChance(config),
          .while_waiting = while_waiting};
}

FrameSpec TryWorker(const WorkerProgram& program, double timeout_s, const std::string& advice) {
  const std::vector<std::uint64_t> seeds = {0};
  Worker worker(program, seeds);
  std::optional<WorkerError> error = worker.Join(FirstEpisodeLimitS(timeout_s));
  if (!error) {
    worker.Play(std::vector(worker.spec().env.actions.width(), FrameEnvs::kReset));
    error = worker.Take(timeout_s);
  }
  if (!error) return worker.spec();
  constexpr const char* kOptions = "env.options";
  const bool of_options = error->text.find(kOptions) != std::string::npos;
  if (error->mistake) throw UserError(error->text, of_options ? kOptions : "");
  throw UserError(fmt::format("{}: {}, tried before anything starts, {}; {}", program.name,
                              program.argv[0], WithLastWords(*error), advice));
}

WorkerEnvs::WorkerEnvs(WorkerProgram program, int num_envs, const EnvSeed& seed,
                       const WorkerOptions& options)
    : FrameEnvs(options.repeat),
      program_(std::move(program)),
      options_(options),
      first_(static_cast<int>(seed.first)) {
  CHECK(num_envs > 0 && options.per_process > 0, "{} envs", num_envs);
  // 1. Divide the envs among processes.
  for (int i = 0; i < num_envs; ++i) {
    envs_.push_back({.seeds = RandomStream(seed.Stream(envs_.size(), Purpose::kEnv))});
  }
  for (int first = 0; first < num_envs; first += options.per_process) {
    slots_.push_back({.first = first, .count = std::min(options.per_process, num_envs - first)});
  }
  // 2. Start them. The first one determines the spec.
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  try {
    Start(all);
  } catch (...) {
    CloseAll();
    throw;
  }
  sticky_ = StickyActions(num_envs, seed, options.sticky_actions, spec_.env.actions);
  commands_.assign(envs_.size() * RowWords(), kSkip);
  bytes_ = {envs_.size(), spec_.bytes ? spec_.env.row() : 0, repeat().keep_before};
  floats_ = {envs_.size(), spec_.bytes ? 0 : spec_.env.row(), repeat().keep_before};
}

WorkerEnvs::~WorkerEnvs() { CloseAll(); }

// All together; their destructors wait.
void WorkerEnvs::CloseAll() {
  for (const Slot& slot : slots_) {
    if (slot.worker) slot.worker->Close();
  }
}

// Starts a process for each of `slots`, a few at the same time.
void WorkerEnvs::Start(std::span<Slot* const> slots) {
  std::deque<Slot*> waiting(slots.begin(), slots.end());
  while (!waiting.empty()) {
    std::vector<Slot*> starting;
    while (!waiting.empty() && starting.size() < kStartAtOnce) {
      starting.push_back(waiting.front());
      waiting.pop_front();
    }
    for (Slot* slot : starting) {
      std::vector<std::uint64_t> seeds;
      for (int i = slot->first; i < slot->first + slot->count; ++i) {
        seeds.push_back(WorkerSeed(envs_[i].seeds));
      }
      slot->worker = std::make_unique<Worker>(program_, seeds, repeat(), options_.while_waiting);
      slot->fresh = true;
    }
    std::ranges::copy_if(starting, std::back_inserter(waiting),
                         [this](Slot* slot) { return !Join(*slot); });
  }
}

// Waits until `slot` can play. Returns false if it failed.
bool WorkerEnvs::Join(Slot& slot) {
  if (auto error =
          slot.worker->Join(FirstEpisodeLimitS(options_.timeout_s, options_.start_timeout_s))) {
    Fail(slot, *error);
    return false;
  }
  const FrameSpec& spec = slot.worker->spec();
  if (spec_.env.name.empty()) spec_ = spec;
  if (!SameSpec(spec, spec_)) {
    Fail(slot, {.text = "has other spaces than its predecessor"});
    return false;
  }
  return true;
}

std::string WorkerEnvs::NameOf(const Slot& slot) const {
  const int first = first_ + slot.first;
  return fmt::format("{}: the process of envs {} to {}", program_.name, first,
                     first + slot.count - 1);
}

void WorkerEnvs::Fail(Slot& slot, const WorkerError& error) {
  slot.worker.reset();
  ++slot.failures;
  ++replaced_;
  if (error.mistake) throw UserError(error.text);
  const std::string why = fmt::format("{} {}", NameOf(slot), WithLastWords(error));
  if (slot.failures >= kMaxFailures) {
    throw UserError(fmt::format("{}; it has failed {} times in a row: the env cannot be played",
                                why, kMaxFailures));
  }
  log_.Warn(NowMs(), why + "; it is replaced");
}

void WorkerEnvs::Play(std::span<const std::int32_t> commands, int frames) {
  CHECK(playing_.empty(), "AdvanceAsync twice, without AdvanceWait");
  const auto width = static_cast<std::size_t>(spec_.env.actions.width());
  for (int i = 0; i < size(); ++i) Ask(i, commands.subspan(i * width, width), frames);
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  Begin(all);
}

void WorkerEnvs::Take() {
  std::vector<Slot*> failed = Finish();
  for (const Slot* slot : failed) Cut(*slot);
  while (!failed.empty()) {  // only their resets are left to do
    Start(failed);
    Begin(failed);
    failed = Finish();
  }
}

// Writes the row of commands for env `i`, of which the caller requests `asked`.
void WorkerEnvs::Ask(int i, std::span<const std::int32_t> asked, int frames) {
  EnvState& env = envs_[i];
  const auto row = RowsOf(i);
  std::ranges::fill(row, kSkip);
  if (asked[0] == kSkip) return;
  if (asked[0] == kReset) {
    env.running = true;
    env.lost = false;
    row[0] = kReset;
    return;
  }
  CheckActions(spec_.env.actions, asked, i);
  CHECK(env.running, "an action of env {}, which is over", i);
  if (env.lost) {
    CutOne(env);
    return;
  }
  sticky_.Draw(i, asked, row.first(frames * asked.size()));
}

// Lets all `slots` play their commands, at the same time.
void WorkerEnvs::Begin(std::span<Slot* const> slots) {
  for (Slot* slot : slots) {
    const auto commands = RowsOf(slot->first, slot->count);
    if (std::ranges::all_of(commands, [](std::int32_t c) { return c == kSkip; })) continue;
    slot->worker->Play(commands);
    playing_.push_back(slot);
  }
}

// Waits for those that play. Returns those that failed.
std::vector<WorkerEnvs::Slot*> WorkerEnvs::Finish() {
  const SteadyClock clock;
  std::vector<Slot*> failed;
  for (Slot* slot : std::exchange(playing_, {})) {
    const std::int64_t begin = clock.NowNs();
    const auto error = slot->worker->Take(LimitS(*slot));
    waited_ns_ += clock.NowNs() - begin;
    if (error) {
      Fail(*slot, *error);
      failed.push_back(slot);
    } else {
      Keep(*slot);
    }
  }
  return failed;
}

// The time limit of the next turn.
double WorkerEnvs::LimitS(Slot& slot) const {
  return std::exchange(slot.fresh, false)
             ? FirstEpisodeLimitS(options_.timeout_s, options_.start_timeout_s)
             : options_.timeout_s;
}

void WorkerEnvs::Fields(StateBytes& state) {
  state.Tag("wrks");
  state.Same(envs_.size(), "envs");
  state.Same(slots_.size(), "env processes");
  sticky_.Fields(state);
  for (EnvState& env : envs_) {
    state(env.seeds);
    state(env.result);
    state(env.running);
    state(env.lost);
  }
  for (Slot& slot : slots_) Exchange(state, slot);
}

// The part of the state that is in a process.
void WorkerEnvs::Exchange(StateBytes& state, Slot& slot) {
  // 1. Let the process save it, or restore it.
  std::vector<std::byte> bytes;
  std::optional<WorkerError> error;
  if (!state.reading()) error = slot.worker->Save(bytes, LimitS(slot));
  if (!error) state.Bytes(bytes);
  if (!error && state.reading()) error = slot.worker->Restore(bytes, LimitS(slot));
  // 2. A process that fails is replaced; its envs end at the next Advance.
  if (error) {
    const std::string why =
        fmt::format("{} {}, instead of {} its state", NameOf(slot), WithLastWords(*error),
                    state.reading() ? "restoring" : "saving");
    Fail(slot, *error);
    std::ranges::fill(RowsOf(slot.first, slot.count), kSkip);
    Cut(slot);
    Slot* const failed[] = {&slot};
    Start(failed);
    throw StateError(why);
  }
  if (!state.reading()) return;
  // 3. Keep the frames that it restored.
  for (int k = 0; k < slot.count; ++k) {
    std::ranges::copy(slot.worker->bytes(k), bytes_.Next(slot.first + k).begin());
    std::ranges::copy(slot.worker->floats(k), floats_.Next(slot.first + k).begin());
  }
}

// Copies all new results and frames, so that they stay valid even if the worker dies.
void WorkerEnvs::Keep(Slot& slot) {
  const Worker& worker = *slot.worker;
  for (int k = 0; k < slot.count; ++k) {
    const int i = slot.first + k;
    EnvState& env = envs_[i];
    const std::int32_t command = RowsOf(i)[0];
    if (command == kSkip) continue;
    env.result = worker.result(k);
    if (command != kReset) {
      slot.failures = 0;
      // The worker could still write to the memory that Take has checked.
      const int played = std::clamp(env.result.played, 0, repeat().frames);
      sticky_.Played(i, RowsOf(i).first(played * spec_.env.actions.width()));
    }
    env.running = env.result.end == End::kRunning;
    if (repeat().keep_before) {
      std::ranges::copy(worker.bytes_before(k), bytes_.Next(i).begin());
      std::ranges::copy(worker.floats_before(k), floats_.Next(i).begin());
    }
    std::ranges::copy(worker.bytes(k), bytes_.Next(i).begin());
    std::ranges::copy(worker.floats(k), floats_.Next(i).begin());
  }
}

// Ends the episodes of a process that is gone, also those of skipped envs. A reset is kept for the
// next process.
void WorkerEnvs::Cut(const Slot& slot) {
  for (int i = slot.first; i < slot.first + slot.count; ++i) {
    EnvState& env = envs_[i];
    const auto row = RowsOf(i);
    if (row[0] == kReset) continue;
    if (row[0] == kSkip) {
      env.lost = env.running;
    } else {
      CutOne(env);
      std::ranges::fill(row, kSkip);
    }
  }
}

void WorkerEnvs::CutOne(EnvState& env) {
  env.result.reward = 0;
  env.result.end = End::kCut;
  env.running = env.lost = false;
}

// The rows of `commands_` of envs [first, first + count).
std::span<std::int32_t> WorkerEnvs::RowsOf(int first, int count) {
  return std::span(commands_).subspan(first * RowWords(), count * RowWords());
}

std::size_t WorkerEnvs::RowWords() const {
  return static_cast<std::size_t>(repeat().frames) * spec_.env.actions.width();
}

}  // namespace starling::envs
