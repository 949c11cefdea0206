/* A small env that keeps to version 2 of envs/plugin.h, for plug-ins that change one thing.
 *
 * "levers": a lever of three positions and one of two. An action moves both; none may stay where it
 * is. An episode lasts 4 to 11 steps, as its seed says, and then every move is forbidden. The
 * reward of a step is 1 if lever 0 is now at its target, 1; it is -10 if a lever was not moved.
 * Observed: "panel" (2, 3, 1) within [0, 1]: a row for each lever, 1 at its position; "clock"
 * (1, 1, 2) within [-1, 11]: steps so far, and how far lever 0 is from the target. */
#ifndef STARLING_TESTS_LEVERS_H_
#define STARLING_TESTS_LEVERS_H_

#include <stdlib.h>
#include <string.h>

#include "envs/plugin.h"

#ifndef LEVERS_END
#define LEVERS_END STARLING_TERMINATED
#endif

typedef struct {
  int32_t at[2], steps, length;
} levers;

static const int32_t levers_counts[] = {3, 2};

static void* levers_create(void) { return calloc(1, sizeof(levers)); }
static void levers_destroy(void* env) { free(env); }

static int32_t levers_reset(void* env, uint64_t seed) {
  levers* self = (levers*)env;
  self->steps = 0;
  self->length = 4 + (int32_t)(seed % 8);
  self->at[0] = (int32_t)(seed / 8 % 3);
  self->at[1] = (int32_t)(seed / 24 % 2);
  return 0;
}

static int32_t levers_step(void* env, const starling_action* action, float* reward, int32_t* end) {
  levers* self = (levers*)env;
  int i;
  *reward = action[0].choice == 1;
  for (i = 0; i < 2; ++i) {
    if (action[i].choice == self->at[i]) *reward = -10;
    self->at[i] = action[i].choice;
  }
  if (self->steps < self->length) ++self->steps; /* a forged state may be at the end */
  if (self->steps == self->length) *end = LEVERS_END;
  return 0;
}

static int32_t levers_observe(void* env, float* values) {
  const levers* self = (const levers*)env;
  int i;
  for (i = 0; i < 6; ++i) values[i] = 0;
  values[self->at[0]] = values[3 + self->at[1]] = 1;
  values[6] = (float)self->steps;
  values[7] = (float)(self->at[0] - 1);
  return 0;
}

static int32_t levers_mask(void* env, uint8_t* allowed) {
  const levers* self = (const levers*)env;
  const int over = LEVERS_END == STARLING_TERMINATED && self->steps == self->length;
  int i;
  for (i = 0; i < 5; ++i) allowed[i] = !over && i != self->at[0] && i != 3 + self->at[1];
  return 0;
}

static const char* levers_error(void* env) {
  (void)env;
  return "a lever broke";
}

static int32_t levers_save(void* env, void* bytes, uint64_t room, uint64_t* size) {
  *size = sizeof(levers);
  if (room >= *size) memcpy(bytes, env, sizeof(levers));
  return 0;
}

static int32_t levers_restore(void* env, const void* bytes, uint64_t size) {
  levers saved;
  int i;
  if (size != sizeof saved) return 1;
  memcpy(&saved, bytes, sizeof saved);
  for (i = 0; i < 2; ++i) {
    if (saved.at[i] < 0 || saved.at[i] >= levers_counts[i]) return 1;
  }
  if (saved.steps < 0 || saved.steps > saved.length || saved.length > 11) return 1;
  memcpy(env, &saved, sizeof saved);
  return 0;
}

static const starling_entry levers_entries[] = {{"panel", 2, 3, 1, 0, 1},
                                                {"clock", 1, 1, 2, -1, 11}};

/* To be changed before it is returned. */
static starling_env_v2* levers_table(void) {
  static starling_env_v2 table = {2,
                                  sizeof(starling_env_v2),
                                  "levers",
                                  2,
                                  levers_entries,
                                  STARLING_CHOICES,
                                  2,
                                  levers_counts,
                                  NULL,
                                  NULL,
                                  NULL,
                                  levers_create,
                                  levers_destroy,
                                  levers_reset,
                                  levers_step,
                                  levers_observe,
                                  levers_mask,
                                  NULL,
                                  levers_error,
                                  levers_save,
                                  levers_restore};
  return &table;
}

#endif
