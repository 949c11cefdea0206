/* An environment of your own, for env.name = "plugin:./mine.so": the binary interface.
 *
 * Build a shared library that exports one function, starling_env(). Neither the library nor this
 * header depends on anything else of Starling, and a library built once works with later versions.
 * C99 and C++. In C++, envs/plugin.hpp is shorter; docs/environments-plugin.md is the manual.
 *
 * There are two versions of the table, and Starling plays both:
 *   1   one choice, one array is observed. A source that says nothing has this version.
 *   2   several choices or a box, masks, one or several arrays. A source chooses it by
 *         #define STARLING_ENV_VERSION 2
 *       before this header.
 *
 * Rules for every function below
 *   Threads     Calls for one env never overlap, create to destroy. One thread plays all envs of a
 *               process in turns. Keep each env's state in the object that create returns.
 *               Functions of two processes may run at once.
 *   Ownership   Everything you return (the table, strings, envs) stays yours. Buffers passed to you
 *               are valid during the call only. The library stays loaded until its process ends.
 *   Errors      A function that returns int32_t returns 0 for success, anything else for failure. A
 *               failure ends the actor with your sentence (see error), or only the episode if
 *               env.isolate = true. An exception that leaves a function is a failure, too.
 *   Numbers     Every float you return must be finite. The processor rounds denormal floats to 0.
 *   Seeds       An episode may depend only on the seed passed to reset and on the actions: no
 *               clock, no rand(), nothing kept of the episode before.
 *
 * Rules for growth: new members are added at the end only, and a plug-in may lack them; struct_size
 * shows which ones it has. Any other change gets a new abi_version. The first two members are the
 * same in every version.
 */
#ifndef STARLING_ENVS_PLUGIN_H_
#define STARLING_ENVS_PLUGIN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(STARLING_ENV_VERSION) || STARLING_ENV_VERSION == 1
#define STARLING_ENV_ABI 1u
#elif STARLING_ENV_VERSION == 2
#define STARLING_ENV_ABI 2u
#else
#error "STARLING_ENV_VERSION must be 1 or 2"
#endif

#if defined(__GNUC__)
#define STARLING_ENV_EXPORT __attribute__((visibility("default")))
#else
#define STARLING_ENV_EXPORT
#endif

/* How a step left the episode. */
#define STARLING_RUNNING 0
#define STARLING_TERMINATED 1 /* the game is over */
#define STARLING_TRUNCATED 2  /* stopped early: the final state still has a value */

/* ---- Version 1 ---- */

typedef struct starling_env_v1 {
  uint32_t abi_version; /* 1: STARLING_ENV_ABI */
  uint32_t struct_size; /* sizeof(starling_env_v1) */

  const char* name; /* of the game, UTF-8, 1 to 63 bytes */

  /* An observation is height * width * channels floats in C order, channels last; each at least 1,
   * the product at most 67 108 864. A vector of n numbers is (1, 1, n). Every value lies within
   * [low, high], low < high, both finite. */
  int32_t height, width, channels;
  float low, high;

  /* 1 to 65536 actions, numbered from 0, and a name (as `name`) for each. Action 0 should be
   * harmless to repeat: it is the no-op (env.noop_max). */
  int32_t num_actions;
  const char* const* action_names;

  /* A new env, in any state: the first call is reset. NULL is failure. */
  void* (*create)(void);

  /* The last call for this env; it cannot fail. */
  void (*destroy)(void* env);

  /* Begins an episode, whether or not the last one has ended. `seed` may be any number. Each
   * episode gets its own; a repetition of the run gets the same ones. */
  int32_t (*reset)(void* env, uint64_t seed);

  /* Plays one step of an episode that has not ended. `action` is in [0, num_actions). Sets *reward
   * and *end (one of STARLING_RUNNING, ...), which are 0 before. */
  int32_t (*step)(void* env, int32_t action, float* reward, int32_t* end);

  /* Writes all height * width * channels floats of the observation. Called after every reset and
   * every step, also after the last step of an episode. `values` is undefined before. */
  int32_t (*observe)(void* env, float* values);

  /* The lives left, after a reset or a step (env.life_loss_ends). Negative is failure. NULL if the
   * game has no lives. */
  int32_t (*lives)(void* env);

  /* Called right after a failure; returns a sentence about its cause, or NULL. `env` is NULL if
   * create failed. The text is read at once. The member may be NULL. */
  const char* (*error)(void* env);

  /* The state of an env as bytes, with which a run goes on exactly after a stop. Both, or both
   * NULL: then the env begins a new episode. Both are called between two calls of the functions
   * above; save only after a reset, restore also right after create.
   *
   * save sets *size to the number of bytes, at most 67 108 864, and writes them if *size <= room;
   * else it is called again with enough room. It changes nothing in the env, and writes the same
   * bytes each time. */
  int32_t (*save)(void* env, void* bytes, uint64_t room, uint64_t* size);

  /* Puts the env into a saved state: all further steps and observations are those of the env that
   * was saved. Bytes that are no such state are a failure; then only reset or destroy follow. */
  int32_t (*restore)(void* env, const void* bytes, uint64_t size);
} starling_env_v1;

/* ---- Version 2: members not described here are as in version 1 ---- */

/* An array that is observed. */
typedef struct starling_entry {
  const char* name; /* UTF-8, 1 to 63 bytes, no two alike; may be NULL if there is one entry */
  int32_t height, width, channels;
  float low, high; /* of its values */
} starling_entry;

/* How an action is made up. */
#define STARLING_CHOICES 0
#define STARLING_BOX 1 /* a point, of one number for each coordinate */

/* One choice or one coordinate of an action. */
typedef union starling_action {
  int32_t choice;   /* STARLING_CHOICES: in [0, its count) */
  float coordinate; /* STARLING_BOX: finite, in [its action_low, its action_high] */
} starling_action;

typedef struct starling_env_v2 {
  uint32_t abi_version; /* 2: STARLING_ENV_ABI */
  uint32_t struct_size; /* sizeof(starling_env_v2) */

  const char* name;

  /* An observation is 1 to 256 entries, one after the other: together at most 67 108 864 numbers,
   * the bytes of the mask included. */
  int32_t num_entries;
  const starling_entry* entries;

  /* An action is 1 to 65536 choices, or a point of 1 to 65536 coordinates. */
  int32_t action_kind; /* STARLING_CHOICES or STARLING_BOX */
  int32_t num_actions; /* the number of choices or coordinates */
  /* STARLING_CHOICES, else NULL: the number of values of each choice, 1 or more; together at most
   * 65536. Value 0 should be harmless to repeat, as action 0 of version 1. */
  const int32_t* counts;
  /* A name for each value of a single choice. NULL (always, if there are several choices): they are
   * called 0, 1, ... */
  const char* const* action_names;
  /* STARLING_BOX, else NULL: the bounds of each coordinate, low <= high. They may be infinite, with
   * a finite number between them. */
  const float *action_low, *action_high;

  void* (*create)(void);
  void (*destroy)(void* env);
  int32_t (*reset)(void* env, uint64_t seed);

  /* `action` has num_actions elements. */
  int32_t (*step)(void* env, const starling_action* action, float* reward, int32_t* end);

  /* Writes all values of all entries. */
  int32_t (*observe)(void* env, float* values);

  /* Writes a byte for each value of all choices, those of choice 0 first: 1 if it is allowed in the
   * next step, 0 if not. At least one value of each choice must be allowed, except after a step
   * that set STARLING_TERMINATED. Called after every observe; `allowed` is undefined before.
   * Policies draw allowed values only. NULL if all values are always allowed, and for a box. */
  int32_t (*mask)(void* env, uint8_t* allowed);

  int32_t (*lives)(void* env);
  const char* (*error)(void* env);
  int32_t (*save)(void* env, void* bytes, uint64_t room, uint64_t* size);
  int32_t (*restore)(void* env, const void* bytes, uint64_t size);
} starling_env_v2;

/* ---- What the library exports ---- */

#if !defined(STARLING_ENV_VERSION) || STARLING_ENV_VERSION == 1
typedef starling_env_v1 starling_env_table;
#else
typedef starling_env_v2 starling_env_table;
#endif

/* Called once; the table never changes afterwards. */
STARLING_ENV_EXPORT const starling_env_table* starling_env(void);

#ifdef __cplusplus
}
#endif

#endif /* STARLING_ENVS_PLUGIN_H_ */
