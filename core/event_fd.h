// A wake-up signal between threads: any thread notifies, one thread polls its descriptor.
//
// Thread safety: Notify from any thread; Clear from the polling thread.
#pragma once

#include "core/file_descriptor.h"

namespace starling {

class EventFd {
 public:
  EventFd();  // throws UserError if no descriptor is left

  void Notify() const;  // makes fd() readable
  void Clear() const;   // makes fd() unreadable and discards all earlier notifications
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

}  // namespace starling
