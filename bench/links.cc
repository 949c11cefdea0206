// Measures training over a slow network: two actors, each behind a link of 100 Mbit/s or one that
// delays, with gradients and weights in f32 and in bf16.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <system_error>

#include "bench/figure.h"
#include "bench/proxy.h"
#include "bench/training_run.h"
#include "core/file.h"
#include "results/summary.h"
#include "tools/sweep/sweep.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;
using sweep::Job;
using Settings = std::vector<std::string>;

constexpr int kLinked = 2;
constexpr std::size_t kBytesPerS = 100'000'000 / 8;  // of each actor, each way
constexpr std::chrono::milliseconds kDelay{20};      // each way

struct Trained {
  double steps_per_second = 0;
  double up = 0, down = 0;  // bytes per gradient: to the learner, to the actor
};

// A learner over tcp, and actors that reach it through the proxy.
class FarRun {
 public:
  FarRun(const Site& site, const std::string& name, const Way& way, const Settings& settings)
      : site_(site), way_(way), dir_(site.scratch / name) {
    Tell(name);
    call_ = {.program = site.programs / "starling-learner",
             .arguments = {site.config.string(), "--run-dir", dir_.path.string()},
             .timeout_s = 300,
             .stop_fd = site.stop_fd,
             .watch = [this] { Watch(); }};
    // The address makes the learner write its port to the file `endpoint`.
    for (const std::string& setting :
         {std::string("wire.endpoint=tcp://127.0.0.1:0"), std::string("wire.address=127.0.0.1"),
          Set("actors.count", kLinked)}) {
      call_.arguments.insert(call_.arguments.end(), {"--set", setting});
    }
    for (const std::string& setting : settings) {
      call_.arguments.insert(call_.arguments.end(), {"--set", setting});
    }
  }

  Trained Run() {
    RunChild(call_);
    const auto result = results::ReadSummary(dir_.path);
    if (!result) throw std::runtime_error("summary.json is missing or damaged");
    const auto gradients = static_cast<double>(result->training.gradients.received);
    const auto per_gradient = [&](Direction direction) {
      return static_cast<double>(proxy_->forwarded(direction)) / gradients;
    };
    return {.steps_per_second = result->training.steps_per_second,
            .up = per_gradient(Direction::kToServer),
            .down = per_gradient(Direction::kToClient)};
  }

 private:
  // Starts the actors once the learner listens, and reads their output.
  void Watch() {
    for (const auto& actor : actors_) actor->Read();
    if (proxy_) return;
    std::string endpoint;
    try {
      endpoint = ReadFile(dir_.path / "endpoint");
    } catch (const std::system_error&) {
      return;  // not yet
    }
    const auto port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    proxy_ = std::make_unique<Proxy>(static_cast<std::uint16_t>(port));
    proxy_->SetBoth(way_);
    for (int i = 0; i < kLinked; ++i) {
      const Settings words = {"--connect", proxy_->endpoint()};
      actors_.push_back(std::make_unique<Job>(site_.programs / "starling-actor", words));
    }
  }

  const Site& site_;
  const Way way_;
  const Scratch dir_;
  ChildCall call_;
  std::unique_ptr<Proxy> proxy_;
  std::vector<std::unique_ptr<Job>> actors_;
};

Json NumbersOf(const Trained& trained) {
  return {{"steps_per_second", trained.steps_per_second},
          {"bytes_up_per_gradient", trained.up},
          {"bytes_down_per_gradient", trained.down}};
}

}  // namespace

Result MeasureLinks(const Site& site) {
  Result result;
  const auto run = [&](const std::string& name, const Way& way, Settings settings,
                       std::uint64_t steps) {
    settings.push_back(Set("run.steps", site.quick ? steps / 40 : steps));
    const Trained trained = FarRun(site, "links-" + name, way, settings).Run();
    result.json[name] = NumbersOf(trained);
    return trained;
  };
  // 1. Bytes.
  const Way slow{.bytes_per_s = kBytesPerS};
  const Settings gradient = {"wire.gradient=bf16"}, weights = {"wire.weights=bf16"},
                 both = {"wire.gradient=bf16", "wire.weights=bf16"};
  constexpr std::uint64_t kSteps = 160'000;
  const Trained f32 = run("f32", slow, {}, kSteps);
  const Trained half = run("bf16", slow, both, kSteps);
  const double bytes = half.up / f32.up, faster = half.steps_per_second / f32.steps_per_second;
  result.rows.push_back(
      {.what = "bytes of a gradient in bf16, of one in f32",
       .measured = fmt::format("{:.0f} / {:.0f} = {:.3f}", half.up, f32.up, bytes),
       .wanted = "0.50 ± 1 %",
       .holds = site.Judged(bytes >= 0.495 && bytes <= 0.505)});
  std::vector<std::string> alone;
  for (const auto& [name, settings] : {std::pair{"gradients", gradient}, {"weights", weights}}) {
    const double rate = run(std::string("bf16-") + name, slow, settings, kSteps).steps_per_second;
    alone.push_back(fmt::format("{} alone {:.2f}", name, rate / f32.steps_per_second));
  }
  result.rows.push_back(
      {.what = fmt::format("steps per second, {} actors behind links of 100 Mbit/s, bf16 of f32",
                           kLinked),
       .measured = fmt::format("{:.0f} / {:.0f} = {:.2f} ({})", half.steps_per_second,
                               f32.steps_per_second, faster, fmt::join(alone, ", ")),
       .wanted = "≥ 1.8",
       .holds = site.Judged(faster >= 1.8)});
  // 2. Delay.
  std::vector<std::string> rates;
  for (const int in_flight : {1, 2, 4}) {
    const Trained far = run(fmt::format("delay-{}-in-flight", in_flight), {.delay = kDelay},
                            {Set("updates.in_flight", in_flight)}, 100'000);
    rates.push_back(fmt::format("{} in flight {:.0f}", in_flight, far.steps_per_second));
  }
  result.rows.push_back(
      {.what = fmt::format("steps per second, {} actors behind links that delay by {} ms each way",
                           kLinked, kDelay.count()),
       .measured = fmt::format("{}", fmt::join(rates, ", "))});
  return result;
}

}  // namespace starling::bench
