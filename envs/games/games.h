// Every bundled game, a line each, sorted by name. EnvSpec::name is the same.
#pragma once

#include "envs/games/arcade_pong.h"
#include "envs/games/catch.h"
#include "envs/games/classic_cartpole.h"
#include "envs/games/control_reach.h"
#include "envs/games/dummy.h"
#include "envs/games/grid_courier.h"
#include "envs/games/memory_recall.h"
#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "envs/games/minatar_freeway.h"
#include "envs/games/minatar_seaquest.h"
#include "envs/games/minatar_space_invaders.h"

// Expands GAME(type, name) for each.
#define STARLING_GAMES(GAME)                \
  GAME(ArcadePong, "arcade/pong")           \
  GAME(Catch, "catch")                      \
  GAME(ClassicCartpole, "classic/cartpole") \
  GAME(ControlReach, "control/reach")       \
  GAME(ControlSteer, "control/steer")       \
  GAME(Dummy, "dummy")                      \
  GAME(GridCourier, "grid/courier")         \
  GAME(MemoryRecall, "memory/recall")       \
  GAME(MinatarAsterix, "minatar/asterix")   \
  GAME(MinatarBreakout, "minatar/breakout") \
  GAME(MinatarFreeway, "minatar/freeway")   \
  GAME(MinatarSeaquest, "minatar/seaquest") \
  GAME(MinatarSpaceInvaders, "minatar/space_invaders")
