// The example with a table of version 1, as it had when this was the only version.
#include "plugin.hpp"
#undef STARLING_ENV
#define STARLING_ENV(Class) \
  static const starling_env_v2* const now = starling::plugin::Exported<Class>::Table()
#include "examples/plugin/glider.cc"

static std::int32_t Step(void* env, std::int32_t choice, float* reward, std::int32_t* end) {
  starling_action action{};
  action.choice = choice;
  return now->step(env, &action, reward, end);
}

extern "C" const starling_env_table* starling_env(void) {
  static const starling_env_v1 first = {1,
                                        sizeof(starling_env_v1),
                                        now->name,
                                        now->entries->height,
                                        now->entries->width,
                                        now->entries->channels,
                                        now->entries->low,
                                        now->entries->high,
                                        *now->counts,
                                        now->action_names,
                                        now->create,
                                        now->destroy,
                                        now->reset,
                                        Step,
                                        now->observe,
                                        now->lives,
                                        now->error,
                                        now->save,
                                        now->restore};
  return reinterpret_cast<const starling_env_table*>(&first);
}
