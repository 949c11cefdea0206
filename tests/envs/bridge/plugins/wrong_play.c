/* The table is right; something goes wrong while it plays: at the second step of an episode of at
 * least four, which every other seed begins, unless it says otherwise. */
#define _POSIX_C_SOURCE 200809L /* pause */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/envs/bridge/plugins/counter.h"

/* Whether it is time. */
static int now(void* env) {
  const counter* self = (const counter*)env;
  return self->steps == 2 && self->length >= 4;
}

static void* create(void) {
#if defined(WRONG_create)
  return NULL;
#else
  return counter_create();
#endif
}

static int32_t reset(void* env, uint64_t seed) {
#if defined(WRONG_reset)
  (void)env, (void)seed;
  return 1;
#elif defined(WRONG_exit_reset)
  (void)env, (void)seed;
  exit(0);
#else
  return counter_reset(env, seed);
#endif
}

static int32_t step(void* env, int32_t action, float* reward, int32_t* end) {
  counter_step(env, action, reward, end);
  if (!now(env)) return 0;
#if defined(WRONG_step)
  return -3;
#elif defined(WRONG_reward_nan)
  *reward = NAN;
#elif defined(WRONG_reward_infinite)
  *reward = -INFINITY;
#elif defined(WRONG_end)
  *end = 3;
#elif defined(WRONG_segfault)
  raise(SIGSEGV);
#elif defined(WRONG_abort)
  abort();
#elif defined(WRONG_exit)
  printf("I had enough\n");
  exit(9);
#elif defined(WRONG_hang)
  for (;;) pause();
#elif defined(WRONG_chatter)
  for (int i = 0; i < 100000; ++i) puts("a plug-in that says a lot, on the way to nothing at all");
#endif
  return 0;
}

static int32_t observe(void* env, float* values) {
  const float before = values[4];
  counter_observe(env, values);
  if (!now(env)) return 0;
#if defined(WRONG_observe)
  return 1;
#elif defined(WRONG_seen_nan)
  values[4] = NAN;
#elif defined(WRONG_seen_infinite)
  values[4] = INFINITY;
#elif defined(WRONG_seen_high)
  values[4] = 10.5f;
#elif defined(WRONG_seen_low)
  values[4] = -1;
#elif defined(WRONG_unwritten)
  values[4] = before;
#elif defined(WRONG_overrun)
  values[6] = 1;
#endif
  (void)before;
  return 0;
}

static int32_t lives(void* env) {
#if defined(WRONG_lives)
  if (now(env)) return -1;
#endif
  return counter_lives(env);
}

static int32_t save(void* env, void* bytes, uint64_t room, uint64_t* size) {
#if defined(WRONG_save)
  (void)env, (void)bytes, (void)room, (void)size;
  return 1;
#elif defined(WRONG_save_dies)
  if (room == 0) return counter_save(env, bytes, room, size);
  raise(SIGSEGV);
  return 0;
#elif defined(WRONG_huge_state)
  (void)env, (void)bytes, (void)room;
  *size = 1ull << 40;
  return 0;
#else
  return counter_save(env, bytes, room, size);
#endif
}

static int32_t restore(void* env, const void* bytes, uint64_t size) {
#if defined(WRONG_restore)
  (void)env, (void)bytes, (void)size;
  return 1;
#else
  return counter_restore(env, bytes, size);
#endif
}

const starling_env_v1* starling_env(void) {
  starling_env_v1* table = counter_table();
  table->create = create;
  table->reset = reset;
  table->step = step;
  table->observe = observe;
  table->lives = lives;
  table->save = save;
  table->restore = restore;
  return table;
}
