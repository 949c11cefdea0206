/* A trained policy plays Catch, whose game is in this file: no environment of Starling is used.
 *
 *   scripts/train configs/catch.toml && scripts/build release libstarling
 *   lib=$PWD/build/release/lib
 *   cc -I api examples/policy/catch.c -L $lib -lstarling -Wl,-rpath,$lib -o catch
 *   ./catch runs/catch
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starling.h"

enum { ROWS = 10, COLUMNS = 5, STAY = 0, LEFT = 1, RIGHT = 2, EPISODES = 1000 };

/* Ends the program with the library's sentence, unless `status` is STARLING_OK. */
static void check(starling_status status) {
  if (status == STARLING_OK) return;
  fprintf(stderr, "catch: %s\n", starling_error());
  exit(status);
}

/* Lets a ball fall through the grid. Returns 1 if the paddle in the bottom row catches it, else
 * -1. */
static int play(starling_policy* policy) {
  const int ball = rand() % COLUMNS;
  int paddle = COLUMNS / 2;
  for (int row = 0; row < ROWS - 1; ++row) {
    float picture[ROWS * COLUMNS] = {0}; /* (height, width, channels) = (10, 5, 1) */
    picture[row * COLUMNS + ball] = 1;
    picture[(ROWS - 1) * COLUMNS + paddle] = 1;
    int32_t action = STAY;
    check(starling_policy_act(policy, picture, NULL, &action));
    if (action == LEFT && paddle > 0) --paddle;
    if (action == RIGHT && paddle < COLUMNS - 1) ++paddle;
  }
  return paddle == ball ? 1 : -1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s RUN_OR_CHECKPOINT\n", argv[0]);
    return STARLING_MISTAKE;
  }
  /* 1. Open the policy: the likeliest action, in one environment. */
  starling_policy_options options = {0};
  options.size = sizeof(options);
  options.greedy = 1;
  starling_policy* policy = NULL;
  check(starling_policy_open(argv[1], &options, &policy));
  /* 2. It must have learnt this game. */
  starling_spaces spaces = {0};
  spaces.size = sizeof(spaces);
  check(starling_policy_spaces(policy, &spaces));
  if (strcmp(spaces.env, "catch") != 0) {
    fprintf(stderr, "catch: %s has learnt %s\n", argv[1], spaces.env);
    return STARLING_MISTAKE;
  }
  /* 3. Play. */
  int score = 0;
  for (int episode = 0; episode < EPISODES; ++episode) {
    starling_policy_reset(policy, NULL); /* no effect on a policy without memory */
    score += play(policy);
  }
  printf("mean return %.3f in %d episodes\n", (double)score / EPISODES, EPISODES);
  starling_policy_close(policy);
  return 0;
}
