// Measures a GPU: the speed of one actor, the share of its time in matrix products, the cost of a
// push in a real run, and the time that a real run takes to play Breakout well.
#include <fmt/format.h>

#include <optional>

#include "bench/actor_speed.h"
#include "bench/figure.h"
#include "bench/net_products.h"
#include "bench/training_run.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/text.h"
#include "net/backend.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr double kMaxPush = 0.02;  // share of an actor's time
constexpr double kReturn = 40;     // mean return of the last 100 training episodes
constexpr double kMaxSeconds = 60;

// A result, built row by row.
struct Figures {
  const Site& site;
  const std::string why_none;  // without a GPU
  Result result{};

  // Calls measure(row), which fills in the row and returns its numbers. Without a GPU, or without
  // room on it, the row holds the reason instead.
  template <class Measure>
  void Add(const std::string& key, Row row, const Measure& measure) {
    std::string why = why_none;
    bool failed = false;
    try {
      if (why.empty()) result.json[key] = measure(row);
    } catch (const Interrupted&) {
      throw;
    } catch (const UserError& error) {
      why = error.what();
    } catch (const std::exception& error) {  // the other rows are measured all the same
      Tell(error.what());
      why = "it failed";
      failed = result.broken = true;
    }
    if (!why.empty()) {
      row.measured = "not measured: " + (why == why_none ? "no GPU (see below)" : why);
      row.holds.reset();
      result.json[key] = {{"not_measured", why}};
    }
    if (failed) row.holds = false;
    result.rows.push_back(std::move(row));
  }
};

// Measures all cases: a line of the details each, the fastest in the row. A case that does not fit
// on the GPU has a line with the reason.
void AddActors(Figures& figures, const char* key, const char* what,
               const std::vector<ActorCase>& cases, double wanted = 0) {
  Row empty{.what = what, .measured = "not measured"};
  if (wanted > 0) empty.wanted = fmt::format("≥ {} steps/s", Rounded(wanted));
  figures.Add(key, std::move(empty), [&](Row& row) {
    double best = 0;
    Json json;
    for (const ActorCase& one : cases) {
      Tell(one.what);
      try {
        const ActorSpeed speed = MeasureActor(one.config, figures.site.quick ? 0.1 : 4);
        figures.result.details += Line(
            {one.what, Rounded(speed.steps_per_second),
             fmt::format("{} to {}", Rounded(speed.least), Rounded(speed.most)),
             fmt::format("{:.0f}", 100 * speed.act), fmt::format("{:.0f}", 100 * speed.gradient)});
        json[one.key] = {{"steps_per_second", speed.steps_per_second},
                         {"least", speed.least},
                         {"most", speed.most},
                         {"act", speed.act},
                         {"gradient", speed.gradient}};
        if (speed.steps_per_second <= best) continue;
        best = speed.steps_per_second;
        row.measured = fmt::format("{} steps/s: {}", Rounded(best), one.what);
      } catch (const UserError& error) {
        figures.result.details +=
            Line({one.what, fmt::format("not measured: {}", error.what()), "", "", ""});
        json[one.key] = {{"not_measured", error.what()}};
      }
    }
    if (wanted > 0) row.holds = figures.site.Judged(best >= wanted);
    return json;
  });
}

// "NVIDIA H100, compute capability 9.0, 132 multiprocessors, 80 GiB".
std::string NameOf(const GpuInfo& gpu) {
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, {:.0f} GiB", gpu.name,
                     gpu.major, gpu.minor, gpu.multiprocessors,
                     static_cast<double>(gpu.memory) / (1024.0 * 1024 * 1024));
}

// The share of the products is timed, not profiled (bench/net_products.h).
void AddProducts(Figures& figures, const char* name, Precision precision, double wanted = 0) {
  const bool quick = figures.site.quick;
  const int envs = quick ? 8 : 256, steps = quick ? 2 : 8;
  Row empty{.what =
                fmt::format("The A3C paper's Atari net in {} on a GPU: matrix products, each timed "
                            "alone, in {} forward passes of {} and the backward pass",
                            name, steps, envs)};
  if (wanted > 0) empty.wanted = fmt::format("≥ {:.0f} %", 100 * wanted);
  figures.Add(fmt::format("atari_products_{}", name), std::move(empty), [&](Row& row) {
    // 1. Measure.
    Tell(fmt::format("products of the Atari net in {}", name));
    const auto gpu = OpenGpu(0);
    const auto backend = net::MakeCudaBackend(*gpu, precision);
    const ProductTimes times = MeasureProducts(*backend, AtariSpec(), envs, steps, quick ? 0.2 : 6);
    row.measured =
        fmt::format("{:.0f} % ({:.0f} of {:.0f} µs), {:.1f} TFLOP/s in all", 100 * times.share(),
                    times.products_us(), times.whole_us, times.flops() / times.whole_us / 1e6);
    if (wanted > 0) row.holds = figures.site.Judged(times.share() >= wanted);
    // 2. List the products.
    Json list = Json::array();
    figures.result.details +=
        fmt::format("\nThe ops of the Atari net in {}, each alone, and the product in it:\n\n",
                    name) +
        Head({"op", "rows × in × out", "µs", "its product alone, µs"});
    for (const auto& [product, op_us, product_us] : times.products) {
      figures.result.details +=
          Line({product.what,
                fmt::format("{} × ({} × {} × {})", product.times, product.rows, product.shape.in,
                            product.shape.out),
                fmt::format("{:.1f}", op_us), fmt::format("{:.1f}", product_us)});
      list.push_back({{"op", product.what},
                      {"us", op_us},
                      {"product_us", product_us},
                      {"flops", product.flops()}});
    }
    return Json{{"whole_us", times.whole_us},
                {"products_us", times.products_us()},
                {"share", times.share()},
                {"flops", times.flops()},
                {"products", list}};
  });
}

// Adds two rows about one real run.
void AddTraining(Figures& figures) {
  const Site& site = figures.site;
  std::optional<TrainingRun> run;
  figures.Add(
      "push",
      {.what = "`starling train` with configs/breakout_gpu.toml: the actor's time for pushing "
               "gradients (the last copy and the message)",
       .wanted = fmt::format("≤ {:.0f} %", 100 * kMaxPush)},
      [&](Row& row) -> Json {
        TrainingPlan plan{.name = "gpu-breakout",
                          .overrides = {},
                          .timeout_s = 600,
                          .config = site.shipped / "breakout_gpu.toml"};
        if (site.quick) plan.overrides.push_back("run.steps=2_000_000");
        run.emplace(site, plan);
        const Json& time = run->summary.at("time").at("actors");
        const double share = time.at("push").get<double>();
        row.measured = fmt::format("{:.2f} % ({} steps/s end to end; {})", 100 * share,
                                   Rounded(run->status.steps_per_second),
                                   run->summary.at("bottleneck").get<std::string>());
        row.holds = site.Judged(share <= kMaxPush);
        return {{"time", time}, {"steps_per_second", run->status.steps_per_second}};
      });
  figures.Add(
      "to_return_40",
      {.what = fmt::format("… from the command to a mean of {:.0f} over 100 training episodes",
                           kReturn),
       .wanted = fmt::format("≤ {:.0f} s", kMaxSeconds)},
      [&](Row& row) -> Json {
        if (!run) throw UserError("there was no such run");
        const double evaluated = Evaluate(site, *run, site.quick ? 10 : 100);
        Json json{
            {"seconds", run->seconds}, {"evaluated", evaluated}, {"steps", run->status.steps}};
        const std::string after = fmt::format("evaluated after {} steps in {:.1f} s: {:.1f}",
                                              Grouped(run->status.steps), run->seconds, evaluated);
        const std::vector<results::MetricPoint> metrics = run->Metrics();
        const auto reached = std::ranges::find_if(metrics, [](const results::MetricPoint& point) {
          return point.mean_return >= kReturn;  // false without an episode
        });
        if (reached == metrics.end()) {
          row.measured = "not reached; " + after;
          row.holds = site.Judged(false);
          return json;
        }
        // The time of the whole command counts, its start and its end included.
        const double wall = reached->seconds + run->seconds - run->status.seconds;
        row.measured = fmt::format("{:.1f} s; {}", wall, after);
        row.holds = site.Judged(wall <= kMaxSeconds);
        json["seconds_to_return"] = wall;
        return json;
      });
}

}  // namespace

Result MeasureGpu(const Site& site) {
  const GpuSearch found = FindGpus();
  const Config minatar = LoadConfig(site.config);
  const bool quick = site.quick;
  Figures figures{.site = site, .why_none = found.why_none};
  figures.result.details =
      (found.gpus.empty() ? "GPU: " + found.why_none : NameOf(found.gpus[0])) + ".\n\n";
  if (!found.gpus.empty()) {
    figures.result.details +=
        "One actor by itself, Breakout with the net of the MinAtar paper, medians of five parts:"
        "\n\n" +
        Head({"actor", "steps/s", "of the parts", "% acting", "% gradient"});
  }
  AddActors(figures, "actor_on_gpu", "One actor, net and games on a GPU, Breakout: the best shape",
            CasesOnGpu(minatar, quick), kWantedOnGpu);
  AddActors(figures, "actor_staged", "… its games on one core", CasesStaged(minatar, quick));
  AddActors(figures, "actor_on_processor", "… net, too, on one core", {CaseOnProcessor(minatar)});
  AddProducts(figures, "f32", Precision::kF32, kWantedInProducts);
  AddProducts(figures, "tf32", Precision::kTf32);
  AddProducts(figures, "bf16", Precision::kBf16);
  AddTraining(figures);
  return std::move(figures.result);
}

}  // namespace starling::bench
