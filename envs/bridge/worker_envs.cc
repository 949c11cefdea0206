#include "envs/bridge/worker_envs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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

WorkerEnvs::WorkerEnvs(WorkerProgram program, int num_envs, const EnvSeed& seed,
                       const WorkerOptions& options)
    : program_(std::move(program)),
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
  commands_.assign(size, kSkip);
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  Start(all);
  const std::size_t numbers = size * static_cast<std::size_t>(spec_.env.obs_size());
  (spec_.bytes ? bytes_.resize(numbers) : floats_.resize(numbers));
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
      slot->worker = std::make_unique<Worker>(program_, seeds, options_.while_waiting);
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
  if (trouble.mistake) throw UserError(fmt::format("{}: {}", name, trouble.what));
  const std::string why = fmt::format("{}: the process of envs {} to {} {}", name, slot.first,
                                      slot.first + slot.count - 1, WithLastWords(trouble));
  if (slot.failures >= kMostFailures) {
    throw UserError(fmt::format("{}; it has failed {} times in a row: the env cannot be played",
                                why, kMostFailures));
  }
  log_.Warn(NowMs(), why + "; it is replaced");
}

void WorkerEnvs::Advance(std::span<const std::int32_t> commands) {
  CHECK(commands.size() == envs_.size(), "{} commands", commands.size());
  for (std::size_t i = 0; i < envs_.size(); ++i) commands_[i] = CommandOf(i, commands[i]);
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  std::vector<Slot*> failed = PlayAll(all);
  for (const Slot* slot : failed) Cut(*slot);
  while (!failed.empty()) {  // what is left to do for them: resets
    Start(failed);
    failed = PlayAll(failed);
  }
}

// What the process of env `i` is told when its caller asks for `asked`.
std::int32_t WorkerEnvs::CommandOf(std::size_t i, std::int32_t asked) {
  One& env = envs_[i];
  if (asked == kSkip) return kSkip;
  if (asked == kReset) {
    env.running = true;
    env.lost = false;
    return kReset;
  }
  CHECK(asked >= 0 && asked < spec_.env.num_actions && env.running, "command {} of env {}", asked,
        i);
  if (env.lost) {
    CutOne(env);
    return kSkip;
  }
  if (options_.sticky_actions <= 0) return asked;
  return sticky_.Play(static_cast<int>(i), asked);
}

// Returns those that failed.
std::vector<WorkerEnvs::Slot*> WorkerEnvs::PlayAll(std::span<Slot* const> slots) {
  std::vector<Slot*> playing, failed;
  for (Slot* slot : slots) {
    const auto commands = CommandsOf(*slot);
    if (std::ranges::all_of(commands, [](std::int32_t c) { return c == kSkip; })) continue;
    slot->worker->Play(commands);
    playing.push_back(slot);
  }
  for (Slot* slot : playing) {
    if (auto trouble = slot->worker->Take(options_.timeout_s)) {
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
  const auto row = static_cast<std::size_t>(spec_.env.obs_size());
  for (std::size_t i = slot.first; i < slot.first + slot.count; ++i) {
    if (commands_[i] == kSkip) continue;
    if (commands_[i] >= 0) slot.failures = 0;
    const int k = static_cast<int>(i - slot.first);
    envs_[i].result = slot.worker->result(k);
    envs_[i].running = envs_[i].result.end == End::kRunning;
    std::ranges::copy(slot.worker->bytes(k), bytes_.data() + (spec_.bytes ? i * row : 0));
    std::ranges::copy(slot.worker->floats(k), floats_.data() + (spec_.bytes ? 0 : i * row));
  }
}

// The process of `slot` is gone: the episodes it played are over, skipped ones too; those that this
// Advance was to begin shall begin in the next process.
void WorkerEnvs::Cut(const Slot& slot) {
  for (std::size_t i = slot.first; i < slot.first + slot.count; ++i) {
    if (commands_[i] == kSkip) envs_[i].lost = envs_[i].running;
    if (commands_[i] >= 0) {
      CutOne(envs_[i]);
      commands_[i] = kSkip;
    }
  }
}

void WorkerEnvs::CutOne(One& env) {
  env.result.reward = 0;
  env.result.end = End::kCut;
  env.running = env.lost = false;
}

std::span<const std::int32_t> WorkerEnvs::CommandsOf(const Slot& slot) const {
  return std::span(commands_).subspan(slot.first, slot.count);
}

const FrameResult& WorkerEnvs::result(int env) const {
  return envs_[static_cast<std::size_t>(env)].result;
}

std::span<const std::uint8_t> WorkerEnvs::bytes(int env) const {
  const auto row = static_cast<std::size_t>(spec_.env.obs_size());
  if (!spec_.bytes) return {};
  return std::span(bytes_).subspan(static_cast<std::size_t>(env) * row, row);
}

std::span<const float> WorkerEnvs::floats(int env) const {
  const auto row = static_cast<std::size_t>(spec_.env.obs_size());
  if (spec_.bytes) return {};
  return std::span(floats_).subspan(static_cast<std::size_t>(env) * row, row);
}

}  // namespace starling::envs
