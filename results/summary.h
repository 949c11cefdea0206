// summary.json, and its few lines for people. Written by the supervisor, so that it survives every
// child: what the learner knew last, and the supervisor's own counts.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "learner/status.h"
#include "results/eval_results.h"
#include "results/fleet_counts.h"

namespace starling::results {

// The keys, in this order: env, seed, steps, frames, updates, seconds, steps_per_second,
// mean_return (null without an episode), episodes, staleness {bound (a number or "unbounded"), max,
// mean, histogram}, gradients {received, applied, merged, in_flight (at the end), dropped
// {reason: n}}, actors {started, restarted}, learner {restarted}, envs {replaced, episodes_cut}
// (their processes), time
// (results/bottleneck.h: shares, since this learner's first grant), bottleneck (a sentence, or ""),
// final_checkpoint (relative to the run directory, or null); and, where they have a meaning,
// init_from (as in the configuration), eval {best, last (lines of eval.jsonl, or null)}; the summary of
// a simulation also says simulated: true (its times are virtual, all that an actor computes is `act`).
// `status` is absent if no learner ever spoke: then everything of training is 0. `evaluated` is
// looked at if evaluation is on.
nlohmann::ordered_json BuildSummary(const Config& config,
                                    const std::optional<learner::LearnerStatus>& status,
                                    const FleetCounts& counts, const EvalStanding& evaluated = {});

// run_dir/summary.json, complete or as it was. Empty, or why it could not be written.
std::string WriteSummary(const std::filesystem::path& run_dir,
                         const nlohmann::ordered_json& summary);

// What run_dir/summary.json tells of training, `time` being shares and `checkpoint` the final one.
// Nothing if there is none that can be read.
std::optional<learner::LearnerStatus> ReadSummary(const std::filesystem::path& run_dir);

// What to print at the end: result, speed, staleness, losses, bottleneck, checkpoint, and what to run next.
// `program` is how starling was called.
std::vector<std::string> DescribeRun(const nlohmann::ordered_json& summary, int exit_status,
                                     const std::filesystem::path& run_dir,
                                     const std::string& program);

}  // namespace starling::results
