#include "tests/envs/bridge/plugins/counter.h"

const starling_env_v1* starling_env(void) { return counter_table(); }
