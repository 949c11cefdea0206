// Lets exceptions out of a function of the table, which it should not.
#include <stdexcept>

#include "tests/envs/bridge/plugins/counter.h"

static int32_t throwing_step(void*, int32_t, float*, int32_t*) {
  throw std::runtime_error("nobody caught me");
}

const starling_env_v1* starling_env(void) {
  starling_env_v1* table = counter_table();
  table->step = throwing_step;
  return table;
}
