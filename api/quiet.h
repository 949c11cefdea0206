// A guest is quiet: the library logs warnings alone.
#pragma once

#include "core/log.h"

namespace starling::api {

// Called first by whatever may log, so no other thread logs during InitLog.
inline void BeQuiet() {
  [[maybe_unused]] static const bool once = [] {
    InitLog("starling", LogLevel::kWarn);
    return true;
  }();
}

}  // namespace starling::api
