// The page for Prometheus: /metrics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/text.h"
#include "monitor/http/pages.h"

namespace starling::monitor {
namespace {

using Json = nlohmann::ordered_json;
using Type = PrometheusText::Type;

constexpr const char* kTypeNames[] = {"counter", "gauge", "histogram"};  // by Type

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string EscapedValue(const std::string& value) {
  std::string escaped;
  for (const char c : ToUtf8(value)) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      if (c == '\\' || c == '"') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

// A number of the status line; one that is null or absent gives a family without samples.
struct Metric {
  Type type;
  const char *name, *path, *help;
};

constexpr Metric kNumbers[] = {
    {Type::kGauge, "starling_term", "/term", "Term of the learner; every start opens a new one."},
    {Type::kGauge, "starling_version", "/version", "Version of the newest weights."},
    {Type::kCounter, "starling_steps_total", "/steps", "Environment steps in applied gradients."},
    {Type::kCounter, "starling_frames_total", "/frames",
     "Frames of the games in applied gradients."},
    {Type::kCounter, "starling_updates_total", "/updates", "Updates of the weights."},
    {Type::kCounter, "starling_training_seconds_total", "/seconds",
     "From the first grant to the last update, over all terms."},
    {Type::kCounter, "starling_episodes_total", "/episodes", "Training episodes that have ended."},
    {Type::kCounter, "starling_episodes_cut_total", "/episodes_cut",
     "Episodes cut because the process of their environment was replaced."},
    {Type::kCounter, "starling_envs_replaced_total", "/envs_replaced",
     "Processes of environments that were replaced."},
    {Type::kGauge, "starling_mean_return", "/mean_return",
     "Mean return of the last 100 training episodes."},
    {Type::kGauge, "starling_mean_episode_steps", "/mean_length",
     "Mean length of the last 100 training episodes, in steps of the agent."},
    {Type::kGauge, "starling_learning_rate", "/lr", "Learning rate of the next update."},
    {Type::kGauge, "starling_entropy_coefficient", "/entropy_coef",
     "Weight of the entropy in the loss."},
    {Type::kGauge, "starling_policy_loss", "/losses/policy", "Of the newest gradient."},
    {Type::kGauge, "starling_value_loss", "/losses/value", "Of the newest gradient."},
    {Type::kGauge, "starling_policy_entropy", "/losses/entropy", "Of the newest gradient."},
    {Type::kGauge, "starling_gradient_norm", "/losses/grad_norm",
     "Of the newest gradient, before it was clipped."},
    {Type::kCounter, "starling_gradients_received_total", "/gradients/received",
     "Gradients that have arrived."},
    {Type::kCounter, "starling_gradients_applied_total", "/gradients/applied",
     "Gradients that were applied."},
    {Type::kCounter, "starling_gradients_merged_total", "/gradients/merged",
     "Those of the applied that shared an update."},
    {Type::kGauge, "starling_gradients_in_flight", "/gradients/in_flight",
     "Gradients that have arrived and wait to be applied."},
    {Type::kCounter, "starling_grants_expired_total", "/deadlines",
     "Grants that were not spent within staleness.deadline_s."},
    {Type::kGauge, "starling_staleness_max", "/staleness/max",
     "Largest staleness of an applied gradient."},
    {Type::kGauge, "starling_data_age_max", "/reuse/age_max",
     "Largest age of the data of an applied gradient, in versions since it was played."},
    {Type::kGauge, "starling_data_age_mean", "/reuse/age_mean", "Mean of these ages."},
    {Type::kGauge, "starling_policy_kl", "/reuse/kl",
     "Of the newest gradient: from the policy that played."},
    {Type::kGauge, "starling_clipped_ratio", "/reuse/clipped",
     "Of the newest gradient: share of the samples whose ratio is clipped."},
    {Type::kGauge, "starling_actors_alive", "/actors_alive", "Actors that are members now."},
};

// An object of numbers: a family with one sample for each of its keys.
struct LabelledMetric {
  Type type;
  const char *name, *path, *label, *help;
};

constexpr LabelledMetric kLabelled[] = {
    {Type::kCounter, "starling_gradients_dropped_total", "/gradients/dropped", "reason",
     "Gradients that were refused."},
    {Type::kCounter, "starling_frames_refused_total", "/frames_refused", "reason",
     "Messages and connections that were turned away."},
    {Type::kCounter, "starling_actors_time_seconds_total", "/time/actors", "activity",
     "What the actors have spent their time on, all together, in this term."},
    {Type::kCounter, "starling_learner_time_seconds_total", "/time/learner", "activity",
     "What the network thread has spent its time on in this term; lanes: mean over the lanes."},
};

void AddNumbers(const Json& status, PrometheusText& text) {
  for (const Metric& metric : kNumbers) {
    const Json value = status.value(Json::json_pointer(metric.path), Json());
    text.Family(metric.type, metric.name, metric.help);
    if (value.is_number()) text.Sample(value.get<double>());
  }
  for (const LabelledMetric& metric : kLabelled) {
    text.Family(metric.type, metric.name, metric.help);
    for (const auto& [name, value] : status.at(Json::json_pointer(metric.path)).items()) {
      text.Sample(value.get<double>(), {{metric.label, name}});
    }
  }
}

void AddRun(const Config& config, double unix_s, PrometheusText& text) {
  text.Family(Type::kGauge, "starling_run_info", "What is trained; always 1.");
  text.Sample(1, {{"run", config.run.name}, {"env", config.env.name}});
  text.Gauge("starling_run_steps", "Steps after which the run is over (run.steps).",
             static_cast<double>(config.run.steps));
  text.Gauge("starling_actors_configured", "actors.count.",
             static_cast<double>(config.actors.count));
  text.Gauge("starling_staleness_bound", "staleness.bound; +Inf if there is none.",
             config.staleness.bound == kUnbounded ? std::numeric_limits<double>::infinity()
                                                  : static_cast<double>(config.staleness.bound));
  text.Gauge("starling_status_timestamp_seconds",
             "When the learner said all this, in seconds since 1970.", unix_s);
}

void AddPhase(const std::string& current, PrometheusText& text) {
  text.Family(Type::kGauge, "starling_phase", "1 for the phase that the run is in, else 0.");
  for (const char* phase : {"waiting", "running", "done"}) {
    text.Sample(current == phase, {{"phase", phase}});
  }
}

// The version in "checkpoints/t0001-v000000012345.safetensors"; no sample before the first.
void AddCheckpoint(const std::string& path, PrometheusText& text) {
  text.Family(Type::kGauge, "starling_checkpoint_version",
              "Version of the weights in the newest checkpoint.");
  const std::size_t at = path.rfind("-v");
  if (at != std::string::npos) {
    text.Sample(static_cast<double>(std::strtoull(path.c_str() + at + 2, nullptr, 10)));
  }
}

void AddStaleness(const learner::StalenessStatus& staleness, PrometheusText& text) {
  // All below Histogram::kLimit: its last bin holds every larger staleness, too.
  static const std::vector<std::uint64_t> kBounds = {0,   1,   2,   3,   4,    6,    8,    12,
                                                     16,  24,  32,  48,  64,   96,   128,  192,
                                                     256, 384, 512, 768, 1024, 1536, 2048, 3072};
  const std::vector<std::uint64_t>& counts = staleness.histogram;
  const auto applied =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  text.Histogram("starling_staleness", "Staleness of the applied gradients, in versions.", counts,
                 kBounds, std::round(staleness.mean * applied));
}

// A sample of each member.
struct ActorMetric {
  Type type;
  const char *name, *help;
  double (*value)(const learner::ActorStatus&);
};

constexpr ActorMetric kOfMembers[] = {
    {Type::kGauge, "starling_actor_version", "Version behind its newest gradient.",
     [](const learner::ActorStatus& actor) { return static_cast<double>(actor.version); }},
    {Type::kGauge, "starling_actor_lag", "Staleness of its last applied gradient.",
     [](const learner::ActorStatus& actor) { return static_cast<double>(actor.staleness); }},
    {Type::kCounter, "starling_actor_gradients_total", "Accepted since it joined.",
     [](const learner::ActorStatus& actor) { return static_cast<double>(actor.accepted); }},
    {Type::kCounter, "starling_actor_steps_total", "In its accepted gradients.",
     [](const learner::ActorStatus& actor) { return static_cast<double>(actor.steps); }},
    {Type::kCounter, "starling_actor_wait_seconds_total", "For grants, since it joined.",
     [](const learner::ActorStatus& actor) { return static_cast<double>(actor.wait_us) / 1e6; }},
    {Type::kGauge, "starling_actor_silent_seconds", "Since it was last heard.",
     [](const learner::ActorStatus& actor) { return actor.silent_s; }},
};

void AddActors(const learner::PublishedStatus& published, PrometheusText& text) {
  // 1. Every slot.
  text.Family(Type::kGauge, "starling_actor_alive", "1 if the slot has a member, else 0.");
  for (const learner::ActorStatus& actor : published.actors) {
    text.Sample(actor.alive, {{"slot", std::to_string(actor.slot)}});
  }
  // 2. The members alone.
  text.Family(Type::kGauge, "starling_actor_info", "Who is in the slot; always 1.");
  for (const learner::ActorStatus& actor : published.actors) {
    if (!actor.alive) continue;
    text.Sample(1,
                {{"slot", std::to_string(actor.slot)}, {"host", actor.host}, {"key", actor.key}});
  }
  for (const ActorMetric& metric : kOfMembers) {
    text.Family(metric.type, metric.name, metric.help);
    for (const learner::ActorStatus& actor : published.actors) {
      if (actor.alive) text.Sample(metric.value(actor), {{"slot", std::to_string(actor.slot)}});
    }
  }
  text.Gauge("starling_actors_not_listed", "Members that have no samples of their own.",
             static_cast<double>(published.not_listed));
}

}  // namespace

// ---- The exposition format

void PrometheusText::Family(Type type, std::string_view name, std::string_view help) {
  family_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                 kTypeNames[static_cast<int>(type)]);
}

void PrometheusText::Sample(double value, const PrometheusLabels& labels) {
  Line("", labels, value);
}

void PrometheusText::Gauge(std::string_view name, std::string_view help, double value) {
  Family(Type::kGauge, name, help);
  Sample(value);
}

void PrometheusText::Histogram(std::string_view name, std::string_view help,
                               const std::vector<std::uint64_t>& counts,
                               const std::vector<std::uint64_t>& bounds, double sum) {
  Family(Type::kHistogram, name, help);
  const auto up_to = [&](std::size_t values) {
    const auto end = counts.begin() + static_cast<std::ptrdiff_t>(std::min(values, counts.size()));
    return static_cast<double>(std::accumulate(counts.begin(), end, std::uint64_t{0}));
  };
  const double all = up_to(counts.size());
  for (const std::uint64_t bound : bounds) {
    Line("_bucket", {{"le", std::to_string(bound)}}, up_to(bound + 1));
  }
  Line("_bucket", {{"le", "+Inf"}}, all);
  Line("_sum", {}, sum);
  Line("_count", {}, all);
}

void PrometheusText::Line(std::string_view suffix, const PrometheusLabels& labels, double value) {
  text_ += family_;
  text_ += suffix;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", i == 0 ? '{' : ',', labels[i].first,
                   EscapedValue(labels[i].second));
  }
  fmt::format_to(std::back_inserter(text_), "{} {}\n", labels.empty() ? "" : "}", Number(value));
}

std::string MetricsPage(const Config& config, const learner::PublishedStatus& published) {
  PrometheusText text;
  AddRun(config, published.unix_s, text);
  AddPhase(published.status.phase, text);
  AddNumbers(learner::ToJson(published.status), text);
  AddCheckpoint(published.status.checkpoint, text);
  AddStaleness(published.status.staleness, text);
  AddActors(published, text);
  return text.text();
}

}  // namespace starling::monitor
