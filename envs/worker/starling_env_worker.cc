// starling-env-worker: plays isolated plug-ins (env.isolate) for an actor that started it.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "core/denormals.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"
#include "envs/worker/serve.h"

using namespace starling;

namespace {

// At once: the plug-in that is in trouble is not asked for anything any more, exit handlers
// included. The sentence comes last of all that is printed: it is what people are shown.
[[noreturn]] void End(const char* sentence) {
  std::fflush(nullptr);
  std::fprintf(stderr, "%s\n", sentence);
  std::_Exit(kExitFailed);
}

}  // namespace

int main() {
  for (const int fd : {envs::kWorkerControlFd, envs::kWorkerMemoryFd}) {
    // Processes that a plug-in starts are not to hold them open.
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) continue;
    std::fputs("starling-env-worker is started by Starling where env.isolate = true\n", stderr);
    return kExitUserError;
  }
  FlushDenormals();  // as in the actor, so that an episode is the same in both
  try {
    return envs::ServePlugin(envs::kWorkerControlFd, envs::kWorkerMemoryFd);
  } catch (const std::exception& error) {
    End(error.what());
  }
}
