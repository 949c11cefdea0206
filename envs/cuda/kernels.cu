// The kernels of envs/cuda/play.h for every game in the table of gpu.cc.
#include "core/cuda/each.cuh"
#include "envs/cuda/play.h"
#include "envs/games/arcade_pong.h"
#include "envs/games/catch.h"
#include "envs/games/dummy.h"
#include "envs/games/memory_recall.h"
#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "envs/games/minatar_freeway.h"
#include "envs/games/minatar_seaquest.h"
#include "envs/games/minatar_space_invaders.h"

namespace starling::cuda {

#define STARLING_GAME(G)                                                                     \
  template void ForEachWarp<envs::ResetGame<envs::G>>(void*, long long, std::size_t,         \
                                                      const envs::ResetGame<envs::G>& body); \
  template void ForEachWarp<envs::StepGame<envs::G>>(void*, long long, std::size_t,          \
                                                     const envs::StepGame<envs::G>& body)

STARLING_GAME(ArcadePong);
STARLING_GAME(Catch);
STARLING_GAME(Dummy);
STARLING_GAME(MemoryRecall);
STARLING_GAME(MinatarAsterix);
STARLING_GAME(MinatarBreakout);
STARLING_GAME(MinatarFreeway);
STARLING_GAME(MinatarSeaquest);
STARLING_GAME(MinatarSpaceInvaders);

#undef STARLING_GAME

}  // namespace starling::cuda
