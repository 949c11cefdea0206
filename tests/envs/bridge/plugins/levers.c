/* "levers", and with one fault if one is named. */
#define STARLING_ENV_VERSION 2
#include "tests/envs/bridge/plugins/levers.h"

/* The fault is in episodes of at least 8 steps, which every other seed begins. */
static int32_t mask(void* env, uint8_t* allowed) {
  const levers* self = (const levers*)env;
  levers_mask(env, allowed);
#if defined(WRONG_mask_empty)
  if (self->steps == 2 && self->length >= 8) allowed[3] = allowed[4] = 0;
#endif
  (void)self;
  return 0;
}

const starling_env_v2* starling_env(void) {
  starling_env_v2* table = levers_table();
  table->abi_version = STARLING_ENV_ABI;
  table->mask = mask;
#if defined(WRONG_version_3)
  table->abi_version = 3;
#endif
  return table;
}
