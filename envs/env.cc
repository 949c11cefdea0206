#include "envs/env.h"

namespace starling::envs {

void EpisodeFields(StateBytes& state, std::vector<EpisodeEnd>& episodes, int num_envs) {
  state.List(episodes, [&](EpisodeEnd& episode) {
    state(episode.env, 0, num_envs - 1);
    state(episode.episode_return);
    state(episode.length, 0, kLongestEpisode);
    state(episode.end, End::kTerminated, End::kCut);
  });
}

}  // namespace starling::envs
