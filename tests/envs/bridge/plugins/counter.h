/* A small env that keeps to envs/plugin.h, for plug-ins that change one thing about it.
 *
 * "counter": an episode lasts 2 to 5 steps, as its seed says; the reward of a step is its action.
 * Observed: (1, 2, 3) values within [0, 10]: steps so far, the length, the action, 0, 0, 0. One
 * life is left, 0 at the end. Two actions. */
#ifndef STARLING_TESTS_COUNTER_H_
#define STARLING_TESTS_COUNTER_H_

#include <stdlib.h>
#include <string.h>

#include "envs/plugin.h"

#ifndef COUNTER_END
#define COUNTER_END STARLING_TERMINATED
#endif

typedef struct {
  int steps, length, action;
} counter;

static void* counter_create(void) { return calloc(1, sizeof(counter)); }
static void counter_destroy(void* env) { free(env); }

static int32_t counter_reset(void* env, uint64_t seed) {
  counter* self = (counter*)env;
  self->steps = self->action = 0;
  self->length = 2 + (int)(seed % 4);
  return 0;
}

static int32_t counter_step(void* env, int32_t action, float* reward, int32_t* end) {
  counter* self = (counter*)env;
  self->action = action;
  *reward = (float)action;
  if (++self->steps == self->length) *end = COUNTER_END;
  return 0;
}

static int32_t counter_observe(void* env, float* values) {
  const counter* self = (const counter*)env;
  values[0] = (float)self->steps;
  values[1] = (float)self->length;
  values[2] = (float)self->action;
  values[3] = values[4] = values[5] = 0;
  return 0;
}

static int32_t counter_lives(void* env) {
  const counter* self = (const counter*)env;
  return self->steps < self->length;
}

static const char* counter_error(void* env) {
  return env == NULL ? "nothing could be made" : "the dice fell\nfrom the table";
}

static int32_t counter_save(void* env, void* bytes, uint64_t room, uint64_t* size) {
  *size = sizeof(counter);
  if (room >= *size) memcpy(bytes, env, sizeof(counter));
  return 0;
}

static int32_t counter_restore(void* env, const void* bytes, uint64_t size) {
  if (size != sizeof(counter)) return 1;
  memcpy(env, bytes, sizeof(counter));
  return 0;
}

static const char* const counter_actions[] = {"pass", "count"};

/* To be changed before it is returned. */
static starling_env_v1* counter_table(void) {
  static starling_env_v1 table = {STARLING_ENV_ABI,
                                  sizeof(starling_env_v1),
                                  "counter",
                                  1,
                                  2,
                                  3,
                                  0,
                                  10,
                                  2,
                                  counter_actions,
                                  counter_create,
                                  counter_destroy,
                                  counter_reset,
                                  counter_step,
                                  counter_observe,
                                  counter_lives,
                                  counter_error,
                                  counter_save,
                                  counter_restore};
  return &table;
}

#endif
