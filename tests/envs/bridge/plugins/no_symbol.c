/* A shared library, but no plug-in. */
#include "envs/plugin.h"

STARLING_ENV_EXPORT int starling_environment(void);
int starling_environment(void) { return 1; }
