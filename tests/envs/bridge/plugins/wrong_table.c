/* One thing about the table is wrong. */
#include <math.h>

#include "tests/envs/bridge/plugins/counter.h"

#define NAME_64 "0123456789012345678901234567890123456789012345678901234567890123"

const starling_env_v1* starling_env(void) {
  starling_env_v1* table = counter_table();
#if defined(WRONG_version)
  table->abi_version = 7;
#elif defined(WRONG_struct_size)
  table->struct_size = 64;
#elif defined(WRONG_null_table)
  table = NULL;
#elif defined(WRONG_no_create)
  table->create = NULL;
#elif defined(WRONG_no_destroy)
  table->destroy = NULL;
#elif defined(WRONG_no_reset)
  table->reset = NULL;
#elif defined(WRONG_no_step)
  table->step = NULL;
#elif defined(WRONG_no_observe)
  table->observe = NULL;
#elif defined(WRONG_no_restore)
  table->restore = NULL;
#elif defined(WRONG_no_save)
  table->save = NULL;
#elif defined(WRONG_older)
  table->struct_size = 104; /* up to `error`, as plug-ins were once built */
#elif defined(WRONG_height)
  table->height = -1;
#elif defined(WRONG_width_zero)
  table->width = 0;
#elif defined(WRONG_channels)
  table->channels = -2147483647;
#elif defined(WRONG_too_large)
  table->height = table->width = table->channels = 1 << 30;
#elif defined(WRONG_low_nan)
  table->low = NAN;
#elif defined(WRONG_bounds)
  table->low = table->high;
#elif defined(WRONG_no_actions)
  table->num_actions = 0;
#elif defined(WRONG_many_actions)
  table->num_actions = 65537;
#elif defined(WRONG_no_action_names)
  table->action_names = NULL;
#elif defined(WRONG_null_action_name)
  static const char* const names[] = {"pass", NULL};
  table->action_names = names;
#elif defined(WRONG_no_name)
  table->name = NULL;
#elif defined(WRONG_empty_name)
  table->name = "";
#elif defined(WRONG_endless_name)
  table->name = NAME_64;
#elif defined(WRONG_name_no_utf_8)
  table->name = "caf\xe9";
#elif defined(WRONG_action_no_utf_8)
  static const char* const names[] = {"pass", "\xc0\x80"};
  table->action_names = names;
#else
#error "what is to be wrong?"
#endif
  return table;
}
