#include "learner/apply/hogwild.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/clock.h"
#include "core/denormals.h"

namespace starling::learner {
namespace {

// Returns whether any bit of two lines differs. The loop becomes a few vector instructions; memcmp
// would be a call.
bool Differs(const float* a, const float* b) {
  std::uint32_t bits = 0;
#pragma GCC unroll 1
  for (std::size_t i = 0; i < SharedFloats::kLineFloats; ++i) {
    bits |= std::bit_cast<std::uint32_t>(a[i]) ^ std::bit_cast<std::uint32_t>(b[i]);
  }
  return bits != 0;
}

// A block of the shared floats as one thread read it (`before`) and as it changed it (`now`).
struct Block {
  alignas(kCacheLine) std::array<float, kApplyBlock> before, now;

  std::span<float> LoadFrom(const SharedFloats& shared, std::size_t offset, std::size_t n) {
    shared.Load(offset, std::span(before).first(n));
    std::copy_n(before.begin(), n, now.begin());
    return std::span(now).first(n);
  }
  void StoreTo(SharedFloats& shared, std::size_t offset, std::size_t n) const {
    shared.StoreChanged(offset, std::span(before).first(n), std::span(now).first(n));
  }
};

}  // namespace

// ---- SharedFloats

SharedFloats::SharedFloats(std::size_t size) : lines_(size / kLineFloats) {
  CHECK(size % kLineFloats == 0, "{} floats", size);
}

void SharedFloats::CheckRange(std::size_t offset, std::size_t n) const {
  CHECK(
      offset % kLineFloats == 0 && n % kLineFloats == 0 && offset <= size() && n <= size() - offset,
      "{} floats at {} of {}", n, offset, size());
}

void SharedFloats::Load(std::size_t offset, std::span<float> to) const {
  CheckRange(offset, to.size());
  const Line* line = &lines_[offset / kLineFloats];
  for (std::size_t i = 0; i < to.size(); i += kLineFloats, ++line) {
#pragma GCC unroll 8
    for (std::size_t w = 0; w < line->words.size(); ++w) {
      const std::uint64_t word = line->words[w].load(std::memory_order_relaxed);
      std::memcpy(&to[i + 2 * w], &word, sizeof word);
    }
  }
}

void SharedFloats::StoreLine(Line& line, const float* from) {
#pragma GCC unroll 8
  for (std::size_t w = 0; w < line.words.size(); ++w) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + 2 * w, sizeof word);
    line.words[w].store(word, std::memory_order_relaxed);
  }
}

void SharedFloats::StoreChanged(std::size_t offset, std::span<const float> before,
                                std::span<const float> now) {
  CheckRange(offset, now.size());
  CHECK(before.size() == now.size(), "{} floats before, {} now", before.size(), now.size());
  Line* line = &lines_[offset / kLineFloats];
  for (std::size_t i = 0; i < now.size(); i += kLineFloats, ++line) {
    if (Differs(&before[i], &now[i])) StoreLine(*line, &now[i]);
  }
}

void SharedFloats::Store(std::size_t offset, std::span<const float> from) {
  CheckRange(offset, from.size());
  Line* line = &lines_[offset / kLineFloats];
  for (std::size_t i = 0; i < from.size(); i += kLineFloats, ++line) StoreLine(*line, &from[i]);
}

// ---- Hogwild

Hogwild::Hogwild(const ApplierSpec& spec, std::span<const float> weights,
                 std::span<const std::vector<float>> state, wire::SnapshotWriter& snapshot,
                 const wire::SnapshotMeta& initial, std::function<void()> on_progress)
    : spec_(spec),
      snapshot_(snapshot),
      on_progress_(std::move(on_progress)),
      weights_(spec.size),
      places_(static_cast<std::size_t>(std::max(spec.threads, 0)) + 1),
      submitted_(initial.version),
      taken_(initial.version),
      completed_(initial.version),
      workers_(static_cast<std::size_t>(std::max(spec.threads, 0))) {
  const std::size_t slots = spec.optimizer.slots.size();
  CHECK(spec.threads >= 1, "{} threads", spec.threads);
  CHECK(weights.size() == spec.size, "{} weights for {}", weights.size(), spec.size);
  CHECK(state.empty() || state.size() == slots, "{} slots", state.size());
  CHECK(snapshot.floats() == spec.size, "snapshot of {} floats", snapshot.floats());

  // 1. Copy weights and optimizer state.
  weights_.Store(0, weights);
  for (std::size_t s = 0; s < slots; ++s) {
    SharedFloats& slot = state_.emplace_back(spec.size);
    if (state.empty()) continue;
    CHECK(state[s].size() == spec.size, "slot of {} floats", state[s].size());
    slot.Store(0, state[s]);
  }
  // 2. Publish the initial version.
  snapshot_.Begin(initial.version);
  snapshot_.Write(initial.version, 0, weights);
  snapshot_.Publish(initial);
  // 3. The threads start last: they use every member.
  for (Worker& worker : workers_) worker.thread = std::thread([this, &worker] { Run(worker); });
}

Hogwild::~Hogwild() {
  stop_.store(true, std::memory_order_release);  // partner: the acquire load in Run
  for (std::size_t i = 0; i < workers_.size(); ++i) parker_.Wake();  // each wakes one
  for (Worker& worker : workers_) worker.thread.join();
}

bool Hogwild::Submit(Update* update) {
  const std::uint64_t submitted = Submitted();
  if (submitted - Completed() >= capacity()) return false;
  Admit(spec_, *update, submitted);
  // The last user of the place is done with it: Completed() is an acquire load.
  PlaceOf(update->version).update = update;
  submitted_.store(update->version, std::memory_order_release);  // partner: the load in Take
  parker_.Wake();
  return true;
}

StateCopy Hogwild::CaptureInto(StateCopy memory) const {
  CHECK(Idle(), "version {} of {}", Completed(), Submitted());
  memory.weights.resize(spec_.size);
  memory.state.resize(state_.size());
  for (auto& slot : memory.state) slot.resize(spec_.size);
  ReadInto(memory);
  return memory;
}

std::int64_t Hogwild::BusyNs() const {
  std::int64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.busy_ns.load(std::memory_order_relaxed);
  return sum / threads();
}

void Hogwild::Run(Worker& worker) {
  FlushDenormals();
  const SteadyClock clock;
  for (;;) {
    const std::uint32_t ticket = parker_.Ticket();
    // Partner: the release store in the destructor. Read before Take: a thread that sees `stop`
    // sees every update submitted before it.
    const bool stop = stop_.load(std::memory_order_acquire);
    if (const Update* const update = Take()) {
      const std::int64_t begin = clock.NowNs();
      const std::uint64_t version = update->version;
      Apply(*update);
      Finish(version);  // the update may be destroyed from here on
      worker.busy_ns.store(worker.busy_ns.load(std::memory_order_relaxed) + clock.NowNs() - begin,
                           std::memory_order_relaxed);
    } else if (stop) {
      return;
    } else {
      parker_.Park(ticket);
    }
  }
}

// Returns the next submitted update that no thread has taken, or nullptr.
Update* Hogwild::Take() {
  std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  // Partner: the release store in Submit, which makes the place's content visible. taken_ itself
  // orders nothing: relaxed.
  while (taken < submitted_.load(std::memory_order_acquire)) {
    if (taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed)) {
      return PlaceOf(taken + 1).update;
    }
  }
  return nullptr;
}

void Hogwild::Apply(const Update& update) {
  // Block by block: sum the gradients, load, compute in the copies, store the lines that changed.
  const StepSize step =
      MakeStepSize(spec_.optimizer, update.lr, update.scale, update.optimizer_step);
  const float factor = MeanFactor(update);
  Block weights;
  std::array<Block, kMaxSlots> slots;
  alignas(kCacheLine) std::array<float, kApplyBlock> sum;
  for (std::size_t offset = 0; offset < spec_.size; offset += kApplyBlock) {
    const std::size_t n = std::min(kApplyBlock, spec_.size - offset);
    const float* gradient = MeanGradient(update, factor, nullptr, offset, n, sum.data());
    std::array<std::span<float>, kMaxSlots> state;
    for (std::size_t s = 0; s < state_.size(); ++s) {
      state.at(s) = slots.at(s).LoadFrom(state_[s], offset, n);
    }
    ApplyTo(spec_, update, step, offset, gradient, weights.LoadFrom(weights_, offset, n),
            std::span(state).first(state_.size()));
    for (std::size_t s = 0; s < state_.size(); ++s) slots.at(s).StoreTo(state_[s], offset, n);
    weights.StoreTo(weights_, offset, n);
  }
}

// The thread that raises the counter from zero holds publication. It releases when the counter is
// zero again: then it has checked after every counted update. The acquire-release chain of the
// counter passes the holder's writes to the next holder.
void Hogwild::Finish(std::uint64_t version) {
  // Partner: the acquire load in PublishAllDone, which then sees every write of this update.
  PlaceOf(version).done.store(version, std::memory_order_release);
  if (unseen_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  for (std::uint64_t seen = 1; seen > 0;) {
    PublishAllDone();
    seen = unseen_.fetch_sub(seen, std::memory_order_acq_rel) - seen;
  }
}

// Called by the holder only. A step never exceeds kSnapshotSlots - 1 versions: the new version then
// uses another snapshot slot than the newest published one, which stays intact for its readers.
void Hogwild::PublishAllDone() {
  for (;;) {
    const std::uint64_t before = completed_.load(std::memory_order_relaxed);  // written by us only
    std::uint64_t version = before;
    while (version < before + wire::kSnapshotSlots - 1 &&
           PlaceOf(version + 1).done.load(std::memory_order_acquire) == version + 1) {
      ++version;
      Update& update = *PlaceOf(version).update;
      if (update.capture) ReadInto(CaptureOf(update, spec_.size, state_.size()));
    }
    if (version == before) return;
    Publish(version);
  }
}

void Hogwild::Publish(std::uint64_t version) {
  alignas(kCacheLine) std::array<float, kApplyBlock> room;
  snapshot_.Begin(version);
  for (std::size_t offset = 0; offset < spec_.size; offset += kApplyBlock) {
    const std::span<float> block =
        std::span(room).first(std::min(kApplyBlock, spec_.size - offset));
    weights_.Load(offset, block);
    snapshot_.Write(version, offset, block);
  }
  snapshot_.Publish(PlaceOf(version).update->meta);
  completed_.store(version, std::memory_order_release);  // partner: the acquire load in Completed
  if (on_progress_) on_progress_();
}

void Hogwild::ReadInto(StateCopy& capture) const {
  weights_.Load(0, capture.weights);
  for (std::size_t s = 0; s < state_.size(); ++s) state_[s].Load(0, capture.state[s]);
}

}  // namespace starling::learner
