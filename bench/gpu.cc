// Measures a GPU: the speed of one actor, the share of its time in matrix products, the cost of a
// push in a real run, and the time that a real run takes to play Breakout well.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "bench/actor_speed.h"
#include "bench/child.h"
#include "bench/figure.h"
#include "bench/net_products.h"
#include "bench/training_run.h"
#include "core/error.h"
#include "core/file.h"
#include "core/gpu.h"
#include "core/text.h"
#include "net/gpu.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxPush = 0.02;  // share of an actor's time
constexpr double kReturn = 40;     // mean return of the last 100 training episodes
constexpr double kMaxSeconds = 60;

std::string NameOf(const GpuInfo& gpu) {
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, {:.0f} GiB", gpu.name,
                     gpu.major, gpu.minor, gpu.multiprocessors,
                     static_cast<double>(gpu.memory) / (1024.0 * 1024 * 1024));
}

// Collects a result row by row.
class Figures {
 public:
  Figures(const Site& site, std::string why_none) : site_(site), why_none_(std::move(why_none)) {}

  // Calls measure(row), which fills in the row and returns its numbers. Without a GPU, or without
  // room on it, the row holds the reason instead.
  template <class Measure>
  void Add(const char* key, Row row, const Measure& measure) {
    std::string why = why_none_;
    bool failed = false;
    try {
      if (why.empty()) json_[key] = measure(row);
    } catch (const Interrupted&) {
      throw;
    } catch (const UserError& error) {
      why = error.what();
    } catch (const std::exception& error) {  // the other rows are measured all the same
      Tell(error.what());
      why = "it failed";
      failed = result_.broken = true;
    }
    if (!why.empty()) {
      row.measured = "not measured: " + (why == why_none_ ? "no GPU (see below)" : why);
      json_[key] = {{"not_measured", why}};
    }
    if (site_.quick || !why.empty()) row.holds.reset();
    if (failed) row.holds = false;
    result_.rows.push_back(std::move(row));
  }
  void AddDetails(const std::string& text) { result_.details += text; }
  Result Take() {
    result_.json = json_.dump();
    return std::move(result_);
  }

 private:
  const Site& site_;
  const std::string why_none_;
  Result result_;
  Json json_;
};

// Measures all cases: a line of the details each, the fastest in the row. A case that does not fit
// on the GPU has a line with the reason.
Json Actors(const Site& site, const std::vector<ActorCase>& cases, Row& row, std::string& details,
            double& best) {
  const double seconds = site.quick ? 0.1 : 4;
  Json json;
  row.measured = "not measured";
  for (const ActorCase& one : cases) {
    Tell(one.what);
    ActorSpeed speed;
    try {
      speed = MeasureActor(one.config, seconds);
    } catch (const UserError& error) {
      details += fmt::format("| {} | not measured: {} | | | |\n", one.what, error.what());
      json[one.key] = {{"not_measured", error.what()}};
      continue;
    }
    // The details show every case, the row the fastest.
    details += fmt::format("| {} | {} | {} to {} | {:.0f} | {:.0f} |\n", one.what,
                           Rounded(speed.steps_per_second), Rounded(speed.least),
                           Rounded(speed.most), 100 * speed.act, 100 * speed.gradient);
    json[one.key] = {{"steps_per_second", speed.steps_per_second},
                     {"least", speed.least},
                     {"most", speed.most},
                     {"act", speed.act},
                     {"gradient", speed.gradient}};
    if (speed.steps_per_second <= best) continue;
    best = speed.steps_per_second;
    row.measured = fmt::format("{} steps/s: {}", Rounded(best), one.what);
  }
  return json;
}

void AddActors(const Site& site, Figures& figures) {
  std::string details =
      "One actor by itself, Breakout with the net of the MinAtar paper, medians of five parts:\n\n"
      "| actor | steps/s | of the parts | % acting | % gradient |\n|---|---|---|---|---|\n";
  const std::string none = details;
  const auto add = [&](const char* key, const char* what, const std::vector<ActorCase>& cases,
                       double wanted) {
    Row empty{.what = what};
    if (wanted > 0) empty.wanted = fmt::format("≥ {} steps/s", Rounded(wanted));
    figures.Add(key, std::move(empty), [&](Row& row) {
      double best = 0;
      Json json = Actors(site, cases, row, details, best);
      if (wanted > 0) row.holds = best >= wanted;
      return json;
    });
  };
  add("actor_on_gpu", "One actor, net and games on a GPU, Breakout: the best shape",
      CasesOnGpu(site.quick), kWantedOnGpu);
  add("actor_staged", "… its games on one core", CasesStaged(site.quick), 0);
  add("actor_on_processor", "… net, too, on one core", {CaseOnProcessor()}, 0);
  if (details != none) figures.AddDetails(details);
}

std::string ProductsTable(const char* precision, const ProductTimes& times) {
  std::string table = fmt::format(
      "\nThe ops of the Atari net in {}, each alone, and the product in it:\n\n"
      "| op | rows × in × out | µs | its product alone, µs |\n|---|---|---|---|\n",
      precision);
  for (const auto& [product, op_us, product_us] : times.products) {
    table +=
        fmt::format("| {} | {} × ({} × {} × {}) | {:.1f} | {:.1f} |\n", product.what, product.times,
                    product.rows, product.shape.in, product.shape.out, op_us, product_us);
  }
  return table;
}

Json ProductsJson(const ProductTimes& times) {
  Json list = Json::array();
  for (const auto& [product, op_us, product_us] : times.products) {
    list.push_back({{"op", product.what},
                    {"us", op_us},
                    {"product_us", product_us},
                    {"flops", product.flops()}});
  }
  return {{"whole_us", times.whole_us},
          {"products_us", times.products_us()},
          {"share", times.share()},
          {"flops", times.flops()},
          {"products", list}};
}

// The share of the products is timed, not profiled (bench/net_products.h).
void AddProducts(const Site& site, const char* name, Precision precision, double wanted,
                 Figures& figures) {
  const int envs = site.quick ? 8 : 256, steps = site.quick ? 2 : 8;
  Row empty{.what =
                fmt::format("The A3C paper's Atari net in {} on a GPU: matrix products, each timed "
                            "alone, in {} forward passes of {} and the backward pass",
                            name, steps, envs)};
  if (wanted > 0) empty.wanted = fmt::format("≥ {:.0f} %", 100 * wanted);
  figures.Add(fmt::format("atari_products_{}", name).c_str(), std::move(empty), [&](Row& row) {
    Tell(fmt::format("products of the Atari net in {}", name));
    const auto gpu = OpenGpu(0);
    const auto backend = net::MakeCudaBackend(*gpu, precision);
    const ProductTimes times =
        MeasureProducts(*backend, AtariSpec(), envs, steps, site.quick ? 0.2 : 6);
    row.measured =
        fmt::format("{:.0f} % ({:.0f} of {:.0f} µs), {:.1f} TFLOP/s in all", 100 * times.share(),
                    times.products_us(), times.whole_us, times.flops() / times.whole_us / 1e6);
    if (wanted > 0) row.holds = times.share() >= wanted;
    figures.AddDetails(ProductsTable(name, times));
    return ProductsJson(times);
  });
}

// Returns the seconds from the first grant to the first mean return of kReturn in metrics.jsonl, or
// nullopt if the run never reached it.
std::optional<double> SecondsToReturn(const TrainingRun& run) {
  std::istringstream lines(ReadFile(run.dir() / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    const Json& mean = json.at("mean_return");
    if (mean.is_number() && mean.get<double>() >= kReturn) return json.at("seconds").get<double>();
  }
  return std::nullopt;
}

// Adds two rows about one real run.
void AddTraining(const Site& site, Figures& figures) {
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
        const Json summary = Json::parse(ReadFile(run->dir() / "summary.json"));
        const Json& time = summary.at("time").at("actors");
        const double share = time.at("push").get<double>();
        row.measured = fmt::format("{:.2f} % ({} steps/s end to end; {})", 100 * share,
                                   Rounded(run->steps_per_second),
                                   summary.at("bottleneck").get<std::string>());
        row.holds = share <= kMaxPush;
        return {{"time", time}, {"steps_per_second", run->steps_per_second}};
      });
  figures.Add(
      "to_return_40",
      {.what = fmt::format("… from the command to a mean of {:.0f} over 100 training episodes",
                           kReturn),
       .wanted = fmt::format("≤ {:.0f} s", kMaxSeconds)},
      [&](Row& row) -> Json {
        if (!run) throw UserError("there was no such run");
        const std::optional<double> seconds = SecondsToReturn(*run);
        const Json summary = Json::parse(ReadFile(run->dir() / "summary.json"));
        const double evaluated = Evaluate(site, *run, site.quick ? 10 : 100);
        Json json{{"seconds", run->seconds}, {"evaluated", evaluated}, {"steps", run->steps}};
        const std::string after = fmt::format("evaluated after {} steps in {:.1f} s: {:.1f}",
                                              Grouped(run->steps), run->seconds, evaluated);
        row.holds = false;
        row.measured = "not reached; " + after;
        if (!seconds) return json;
        // The time of the whole command counts, its start and its end included.
        const double wall = *seconds + run->seconds - summary.at("seconds").get<double>();
        row.measured = fmt::format("{:.1f} s; {}", wall, after);
        row.holds = wall <= kMaxSeconds;
        json["seconds_to_return"] = wall;
        return json;
      });
}

}  // namespace

Result MeasureGpu(const Site& site) {
  const GpuSearch found = FindGpus();
  Figures figures(site, found.why_none);
  figures.AddDetails(found.gpus.empty() ? "GPU: " + found.why_none + ".\n\n"
                                        : NameOf(found.gpus[0]) + ".\n\n");
  AddActors(site, figures);
  AddProducts(site, "f32", Precision::kF32, kWantedInProducts, figures);
  AddProducts(site, "tf32", Precision::kTf32, 0, figures);
  AddTraining(site, figures);
  return figures.Take();
}

}  // namespace starling::bench
