#include "learner/counters.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

namespace starling::learner {

namespace {

void Remember(std::deque<double>& recent, double value) {
  recent.push_back(value);
  if (recent.size() > Counters::kEpisodeWindow) recent.pop_front();
}

double Mean(const std::deque<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

nlohmann::json ToJson(const Histogram& histogram) {
  return {{"counts", histogram.counts()}, {"max", histogram.max()}, {"mean", histogram.mean()}};
}

Histogram HistogramFrom(const nlohmann::json& json) {
  return {json.at("counts").get<std::vector<std::uint64_t>>(), json.at("max").get<std::uint64_t>(),
          json.at("mean").get<double>()};
}

}  // namespace

void Counters::AddEpisodes(const wire::Gradient& gradient) {
  static_assert(wire::kMaxEpisodes >= kEpisodeWindow, "a message fills the window");
  episodes += gradient.episodes_before;
  for (const wire::Episode& episode : gradient.episodes) {
    if (!std::isfinite(episode.episode_return)) continue;
    ++episodes;
    Remember(recent_returns, episode.episode_return);
    Remember(recent_lengths, static_cast<double>(episode.length));
  }
}

std::uint64_t Counters::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& item) { return sum + item.second; });
}

double Counters::mean_return() const { return Mean(recent_returns); }
double Counters::mean_length() const { return Mean(recent_lengths); }

std::string Counters::Save() const {
  nlohmann::json json{
      {"applied", applied},
      {"merged", merged},
      {"dropped", dropped},
      {"frames_refused", frames_refused},
      {"updates", updates},
      {"deadlines", deadlines},
      {"breaks", breaks},
      {"staleness_counts", staleness.counts()},
      {"staleness_max", staleness.max()},
      {"staleness_mean", staleness.mean()},
      {"episodes", episodes},
      {"episodes_cut", episodes_cut},
      {"envs_replaced", envs_replaced},
      {"recent_returns", recent_returns},
      {"recent_lengths", recent_lengths},
      {"seconds", seconds},
  };
  if (!data_age.counts().empty()) json["data_age"] = ToJson(data_age);
  return json.dump();
}

// Keys that later versions added are optional, so that older checkpoints still load.
Counters Counters::Restore(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Counters counters;
    json.at("applied").get_to(counters.applied);
    json.at("merged").get_to(counters.merged);
    json.at("dropped").get_to(counters.dropped);
    json.at("frames_refused").get_to(counters.frames_refused);
    json.at("updates").get_to(counters.updates);
    json.at("deadlines").get_to(counters.deadlines);
    counters.breaks = json.value("breaks", counters.breaks);
    counters.staleness = Histogram(json.at("staleness_counts").get<std::vector<std::uint64_t>>(),
                                   json.at("staleness_max").get<std::uint64_t>(),
                                   json.at("staleness_mean").get<double>());
    if (json.contains("data_age")) counters.data_age = HistogramFrom(json.at("data_age"));
    json.at("episodes").get_to(counters.episodes);
    counters.episodes_cut = json.value("episodes_cut", counters.episodes_cut);
    counters.envs_replaced = json.value("envs_replaced", counters.envs_replaced);
    json.at("recent_returns").get_to(counters.recent_returns);
    counters.recent_lengths = json.value("recent_lengths", counters.recent_lengths);
    json.at("seconds").get_to(counters.seconds);
    counters.received = counters.applied + counters.dropped_total();
    return counters;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("the checkpoint's counters are not readable: ") +
                             error.what());
  }
}

}  // namespace starling::learner
