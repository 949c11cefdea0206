#include "learner/apply/lanes.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/clock.h"
#include "core/denormals.h"

namespace starling::learner {
namespace {

constexpr std::align_val_t kAlignment{kCacheLine};

}  // namespace

// One thread with its slice [begin, begin + size) and its queue of updates. The ring has room for
// every update that may be unfinished and for a part of the next, so a push never fails.
struct Lanes::Lane {
  std::size_t begin = 0, size = 0;  // floats, multiples of 16
  SpscRing<Update*, std::bit_ceil(kMaxUpdatesInLanes + 1)> ring;
  Parker parker;
  alignas(kCacheLine) std::array<float, kApplyBlock> sum;
  std::atomic<std::int64_t> busy_ns{0};  // written by this lane only; a statistic, so relaxed
  std::thread thread;
};

// Mends the gradients of one update in a lane: weights before it are past_ and weights_.
class Lanes::Mender final : public GradientMender {
 public:
  Mender(const Lanes& lanes, const Update& update)
      : lanes_(lanes), before_(update.version - 1), unbias_(UnbiasSquares(update.optimizer_step)) {}

  const float* Mend(const GradientRef& gradient, std::size_t offset, std::size_t n) override {
    const CorrectionSpec& spec = lanes_.spec_.optimizer.correction;
    const std::size_t trained = std::clamp(lanes_.spec_.trained, offset, offset + n) - offset;
    const bool squares = !spec.squares().empty();
    const std::span<const float> values = gradient.values.subspan(offset, n);
    const float* const base = lanes_.Past(before_ - gradient.staleness, offset);
    learner::Mend(
        spec,
        {.now = {lanes_.weights_.get() + offset, trained},
         .base = {base, trained},
         .squares = squares ? std::span<const float>(lanes_.state_.back().get() + offset, trained)
                            : std::span<const float>(),
         .unbias = unbias_},
        values.first(trained), std::span(mended_).first(trained));
    std::ranges::copy(values.subspan(trained),
                      mended_.begin() + static_cast<std::ptrdiff_t>(trained));
    return mended_.data();
  }

 private:
  const Lanes& lanes_;
  const std::uint64_t before_;
  const float unbias_;
  alignas(kCacheLine) std::array<float, kApplyBlock> mended_;
};

void Lanes::FreeAligned::operator()(float* floats) const { ::operator delete(floats, kAlignment); }

Lanes::AlignedFloats Lanes::MakeAligned(std::size_t size) {
  return AlignedFloats(static_cast<float*>(::operator new(size * sizeof(float), kAlignment)));
}

Lanes::Lanes(const ApplierSpec& spec, std::span<const float> weights,
             std::span<const std::vector<float>> state, wire::SnapshotWriter& snapshot,
             const wire::SnapshotMeta& initial, std::function<void()> on_progress)
    : spec_(spec),
      snapshot_(snapshot),
      on_progress_(std::move(on_progress)),
      weights_(MakeAligned(spec.size)),
      first_version_(initial.version),
      submitted_(initial.version),
      completed_(initial.version) {
  const std::size_t slots = spec.optimizer.slots.size();
  CHECK(spec.threads >= 1, "{} lanes", spec.threads);
  CHECK(spec.size % kGroup == 0 && weights.size() == spec.size, "{} weights for lanes of {}",
        weights.size(), spec.size);
  CHECK(state.empty() || state.size() == slots, "{} slots", state.size());
  CHECK(snapshot.floats() == spec.size, "snapshot of {} floats", snapshot.floats());

  // 1. Copy weights and optimizer state.
  std::ranges::copy(weights, weights_.get());
  for (std::size_t slot = 0; slot < slots; ++slot) {
    state_.push_back(MakeAligned(spec.size));
    std::fill_n(state_[slot].get(), spec.size, 0.0f);
    if (state.empty()) continue;
    CHECK(state[slot].size() == spec.size, "slot of {} floats", state[slot].size());
    std::ranges::copy(state[slot], state_[slot].get());
  }
  const CorrectionSpec& correction = spec.optimizer.correction;
  CHECK(correction.versions <= SIZE_MAX / sizeof(float) / spec.size, "{} versions of {} weights",
        correction.versions, spec.size);
  if (correction.mends()) past_ = MakeAligned(correction.versions * spec.size);
  // 2. Publish the initial version.
  snapshot_.Begin(initial.version);
  snapshot_.Write(initial.version, 0, {weights_.get(), spec.size});
  snapshot_.Publish(initial);

  // 3. Cut into lanes that differ by at most one group. The threads start last: they read lanes_.
  const std::size_t groups = spec.size / kGroup;
  const auto count = static_cast<std::size_t>(spec.threads);
  for (std::size_t i = 0; i < count; ++i) {
    auto lane = std::make_unique<Lane>();
    lane->begin = groups * i / count * kGroup;
    lane->size = groups * (i + 1) / count * kGroup - lane->begin;
    lanes_.push_back(std::move(lane));
  }
  for (const auto& lane : lanes_) lane->thread = std::thread([this, &lane] { Run(*lane); });
}

Lanes::~Lanes() {
  stop_.store(true, std::memory_order_release);  // partner: the acquire load in Run
  for (const auto& lane : lanes_) lane->parker.Wake();
  for (const auto& lane : lanes_) lane->thread.join();
}

bool Lanes::Submit(Update* update) {
  if (submitted_ - Completed() >= kMaxUpdatesInLanes) return false;
  Admit(spec_, *update, submitted_);
  for (const GradientRef& gradient : update->gradients) {
    CHECK(!past_ || gradient.staleness <=
                        std::min(spec_.optimizer.correction.versions, submitted_ - first_version_),
          "staleness {} at version {}", gradient.staleness, submitted_);
  }
  CHECK(update->weight_before == summed_weight_, "{} of {} was summed ahead", summed_weight_,
        update->weight_before);
  summed_weight_ = 0;
  ++submitted_;
  Push(update);
  return true;
}

void Lanes::SumAhead(Update* part) {
  CHECK(part->version == submitted_ + 1 && part->weight_before == summed_weight_,
        "a part of version {} after {}", part->version, submitted_);
  LeaveOutSums(spec_.size, spec_.trained, part->gradients);
  for (const GradientRef& gradient : part->gradients) summed_weight_ += gradient.weight;
  if (!ahead_) ahead_ = MakeAligned(spec_.size);
  part->only_sum = true;
  Push(part);
}

void Lanes::Push(Update* update) {
  // Relaxed: the push into the ring is a release store and publishes the whole update.
  update->weights_hash.store(0, std::memory_order_relaxed);
  update->lanes_left.store(threads(), std::memory_order_relaxed);
  for (const auto& lane : lanes_) {
    CHECK(lane->ring.TryPush(update), "the ring holds every unfinished update");
    lane->parker.Wake();
  }
}

StateCopy Lanes::CaptureInto(StateCopy memory) const {
  // Completed() is an acquire load: every write of the lanes up to that version is visible here.
  CHECK(Idle(), "version {} of {}", Completed(), submitted_);
  memory.weights.assign(weights_.get(), weights_.get() + spec_.size);
  memory.state.resize(state_.size());
  for (std::size_t slot = 0; slot < state_.size(); ++slot) {
    memory.state[slot].assign(state_[slot].get(), state_[slot].get() + spec_.size);
  }
  return memory;
}

std::int64_t Lanes::BusyNs() const {
  std::int64_t sum = 0;
  for (const auto& lane : lanes_) sum += lane->busy_ns.load(std::memory_order_relaxed);
  return sum / threads();
}

void Lanes::Run(Lane& lane) {
  FlushDenormals();
  const SteadyClock clock;
  for (;;) {
    const std::uint32_t ticket = lane.parker.Ticket();
    // Partner: the release store in the destructor. Read before the ring: a lane that sees `stop`
    // sees every update submitted before it.
    const bool stop = stop_.load(std::memory_order_acquire);
    Update* update = nullptr;
    if (lane.ring.TryPop(update)) {
      const std::int64_t begin = clock.NowNs();
      const bool only_sum = update->only_sum;
      only_sum ? Sum(lane, *update) : Apply(lane, *update);
      // Partner: the same decrement in the other lanes. The release half publishes this lane's
      // writes; the acquire half shows the last lane the writes of all others. Only the last lane
      // touches the update afterwards; of one that is only summed, none does.
      if (update->lanes_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        only_sum ? Progress() : Finish(*update);
      }
      lane.busy_ns.store(lane.busy_ns.load(std::memory_order_relaxed) + clock.NowNs() - begin,
                         std::memory_order_relaxed);
    } else if (stop) {
      return;
    } else {
      lane.parker.Park(ticket);
    }
  }
}

float* Lanes::Past(std::uint64_t version, std::size_t offset) const {
  return past_.get() + version % spec_.optimizer.correction.versions * spec_.size + offset;
}

void Lanes::Sum(const Lane& lane, const Update& part) {
  AddGradients(part.gradients, lane.begin, lane.size, part.weight_before > 0,
               ahead_.get() + lane.begin);
}

void Lanes::Apply(Lane& lane, Update& update) {
  // 1. Block by block: sum the gradients, mended where they are stale, apply, copy the new weights
  //    into the snapshot. The old ones take the place of the oldest kept.
  std::optional<Mender> mender;
  if (past_) mender.emplace(*this, update);
  const float factor = MeanFactor(update);
  const float* const ahead = update.weight_before > 0 ? ahead_.get() : nullptr;
  const StepSize step =
      MakeStepSize(spec_.optimizer, update.lr, update.scale, update.optimizer_step);
  snapshot_.Begin(update.version);
  for (std::size_t done = 0; done < lane.size; done += kApplyBlock) {
    const std::size_t offset = lane.begin + done;
    const std::size_t n = std::min(kApplyBlock, lane.size - done);
    const float* gradient = MeanGradient(update, factor, ahead ? ahead + offset : nullptr, offset,
                                         n, lane.sum.data(), mender ? &*mender : nullptr);
    const std::span<float> weights(weights_.get() + offset, n);
    if (past_) std::ranges::copy(weights, Past(update.version - 1, offset));
    std::array<std::span<float>, kMaxSlots> slots;
    for (std::size_t s = 0; s < state_.size(); ++s) slots.at(s) = {state_[s].get() + offset, n};
    ApplyTo(spec_, update, step, offset, gradient, weights, std::span(slots).first(state_.size()));
    snapshot_.Write(update.version, offset, weights);
  }

  // 2. Hash and capture this lane's slice of the version, if the update asks for it.
  const std::span<const float> slice(weights_.get() + lane.begin, lane.size);
  if (update.hash) {
    const std::uint64_t part = HashWeights(slice, lane.begin / kGroup);
    update.weights_hash.fetch_add(part, std::memory_order_relaxed);  // ordered by lanes_left
  }
  if (update.capture) {
    const auto at = static_cast<std::ptrdiff_t>(lane.begin);
    StateCopy& capture = CaptureOf(update, spec_.size, state_.size());
    std::ranges::copy(slice, capture.weights.begin() + at);
    for (std::size_t s = 0; s < state_.size(); ++s) {
      std::copy_n(state_[s].get() + lane.begin, lane.size, capture.state[s].begin() + at);
    }
  }
}

// Called by the last lane of the update. It has not counted down the next update yet, so versions
// are published, and completed_ rises, in order.
void Lanes::Finish(Update& update) {
  const std::uint64_t version = update.version;
  snapshot_.Publish(update.meta);
  completed_.store(version, std::memory_order_release);  // partner: the acquire load in Completed
  Progress();
}

void Lanes::Progress() {
  if (on_progress_) on_progress_();
}

}  // namespace starling::learner
