// Measures a seat of the C library (api/starling_seat.h) beside the link of Starling's own actors:
// grant, weights, clipped gradient, push, of a net of a million weights over shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/learner_client.h"
#include "api/starling_seat.h"
#include "bench/figure.h"
#include "bench/scripted_fleet.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/safetensors.h"
#include "net/norm.h"

namespace starling::bench {
namespace {

constexpr std::size_t kNumbers = 1'000'000;
constexpr double kWantedRate = 0.9;
constexpr const char* kTensor = "weight";
constexpr float kClip = 0.5f;

// What an actor of Starling's does for a gradient besides computing it (actors/train.h).
class OwnLink {
 public:
  explicit OwnLink(const std::string& endpoint)
      : client_({.find_endpoint = [endpoint] { return endpoint; }}), weights_(kNumbers) {
    net::ParameterLayout layout;
    layout.Add(kTensor, {static_cast<std::int64_t>(kNumbers)});
    if (!client_.Join() || !client_.CheckNet(layout.fingerprint(), layout.size())) {
      throw std::runtime_error("the link has not joined: " + client_.text());
    }
  }
  void Turn() {
    const auto grant = client_.NextGrant();
    if (!grant || !client_.Refresh(grant->version, weights_, meta_)) Fail();
    const std::span<float> space = client_.NextGradientSpace();
    const double norm = net::ClipByGlobalNorm(space, kClip);
    const actors::RolloutGradient gradient{.values = space, .norm = norm, .loss = {}, .samples = 1};
    if (!client_.Push(*grant, meta_, meta_.version, gradient, {})) Fail();
  }

 private:
  void Fail() { throw std::runtime_error("the link is lost: " + client_.text()); }

  actors::LearnerClient client_;
  std::vector<float> weights_;
  wire::SnapshotMeta meta_;
};

class OwnSeat {
 public:
  explicit OwnSeat(const std::string& endpoint) : weights_(kNumbers), gradient_(kNumbers) {
    starling_seat* seat = nullptr;
    Check(starling_seat_open(endpoint.c_str(), nullptr, &seat));
    seat_.reset(seat);
    Check(starling_seat_join(seat, -1));
    held_.size = sizeof(held_);
    push_.size = sizeof(push_);
    push_.samples = 1;
  }
  // `copied`: the gradient is in an array of the program's, not in the learner's memory.
  void Turn(bool copied) {
    starling_grant grant{};
    grant.size = sizeof(grant);
    Check(starling_seat_next(seat_.get(), -1, &grant));
    Check(starling_seat_weights(seat_.get(), weights_.data(), &held_));
    float* gradient = gradient_.data();
    if (!copied) Check(starling_seat_space(seat_.get(), &gradient));
    Check(starling_seat_push(seat_.get(), gradient, &push_));
  }

 private:
  static void Check(starling_status status) {
    if (status == STARLING_OK) return;
    throw std::runtime_error(fmt::format("the seat ends with {}: {}", status, starling_error()));
  }
  struct Close {
    void operator()(starling_seat* seat) const { starling_seat_close(seat); }
  };

  std::unique_ptr<starling_seat, Close> seat_;
  std::vector<float> weights_, gradient_;
  starling_weights held_{};
  starling_push push_{};
};

}  // namespace

Result MeasureSeat(const Site& site) {
  // 1. A learner of an external net; who does not measure holds grants that nobody waits for.
  const std::vector<float> first(kNumbers);
  const std::vector<TensorView> tensors = {ViewF32(kTensor, {kNumbers}, first)};
  const std::filesystem::path file = site.scratch / "seat.safetensors";
  WriteSafetensors(file, tensors);
  LearnerProcess learner(
      site, "seat", site.config,
      {"net.kind=external", "net.initial=" + file.string(), "actors.count=2",
       "run.steps=1000000000", "staleness.deadline_s=3600", "wire.timeout_s=3600",
       "eval.every_steps=0", Set("optimizer.clip_norm", kClip)});
  OwnLink link(learner.endpoint());
  OwnSeat seat(learner.endpoint());
  // 2. Turns, in turns.
  constexpr int kRounds = 9;
  const double part = site.quick ? 0.05 : 2;
  std::vector<double> link_us, seat_us, copied_us;
  const auto measure = [&](std::vector<double>& into, const auto& turn) {
    ThrowIfInterrupted(site.stop_fd);
    into.push_back(Mean(TimeManyNs(part, turn)) / 1000);
  };
  for (int round = 0; round < kRounds; ++round) {
    measure(link_us, [&] { link.Turn(); });
    measure(seat_us, [&] { seat.Turn(false); });
    measure(copied_us, [&] { seat.Turn(true); });
  }
  learner.Stop();
  // 3. Compare rates.
  Result result;
  const double ours = Median(link_us);
  const auto row = [&](const char* what, const char* key, const std::vector<double>& theirs) {
    const double us = Median(theirs);
    result.rows.push_back(
        {.what = fmt::format("gradients a second, {}, of those of an actor's link", what),
         .measured = fmt::format("{:.0f} / {:.0f} = {:.2f}", 1e6 / us, 1e6 / ours, ours / us)});
    result.json[key] = us;
    return ours / us;
  };
  result.json["link_us"] = ours;
  const double ratio = row("a seat that computes in the learner's memory", "seat_us", seat_us);
  result.rows.back().wanted = fmt::format("≥ {}", kWantedRate);
  result.rows.back().holds = site.Judged(ratio >= kWantedRate);
  row("a seat whose gradient is copied", "copied_us", copied_us);
  return result;
}

}  // namespace starling::bench
