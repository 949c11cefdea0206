// The kernels of envs/cuda/play.h for every game in the table of games.h, and those of their
// episodes.
#include "core/cuda/each.cuh"
#include "envs/cuda/play.h"
#include "envs/games/games.h"

namespace starling::cuda {

#define STARLING_GAME(G, name)                                                               \
  template void ForEachWarp<envs::ResetGame<envs::G>>(void*, long long, std::size_t,         \
                                                      const envs::ResetGame<envs::G>& body); \
  template void ForEachWarp<envs::StepGame<envs::G>>(void*, long long, std::size_t,          \
                                                     const envs::StepGame<envs::G>& body);

STARLING_GAMES(STARLING_GAME)
#undef STARLING_GAME

template void ForEachWarp(void*, long long, std::size_t, const envs::CountEpisodes&);
template void ForEachWarp(void*, long long, std::size_t, const envs::KeepNewestEpisodes&);

}  // namespace starling::cuda
