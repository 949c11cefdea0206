#include "results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "results/statistics.h"

namespace starling::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFile[] = "summary.json";

std::string Headline(const learner::RunStatus& training, int exit_status) {
  std::string word = "failed after";
  if (exit_status == kExitDone) word = "done in";
  if (exit_status == kExitInterrupted) word = "interrupted after";
  return fmt::format("{} {}: {} steps, {} updates, {} steps/s", word, HumanTime(training.seconds),
                     Grouped(training.steps), Grouped(training.updates),
                     Rounded(training.steps_per_second));
}

std::string ReturnLine(const learner::RunStatus& training) {
  if (!training.mean_return) return "  return      no episode has ended yet";
  return fmt::format("  return      {:.2f}, mean of the last {} of {} training episodes",
                     *training.mean_return, std::min<std::uint64_t>(training.episodes, 100),
                     Grouped(training.episodes));
}

std::string StalenessLine(const learner::StalenessStatus& staleness, std::uint64_t bound) {
  return fmt::format("  staleness   mean {:.2f}, max {}, {}", staleness.mean, staleness.max,
                     bound == kUnbounded ? "unbounded" : fmt::format("bound {}", bound));
}

std::string DataAgeLine(const learner::ReuseStatus& reuse) {
  return fmt::format("  data age    mean {:.2f}, max {} versions since it was played",
                     reuse.age_mean, reuse.age_max);
}

// "best 24.10 at 4,500,000 steps, last 22.00 at 5,000,000 steps"
std::string EvalText(const EvalStanding& evaluated) {
  std::string text;
  const auto add = [&](const char* which, const std::optional<EvalLine>& line) {
    if (!line) return;
    text += fmt::format("{}{} {:.2f} at {} steps", text.empty() ? "" : ", ", which,
                        line->mean_return, Grouped(line->steps));
  };
  add("best", evaluated.best);
  add("last", evaluated.last);
  return text.empty() ? "none has ended" : text;
}

std::string GradientsLine(const learner::GradientStatus& gradients) {
  std::string line =
      fmt::format("  gradients   {} received, {} applied ({} merged)", Grouped(gradients.received),
                  Grouped(gradients.applied), Grouped(gradients.merged));
  if (gradients.in_flight > 0) {
    line += fmt::format(", {} under way at the end", gradients.in_flight);
  }
  const char* before = ", dropped: ";
  for (const auto& [reason, count] : gradients.dropped) {
    if (count == 0) continue;
    line += fmt::format("{}{} {}", std::exchange(before, ", "), Grouped(count), reason);
  }
  return line;
}

std::string GoOnLine(const std::filesystem::path& run_dir, const std::string& program) {
  return fmt::format("  go on with  {} train --resume {}", ShellQuoted(program),
                     ShellQuoted(run_dir.string()));
}

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json OrNull(const std::optional<EvalLine>& line) { return line ? ToJson(*line) : Json(nullptr); }

Json JsonOf(const RunSummary& summary) {
  // 1. The keys of every run; most are those of a status line.
  learner::RunStatus training = summary.training;
  training.time = TimeShares(training.time);
  const Json status = learner::ToJson(training);
  Json json = {{"env", summary.env}, {"seed", summary.seed}};
  for (const char* key :
       {"steps", "frames", "updates", "seconds", "steps_per_second", "mean_return", "episodes"}) {
    json[key] = status[key];
  }
  json["staleness"] = {
      {"bound", summary.bound == kUnbounded ? Json("unbounded") : Json(summary.bound)},
      {"max", training.staleness.max},
      {"mean", training.staleness.mean},
      {"histogram", training.staleness.histogram}};
  json["gradients"] = status["gradients"];
  json["actors"] = {{"started", summary.fleet.actors_started},
                    {"restarted", summary.fleet.actors_restarted}};
  json["learner"] = {{"restarted", summary.fleet.learner_restarted}};
  json["envs"] = {{"replaced", training.envs_replaced}, {"episodes_cut", training.episodes_cut}};
  json["exact"] = training.breaks == 0;
  json["time"] = status["time"];
  json["bottleneck"] = NameBottleneck(summary.training.time);
  json["error"] = OrNull(summary.error);
  json["final_checkpoint"] = OrNull(training.checkpoint);
  // 2. Those of some.
  if (training.reuse) json["reuse"] = status["reuse"];
  if (summary.fleet.actors_given_up > 0) {
    json["actors"]["given_up"] = summary.fleet.actors_given_up;
  }
  if (!summary.init_from.empty()) json["init_from"] = summary.init_from;
  if (!summary.instructions.empty()) json["instructions"] = summary.instructions;
  if (summary.evaluated) {
    json["eval"] = {{"best", OrNull(summary.evaluated->best)},
                    {"last", OrNull(summary.evaluated->last)}};
  }
  if (summary.simulated) json["simulated"] = true;
  if (summary.goal.ReturnReached(training)) json["until_return"] = summary.goal.until_return;
  return json;
}

// One key a line; a histogram of hundreds of counts is one line, too.
std::string Layout(const Json& summary) {
  std::string text;
  for (const auto& [key, value] : summary.items()) {
    // An error quotes the output of a child, which need not be UTF-8.
    text += fmt::format("{}\n  {}: {}", text.empty() ? "{" : ",", Json(key).dump(),
                        value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return text + "\n}\n";
}

std::string Write(const std::filesystem::path& run_dir, const std::string& text) {
  try {
    WriteFileAtomically(run_dir / kFile, text);
  } catch (const std::system_error& error) {
    return error.what();
  }
  return "";
}

// A negative count was read as a huge one.
bool IsPlausibleStatus(const learner::RunStatus& summary) {
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

RunSummary BuildSummary(const Config& config, const std::optional<learner::RunStatus>& status,
                        const FleetCounts& fleet, const EvalStanding& evaluated,
                        std::string error) {
  const bool evaluates = config.eval.every_steps > 0;
  return {.env = config.env.name,
          .seed = config.run.seed,
          .bound = config.staleness.bound,
          .training = status.value_or(learner::RunStatus{}),
          .fleet = fleet,
          .error = std::move(error),
          .init_from = config.run.init_from,
          .instructions = config.actors.backend != DeviceChoice::kCuda && !config.net.external()
                              ? NameOf(config.actors.instructions)
                              : "",
          .goal = learner::GoalOf(config),
          .evaluated = evaluates ? std::optional(evaluated) : std::nullopt,
          .external = config.net.external()};
}

std::string ToJson(const RunSummary& summary) { return Layout(JsonOf(summary)); }

std::string WriteSummary(const std::filesystem::path& run_dir, const RunSummary& summary) {
  return Write(run_dir, ToJson(summary));
}

std::string WriteError(const std::filesystem::path& run_dir, const std::string& error) {
  try {
    Json json = Json::parse(ReadRegularFile(run_dir / kFile));
    if (json.value("error", Json(nullptr)) == OrNull(error)) return "";
    json["error"] = OrNull(error);
    return Write(run_dir, Layout(json));
  } catch (const std::system_error&) {
    return "";
  } catch (const Json::exception&) {
    return "";
  }
}

std::optional<RunResult> ReadSummary(const std::filesystem::path& run_dir) {
  try {
    const std::string text = ReadRegularFile(run_dir / kFile);
    const std::optional<learner::RunStatus> training = learner::ParseStatus(text);
    if (!training || !IsPlausibleStatus(*training)) return std::nullopt;
    RunResult result{.training = *training, .error = ""};
    const Json json = Json::parse(text);
    const Json& checkpoint = json.at("final_checkpoint");
    if (!checkpoint.is_null()) result.training.checkpoint = checkpoint.get<std::string>();
    const Json error = json.value("error", Json(nullptr));  // older runs have none
    if (!error.is_null()) result.error = error.get<std::string>();
    result.instructions = json.value("instructions", "");
    return result;
  } catch (const std::system_error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::vector<std::string> DescribeRun(const RunSummary& summary, int exit_status,
                                     const std::filesystem::path& run_dir,
                                     const std::string& program) {
  // 1. The result.
  const learner::RunStatus& training = summary.training;
  std::vector<std::string> lines = {Headline(training, exit_status)};
  if (!summary.external || training.episodes > 0) lines.push_back(ReturnLine(training));
  lines.push_back(StalenessLine(training.staleness, summary.bound));
  if (training.reuse) lines.push_back(DataAgeLine(*training.reuse));
  lines.push_back(GradientsLine(training.gradients));

  // 2. Why it ended early, events and bottleneck, if there are any.
  if (const auto reached = summary.goal.Describe(training); !reached.empty()) {
    lines.push_back("  reached     " + reached);
  }
  const auto& [started, actors_restarted, learner_restarted, given_up] = summary.fleet;
  if (actors_restarted + learner_restarted > 0) {
    lines.push_back(fmt::format("  restarted   actors {} times, the learner {} times",
                                actors_restarted, learner_restarted));
  }
  if (training.breaks > 0) {
    lines.push_back(fmt::format("  not exact   the run went on without the states of its actors {}",
                                training.breaks == 1 ? "once" : Plural(training.breaks, "time")));
  }
  if (given_up > 0) {
    lines.push_back(fmt::format("  given up    {} that ended again and again (see the log)",
                                Plural(given_up, "actor")));
  }
  if (training.envs_replaced > 0) {
    lines.push_back(
        fmt::format("  replaced    {} processes of envs, {} episodes were cut (see the log)",
                    Grouped(training.envs_replaced), Grouped(training.episodes_cut)));
  }
  if (const auto bottleneck = NameBottleneck(training.time); !bottleneck.empty()) {
    lines.push_back("  bottleneck  " + bottleneck);
  }
  if (summary.evaluated) {
    lines.push_back("  evaluation  " + EvalText(*summary.evaluated));
    if (summary.evaluated->best) lines.push_back("  best        " + BestPath(run_dir).string());
  }
  if (!summary.error.empty()) lines.push_back("  error       " + summary.error);

  // 3. The checkpoint, and the command for it.
  if (training.checkpoint.empty()) {
    lines.push_back(
        fmt::format("  no checkpoint was written; the log is {}", (run_dir / "log").string()));
    // A directory without steps is taken over (results/run_dir.h).
    if (training.steps == 0) lines.emplace_back("  start again with the same command");
    return lines;
  }
  lines.push_back("  checkpoint  " + (run_dir / training.checkpoint).string());
  const std::string called = ShellQuoted(program), directory = ShellQuoted(run_dir.string());
  // A simulated run has no fleet that could resume it.
  const bool done = exit_status == kExitDone || summary.simulated;
  if (done && summary.external) return lines;
  if (done) {
    lines.push_back(fmt::format("  next        {} eval {} --episodes 100", called, directory));
  } else {
    lines.push_back(GoOnLine(run_dir, program));
  }
  return lines;
}

std::vector<std::string> DescribeUntouched(const std::string& error, int exit_status,
                                           const std::filesystem::path& run_dir,
                                           const std::string& program) {
  std::vector<std::string> lines = {
      fmt::format("{} before the learner had started: the run is as it was",
                  exit_status == kExitInterrupted ? "interrupted" : "failed")};
  if (!error.empty()) lines.push_back("  error       " + error);
  lines.push_back(GoOnLine(run_dir, program));
  return lines;
}

}  // namespace starling::results
