#include "tools/replay/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace starling::replay {

Timeline::Timeline(const std::filesystem::path& run_dir, VersionRange range,
                   std::size_t max_listed) {
  // 1. The newest of them that are not too many.
  std::deque<TimelineUpdate> newest;
  std::size_t listed = 0, all = 0;
  Updates updates(run_dir);
  while (auto update = updates.Next()) {
    const std::uint64_t version = update->update.version;
    if (version <= range.after) continue;
    if (version > range.last) break;
    listed += update->gradients.size();
    all += update->gradients.size();
    newest.push_back({.details = *std::move(update)});
    while (listed > max_listed && newest.size() > 1) {
      listed -= newest.front().details.gradients.size();
      newest.pop_front();
    }
  }
  // 2. Those must be all.
  if (newest.empty()) {
    throw UserError(fmt::format("{} holds no version after {} up to {}: records are missing there",
                                (run_dir / "journal").string(), range.after, range.last));
  }
  if (all > listed) {
    throw UserError(fmt::format(
        "these updates have {} gradients, and a page lists {}: ask for a part, such as --after {}",
        Grouped(all), Grouped(max_listed), newest.front().version() - 1));
  }
  updates_.assign(std::move_iterator(newest.begin()), std::move_iterator(newest.end()));
}

void Timeline::Replayed(std::uint64_t version, const std::vector<wire::Gradient>& gradients) {
  const auto found = std::ranges::lower_bound(updates_, version, {}, &TimelineUpdate::version);
  if (found == updates_.end() || found->version() != version) return;
  TimelineUpdate& update = *found;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const wire::Gradient& gradient = gradients[i];
    double& norm = update.details.gradients[i].norm;
    if (norm == 0) norm = gradient.norm;  // a branch's journal does not know it
    update.losses.push_back({.policy = gradient.policy_loss,
                             .value = gradient.value_loss,
                             .entropy = gradient.entropy});
    for (const wire::Episode& episode : gradient.episodes) {
      update.returns.push_back(episode.episode_return);
    }
  }
}

}  // namespace starling::replay
