#include "envs/bridge/worker_envs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/worker_spec.h"

namespace starling::envs {
namespace {

constexpr int kMostFailures = 3;  // with nothing played in between

std::int64_t NowMs() {
  using std::chrono::steady_clock;
  return std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now().time_since_epoch())
      .count();
}

std::string WithLastWords(const Trouble& trouble) {
  if (trouble.last_words.empty()) return trouble.what;
  return fmt::format("{}, its last words \"{}\"", trouble.what, trouble.last_words);
}

}  // namespace

std::uint64_t WorkerSeed(RandomStream& stream) {
  const std::uint64_t high = stream.Bits() >> 1;
  return high << 32 | stream.Bits();
}

FrameSpec TryWorker(const WorkerProgram& program, double timeout_s, const std::string& advice) {
  const std::vector<std::uint64_t> seeds = {0};
  const std::vector<std::int32_t> reset = {FrameEnvs::kReset};
  Worker worker(program, seeds);
  std::optional<Trouble> trouble = worker.Join(WorkerOptions().start_timeout_s);
  if (!trouble) {
    worker.Play(reset);
    trouble = worker.Take(timeout_s);
  }
  if (!trouble) return worker.spec();
  if (trouble->mistake) throw UserError(trouble->what);
  throw UserError(fmt::format("{}: {}, tried before anything starts, {}; {}", program.name,
                              program.argv[0], WithLastWords(*trouble), advice));
}

WorkerEnvs::WorkerEnvs(WorkerProgram program, int num_envs, const EnvSeed& seed,
                       const WorkerOptions& options)
    : FrameEnvs(options.repeat),
      program_(std::move(program)),
      options_(options),
      sticky_(num_envs, seed, options.sticky_actions) {
  CHECK(num_envs > 0 && options.per_process > 0, "{} envs", num_envs);
  const auto size = static_cast<std::size_t>(num_envs);
  for (std::uint32_t i = 0; i < size; ++i) {
    const StreamId id{seed.seed, seed.slot, seed.incarnation, i, Purpose::kEnv};
    envs_.push_back({.seeds = RandomStream(id), .result = {}, .running = false, .lost = false});
  }
  const auto most = static_cast<std::size_t>(options.per_process);
  for (std::size_t first = 0; first < size; first += most) {
    slots_.emplace_back();
    slots_.back().first = first;
    slots_.back().count = std::min(most, size - first);
  }
  commands_.assign(size * static_cast<std::size_t>(repeat().frames), kSkip);
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  Start(all);
  const auto row = static_cast<std::size_t>(spec_.env.obs_size());
  bytes_ = {size, spec_.bytes ? row : 0, repeat().keep_before};
  floats_ = {size, spec_.bytes ? 0 : row, repeat().keep_before};
}

WorkerEnvs::~WorkerEnvs() {
  for (const Slot& slot : slots_) {
    if (slot.worker) slot.worker->Close();  // all at once; their destructors wait
  }
}

// Gives a process to each of `slots`, all starting at the same time.
void WorkerEnvs::Start(std::span<Slot* const> slots) {
  std::vector<Slot*> waiting(slots.begin(), slots.end());
  while (!waiting.empty()) {
    for (Slot* slot : waiting) {
      std::vector<std::uint64_t> seeds;
      for (std::size_t i = 0; i < slot->count; ++i) {
        seeds.push_back(WorkerSeed(envs_[slot->first + i].seeds));
      }
      slot->worker = std::make_unique<Worker>(program_, seeds, repeat(), options_.while_waiting);
      slot->fresh = true;
    }
    std::erase_if(waiting, [this](Slot* slot) { return Join(*slot); });
  }
}

// Whether `slot` can play now.
bool WorkerEnvs::Join(Slot& slot) {
  if (auto trouble = slot.worker->Join(options_.start_timeout_s)) {
    Fail(slot, *trouble);
    return false;
  }
  const FrameSpec& spec = slot.worker->spec();
  if (spec_.env.name.empty()) spec_ = spec;
  if (!SameSpec(spec, spec_)) {
    Fail(slot, {.what = "has other spaces than the one before"});
    return false;
  }
  return true;
}

void WorkerEnvs::Fail(Slot& slot, const Trouble& trouble) {
  slot.worker.reset();
  ++slot.failures;
  ++replaced_;
  const std::string& name = program_.name;
  if (trouble.mistake) throw UserError(trouble.what);
  const std::string why = fmt::format("{}: the process of envs {} to {} {}", name, slot.first,
                                      slot.first + slot.count - 1, WithLastWords(trouble));
  if (slot.failures >= kMostFailures) {
    throw UserError(fmt::format("{}; it has failed {} times in a row: the env cannot be played",
                                why, kMostFailures));
  }
  log_.Warn(NowMs(), why + "; it is replaced");
}

void WorkerEnvs::Play(std::span<const std::int32_t> commands, int frames) {
  for (std::size_t i = 0; i < envs_.size(); ++i) Ask(i, commands[i], frames);
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  std::vector<Slot*> failed = PlayAll(all);
  for (const Slot* slot : failed) Cut(*slot);
  while (!failed.empty()) {  // what is left to do for them: resets
    Start(failed);
    failed = PlayAll(failed);
  }
}

// Writes what the process of env `i` is told when its caller asks for `asked`.
void WorkerEnvs::Ask(std::size_t i, std::int32_t asked, int frames) {
  One& env = envs_[i];
  const auto row = RowsOf(i, 1);
  std::ranges::fill(row, kSkip);
  if (asked == kSkip) return;
  if (asked == kReset) {
    env.running = true;
    env.lost = false;
    row[0] = kReset;
    return;
  }
  CHECK(asked >= 0 && asked < spec_.env.num_actions && env.running, "command {} of env {}", asked,
        i);
  if (env.lost) {
    CutOne(env);
    return;
  }
  sticky_.Play(static_cast<int>(i), asked, row.first(static_cast<std::size_t>(frames)));
}

// Returns those that failed.
std::vector<WorkerEnvs::Slot*> WorkerEnvs::PlayAll(std::span<Slot* const> slots) {
  std::vector<Slot*> playing, failed;
  for (Slot* slot : slots) {
    const auto commands = RowsOf(slot->first, slot->count);
    if (std::ranges::all_of(commands, [](std::int32_t c) { return c == kSkip; })) continue;
    slot->worker->Play(commands);
    playing.push_back(slot);
  }
  for (Slot* slot : playing) {
    const double limit_s = std::exchange(slot->fresh, false)
                               ? FirstEpisodeLimitS(options_.timeout_s, options_.start_timeout_s)
                               : options_.timeout_s;
    if (auto trouble = slot->worker->Take(limit_s)) {
      Fail(*slot, *trouble);
      failed.push_back(slot);
    } else {
      Keep(*slot);
    }
  }
  return failed;
}

// Copies what is new: a frame is the caller's until the next Advance, whatever its worker does.
void WorkerEnvs::Keep(Slot& slot) {
  const Worker& worker = *slot.worker;
  for (int k = 0; k < static_cast<int>(slot.count); ++k) {
    const int i = static_cast<int>(slot.first) + k;
    One& env = envs_[static_cast<std::size_t>(i)];
    const std::int32_t command = RowsOf(static_cast<std::size_t>(i), 1)[0];
    if (command == kSkip) continue;
    if (command >= 0) slot.failures = 0;
    env.result = worker.result(k);
    env.running = env.result.end == End::kRunning;
    if (repeat().keep_before) {
      std::ranges::copy(worker.bytes_before(k), bytes_.Next(i).begin());
      std::ranges::copy(worker.floats_before(k), floats_.Next(i).begin());
    }
    std::ranges::copy(worker.bytes(k), bytes_.Next(i).begin());
    std::ranges::copy(worker.floats(k), floats_.Next(i).begin());
  }
}

// The process of `slot` is gone: the episodes it played are over, skipped ones too; those that this
// Advance was to begin shall begin in the next process.
void WorkerEnvs::Cut(const Slot& slot) {
  for (std::size_t i = slot.first; i < slot.first + slot.count; ++i) {
    const auto row = RowsOf(i, 1);
    if (row[0] == kSkip) envs_[i].lost = envs_[i].running;
    if (row[0] >= 0) {
      CutOne(envs_[i]);
      std::ranges::fill(row, kSkip);
    }
  }
}

void WorkerEnvs::CutOne(One& env) {
  env.result.reward = 0;
  env.result.end = End::kCut;
  env.running = env.lost = false;
}

// The rows of `commands_` of envs [first, first + count).
std::span<std::int32_t> WorkerEnvs::RowsOf(std::size_t first, std::size_t count) {
  const auto frames = static_cast<std::size_t>(repeat().frames);
  return std::span(commands_).subspan(first * frames, count * frames);
}

}  // namespace starling::envs
