/* An environment of your own, for env.name = "plugin:./mine.so": the binary interface.
 *
 * Build a shared library that exports one function, starling_env(), and that is all: neither it nor
 * this header depends on anything else of Starling, and a library built once goes on working with
 * later versions. C99 and C++. In C++, envs/plugin.hpp is shorter; docs/environments-plugin.md
 * tells the whole story.
 *
 * Rules for every function below
 *   Threads     All calls for one env come one at a time, create to destroy. Envs of one process
 *               are played in turns by one thread; keep their state apart all the same, in what
 *               create returns. Functions of two processes may run at once.
 *   Ownership   What you return (the table, strings, envs) stays yours. Buffers you are handed are
 *               valid during the call only. The library stays loaded until its process ends.
 *   Errors      A function that returns int32_t says 0 for success and anything else for failure.
 *               A failure ends the actor with your sentence (see error), or costs the episode
 *               where env.isolate = true. No C++ exception should leave a function; one that does
 *               is a failure too.
 *   Numbers     Every float you hand out must be finite. The processor rounds denormal floats to 0.
 *   Seeds       An episode must follow from the seed handed to reset and from the actions alone:
 *               no clock, no rand(), nothing kept of the episode before.
 *
 * Rules for growth: a new member is only ever added at the end, and may be missing; struct_size
 * tells which ones a plug-in knows. What cannot be said that way gets a new abi_version. The first
 * two members stay as they are in every version.
 */
#ifndef STARLING_ENVS_PLUGIN_H_
#define STARLING_ENVS_PLUGIN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STARLING_ENV_ABI 1u

#if defined(__GNUC__)
#define STARLING_ENV_EXPORT __attribute__((visibility("default")))
#else
#define STARLING_ENV_EXPORT
#endif

/* How a step left the episode. */
#define STARLING_RUNNING 0
#define STARLING_TERMINATED 1 /* the game is over */
#define STARLING_TRUNCATED 2  /* stopped early: the state is worth what would have followed */

typedef struct starling_env_v1 {
  uint32_t abi_version; /* STARLING_ENV_ABI */
  uint32_t struct_size; /* sizeof(starling_env_v1) */

  const char* name; /* of the game, UTF-8, 1 to 63 bytes */

  /* An observation is height * width * channels floats in C order, channels last; each at least 1,
   * the product at most 67 108 864. A vector of n numbers is (1, 1, n). Every value lies within
   * [low, high], low < high, both finite. */
  int32_t height, width, channels;
  float low, high;

  /* 1 to 65536 actions, numbered from 0, and as many names (as `name`). Action 0 should be one that
   * may be repeated harmlessly: it is what is played where nothing is to be done (env.noop_max). */
  int32_t num_actions;
  const char* const* action_names;

  /* A new env, in any state: reset is called before anything else. NULL is failure. */
  void* (*create)(void);

  /* The last call for this env; it cannot fail. */
  void (*destroy)(void* env);

  /* Begins an episode, whether or not the last one has ended. Any seed is a good one; env i of a
   * run gets a new one for each of its episodes, the same ones whenever the run is repeated. */
  int32_t (*reset)(void* env, uint64_t seed);

  /* Plays one step of an episode that has not ended. `action` is in [0, num_actions). Sets *reward
   * and *end (one of STARLING_RUNNING, ...), which are 0 before. */
  int32_t (*step)(void* env, int32_t action, float* reward, int32_t* end);

  /* Writes all height * width * channels floats of what is to be seen now. Called after every reset
   * and every step, the last step of an episode too. What `values` holds before is undefined. */
  int32_t (*observe)(void* env, float* values);

  /* The lives that are left, after a reset or a step: env.life_loss_ends takes a loss for an end.
   * Negative is failure. NULL if there is no such thing. */
  int32_t (*lives)(void* env);

  /* Called right after a failure, for a sentence that says what went wrong; `env` is NULL if it was
   * create that failed. The text is read at once. NULL if you have none to tell. */
  const char* (*error)(void* env);
} starling_env_v1;

/* What the library exports. Called once; the table never changes afterwards. */
STARLING_ENV_EXPORT const starling_env_v1* starling_env(void);

#ifdef __cplusplus
}
#endif

#endif /* STARLING_ENVS_PLUGIN_H_ */
