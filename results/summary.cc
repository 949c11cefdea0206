#include "results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "results/bottleneck.h"
#include "results/statistics.h"

namespace starling::results {
namespace {

using Json = nlohmann::ordered_json;

Json Bound(std::uint64_t bound) { return bound == kUnbounded ? Json("unbounded") : Json(bound); }

// One key a line; a histogram of hundreds of counts is one line, too.
std::string Layout(const Json& summary) {
  std::string text;
  for (const auto& [key, value] : summary.items()) {
    text += fmt::format("{}\n  {}: {}", text.empty() ? "{" : ",", Json(key).dump(), value.dump());
  }
  return text + "\n}\n";
}

std::string Headline(const Json& summary, int exit_status) {
  std::string word = "failed after";
  if (exit_status == kExitDone) word = "done in";
  if (exit_status == kExitInterrupted) word = "interrupted after";
  return fmt::format("{} {}: {} steps, {} updates, {} steps/s", word,
                     HumanTime(summary["seconds"].get<double>()),
                     Grouped(summary["steps"].get<std::uint64_t>()),
                     Grouped(summary["updates"].get<std::uint64_t>()),
                     Rounded(summary["steps_per_second"].get<double>()));
}

std::string ReturnLine(const Json& summary) {
  if (summary["mean_return"].is_null()) return "  return      no episode has ended yet";
  const auto episodes = summary["episodes"].get<std::uint64_t>();
  return fmt::format("  return      {:.2f}, mean of the last {} of {} training episodes",
                     summary["mean_return"].get<double>(), std::min<std::uint64_t>(episodes, 100),
                     Grouped(episodes));
}

std::string StalenessLine(const Json& staleness) {
  const Json& bound = staleness["bound"];
  return fmt::format("  staleness   mean {:.2f}, max {}, {}", staleness["mean"].get<double>(),
                     staleness["max"].get<std::uint64_t>(),
                     bound.is_string() ? std::string("unbounded")
                                       : fmt::format("bound {}", bound.get<std::uint64_t>()));
}

Json LineOrNull(const std::optional<EvalLine>& line) {
  return line ? ToJson(*line) : Json(nullptr);
}

// "best 24.10 at 4,500,000 steps, last 22.00 at 5,000,000 steps"
std::string EvalText(const Json& eval) {
  std::string text;
  for (const char* which : {"best", "last"}) {
    if (eval[which].is_null()) continue;
    text += fmt::format("{}{} {:.2f} at {} steps", text.empty() ? "" : ", ", which,
                        eval[which]["mean_return"].get<double>(),
                        Grouped(eval[which]["steps"].get<std::uint64_t>()));
  }
  return text.empty() ? "none has ended" : text;
}

std::string GradientsLine(const Json& gradients) {
  std::string line = fmt::format("  gradients   {} received, {} applied ({} merged)",
                                 Grouped(gradients["received"].get<std::uint64_t>()),
                                 Grouped(gradients["applied"].get<std::uint64_t>()),
                                 Grouped(gradients["merged"].get<std::uint64_t>()));
  if (const auto left = gradients["in_flight"].get<std::uint64_t>(); left > 0) {
    line += fmt::format(", {} under way at the end", left);
  }
  std::string reasons;
  for (const auto& [reason, count] : gradients["dropped"].items()) {
    if (count == 0) continue;
    reasons += fmt::format("{}{} {}", reasons.empty() ? ", dropped: " : ", ",
                           Grouped(count.get<std::uint64_t>()), reason);
  }
  return line + reasons;
}

Json TimeJson(const learner::TimeStatus& shares) {
  const auto& [wait, refresh, act, gradient, push] = shares.actors;
  const auto& [receive, dispatch, idle, lanes] = shares.learner;
  return {{"actors",
           {{"wait", wait},
            {"refresh", refresh},
            {"act", act},
            {"gradient", gradient},
            {"push", push}}},
          {"learner",
           {{"receive", receive}, {"dispatch", dispatch}, {"idle", idle}, {"lanes", lanes}}}};
}

Json OfTraining(const Config& config, const std::optional<learner::LearnerStatus>& status,
                const FleetCounts& counts) {
  const learner::LearnerStatus last = status.value_or(learner::LearnerStatus{});
  Json dropped = Json::object();
  for (const auto& [reason, count] : last.gradients.dropped) dropped[reason] = count;
  return {{"env", config.env.name},
          {"seed", config.run.seed},
          {"steps", last.steps},
          {"frames", last.frames},
          {"updates", last.updates},
          {"seconds", last.seconds},
          {"steps_per_second", last.steps_per_second},
          {"mean_return", last.mean_return ? Json(*last.mean_return) : Json(nullptr)},
          {"episodes", last.episodes},
          {"staleness",
           {{"bound", Bound(config.staleness.bound)},
            {"max", last.staleness.max},
            {"mean", last.staleness.mean},
            {"histogram", last.staleness.histogram}}},
          {"gradients",
           {{"received", last.gradients.received},
            {"applied", last.gradients.applied},
            {"merged", last.gradients.merged},
            {"in_flight", last.gradients.in_flight},
            {"dropped", dropped}}},
          {"actors", {{"started", counts.actors_started}, {"restarted", counts.actors_restarted}}},
          {"learner", {{"restarted", counts.learner_restarted}}},
          {"envs", {{"replaced", last.envs_replaced}, {"episodes_cut", last.episodes_cut}}},
          {"time", TimeJson(TimeShares(last.time))},
          {"bottleneck", NameBottleneck(last.time)},
          {"final_checkpoint", last.checkpoint.empty() ? Json(nullptr) : Json(last.checkpoint)}};
}

// A negative count is read as a huge one.
bool IsPlausible(const learner::LearnerStatus& summary) {
  const auto count = [](std::uint64_t number) {
    return results::IsPlausible(static_cast<double>(number));
  };
  const auto at_least_0 = [](double value) { return value >= 0 && results::IsPlausible(value); };
  return count(summary.steps) && count(summary.staleness.max) &&
         std::ranges::all_of(summary.staleness.histogram, count) && at_least_0(summary.seconds) &&
         at_least_0(summary.steps_per_second) && at_least_0(summary.staleness.mean) &&
         results::IsPlausible(summary.mean_return.value_or(0));
}

}  // namespace

nlohmann::ordered_json BuildSummary(const Config& config,
                                    const std::optional<learner::LearnerStatus>& status,
                                    const FleetCounts& counts, const EvalStanding& evaluated) {
  Json summary = OfTraining(config, status, counts);
  if (!config.run.init_from.empty()) summary["init_from"] = config.run.init_from;
  if (config.eval.every_steps > 0) {
    summary["eval"] = {{"best", LineOrNull(evaluated.best)}, {"last", LineOrNull(evaluated.last)}};
  }
  return summary;
}

std::string WriteSummary(const std::filesystem::path& run_dir,
                         const nlohmann::ordered_json& summary) {
  try {
    WriteFileAtomically(run_dir / "summary.json", Layout(summary));
  } catch (const std::system_error& error) {
    return error.what();
  }
  return "";
}

std::optional<learner::LearnerStatus> ReadSummary(const std::filesystem::path& run_dir) {
  try {
    const std::string text = ReadRegularFile(run_dir / "summary.json");
    std::optional<learner::LearnerStatus> summary = learner::ParseStatus(text);
    const Json last = summary ? Json::parse(text).at("final_checkpoint") : Json(nullptr);
    if (!last.is_null()) summary->checkpoint = last.get<std::string>();
    return summary && IsPlausible(*summary) ? summary : std::nullopt;
  } catch (const std::system_error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::vector<std::string> DescribeRun(const nlohmann::ordered_json& summary, int exit_status,
                                     const std::filesystem::path& run_dir,
                                     const std::string& program) {
  std::vector<std::string> lines = {Headline(summary, exit_status), ReturnLine(summary),
                                    StalenessLine(summary["staleness"]),
                                    GradientsLine(summary["gradients"])};
  const auto actors = summary["actors"]["restarted"].get<std::uint64_t>();
  const auto learner = summary["learner"]["restarted"].get<std::uint64_t>();
  if (actors + learner > 0) {
    lines.push_back(
        fmt::format("  restarted   actors {} times, the learner {} times", actors, learner));
  }
  if (const auto envs = summary["envs"]["replaced"].get<std::uint64_t>(); envs > 0) {
    lines.push_back(
        fmt::format("  replaced    {} processes of envs, {} episodes were cut (see the log)",
                    Grouped(envs), Grouped(summary["envs"]["episodes_cut"].get<std::uint64_t>())));
  }
  if (const auto bottleneck = summary["bottleneck"].get<std::string>(); !bottleneck.empty()) {
    lines.push_back("  bottleneck  " + bottleneck);
  }
  if (summary.contains("eval")) lines.push_back("  evaluation  " + EvalText(summary["eval"]));
  if (summary.contains("eval") && !summary["eval"]["best"].is_null()) {
    lines.push_back("  best        " + BestPath(run_dir).string());
  }
  const Json& checkpoint = summary["final_checkpoint"];
  if (checkpoint.is_null()) {
    lines.push_back(
        fmt::format("  no checkpoint was written; the log is {}", (run_dir / "log").string()));
    return lines;
  }
  lines.push_back("  checkpoint  " + (run_dir / checkpoint.get<std::string>()).string());
  const std::string directory = run_dir.string();
  // There is no fleet that could go on with what was simulated.
  if (exit_status == kExitDone || summary.contains("simulated")) {
    lines.push_back(fmt::format("  next        {} eval {} --episodes 100", program, directory));
  } else {
    lines.push_back(fmt::format("  go on with  {} train --resume {}", program, directory));
  }
  return lines;
}

}  // namespace starling::results
