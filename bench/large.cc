// The learner with large nets and with large fleets, whose actors only push: gradients per second
// beside a memcpy of the same bytes, memory beside its formula, and the network thread's time for a
// gradient with 16 and with 1,024 members.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/figure.h"
#include "bench/scripted_fleet.h"
#include "bench/stats.h"
#include "core/config/config.h"
#include "core/text.h"
#include "results/trained.h"

namespace starling::bench {
namespace {

using Strings = std::vector<std::string>;

// ---- large nets

void MeasureNet(const Site& site, int hidden, Result& result) {
  constexpr int kActors = 4;
  const Strings settings = {"net.kind=mlp",
                            "learner.threads=2",
                            Set("net.hidden", fmt::format("[{0}, {0}]", hidden)),
                            "net.init=fan_in",
                            "run.steps=1_000_000_000_000",
                            "run.metrics_s=0.5",
                            "checkpoint.exact=false",
                            Set("actors.count", kActors)};
  const Config config = LoadConfig(site.config, settings);
  const std::size_t floats = results::LayoutOf(config).size();
  const double vector_mb = 4.0 * static_cast<double>(floats) / 1e6;
  LearnerProcess learner(site, fmt::format("large-{}", hidden), site.config, settings);
  ScriptedFleet fleet(learner.endpoint(), kActors, floats);
  // 1. The rate, in turn with memcpy: the machine is not always equally fast.
  fleet.PushAll(site.quick ? 0.1 : 2);  // warms up
  std::vector<double> rates, copies, ratios;
  for (int round = 0; round < (site.quick ? 1 : 9); ++round) {
    rates.push_back(fleet.PushAll(site.quick ? 0.3 : 2));
    copies.push_back(1e9 / CopyNs(floats, site.quick ? 0.1 : 1));
    ratios.push_back(rates.back() / copies.back());
  }
  const double peak_mb = learner.Stop(), ratio = Median(ratios);
  // 2. The memory, beside its formula.
  const LearnerVectors by_formula = LearnerVectorsOf(config);
  const double vectors = by_formula.state + by_formula.gradients;
  const double limit_mb = vectors * vector_mb + kLearnerRoomMb;
  const std::string weights = HumanCount(static_cast<double>(floats));
  result.rows.push_back(
      {.what = fmt::format("{} weights, {} actors, ipc, {} lanes: gradients/s beside memcpy",
                           weights, kActors, config.learner.threads),
       .measured = fmt::format("{:.1f} / {:.1f}: {:.2f} (median of {} rounds)", Median(rates),
                               Median(copies), ratio, ratios.size()),
       .wanted = "≥ 0.5",
       .holds = site.Judged(ratio >= 0.5)});
  result.rows.push_back(
      {.what = fmt::format("{} weights: the learner's memory at its peak", weights),
       .measured = fmt::format("{:.0f} MB", peak_mb),
       .wanted = fmt::format("≤ {:.0f} MB: 4 bytes × {} × {:.0f} + {} MB", limit_mb,
                             Grouped(floats), vectors, kLearnerRoomMb),
       .holds = peak_mb <= limit_mb});
  result.json[weights] = {{"weights", floats},
                          {"gradients_per_second", rates},
                          {"copies_per_second", copies},
                          {"peak_mb", peak_mb},
                          {"limit_mb", limit_mb}};
}

// ---- large fleets

// Microseconds of the network thread for one gradient: it wakes up, receives, judges, answers.
double BusyUs(const Site& site, std::size_t actors, bool tcp) {
  Strings settings = {"net.kind=mlp",
                      "net.hidden=[16]",
                      "run.steps=1_000_000_000_000",
                      "run.metrics_s=0.5",
                      "checkpoint.exact=false",
                      "wire.timeout_s=600",
                      "staleness.deadline_s=600",
                      "updates.in_flight=1",
                      Set("actors.count", actors)};
  if (tcp) settings.push_back("wire.endpoint=tcp://127.0.0.1:0");
  const std::size_t floats = results::LayoutOf(LoadConfig(site.config, settings)).size();
  LearnerProcess learner(site, fmt::format("crowd-{}", actors), site.config, settings);
  ScriptedFleet fleet(learner.endpoint(), actors, floats);
  fleet.PushInTurn(site.quick ? 0.2 : 2);
  const learner::RunStatus before = learner.Status();
  fleet.PushInTurn(site.quick ? 1.5 : 10);
  const learner::RunStatus after = learner.Status();
  const auto busy = [](const learner::RunStatus& status) {
    return status.time.learner.receive + status.time.learner.dispatch;
  };
  return 1e6 * (busy(after) - busy(before)) /
         static_cast<double>(after.gradients.received - before.gradients.received);
}

void MeasureFleet(const Site& site, bool tcp, Result& result) {
  const std::size_t many = site.quick ? 64 : 1024;
  std::vector<double> few_us, many_us;
  for (int pair = 0; pair < (site.quick ? 1 : 3); ++pair) {
    few_us.push_back(BusyUs(site, 16, tcp));
    many_us.push_back(BusyUs(site, many, tcp));
  }
  const double ratio = Median(many_us) / Median(few_us);
  const char* const how = tcp ? "tcp" : "ipc";
  result.rows.push_back(
      {.what = fmt::format("{}: the network thread, per wake-up with one gradient, {} members "
                           "beside 16",
                           how, Grouped(many)),
       .measured =
           fmt::format("{:.1f} µs / {:.1f} µs = {:.2f}", Median(many_us), Median(few_us), ratio),
       .wanted = "≤ 2",
       .holds = site.Judged(ratio <= 2)});
  result.json[how] = {{"few_us", few_us}, {"many_us", many_us}};
}

}  // namespace

Result MeasureLarge(const Site& site) {
  Result result{.json = Json::object()};
  for (const int hidden : site.quick ? std::vector{700} : std::vector{2970, 9800}) {
    MeasureNet(site, hidden, result);
  }
  for (const bool tcp : {false, true}) MeasureFleet(site, tcp, result);
  return result;
}

}  // namespace starling::bench
