// A wake-up signal between threads: any thread rings it, one thread polls its descriptor.
//
// Thread safety: Ring from any thread; Silence from the polling thread.
#pragma once

#include "core/file_descriptor.h"

namespace starling {

class Bell {
 public:
  Bell();  // throws UserError if no descriptor is left

  void Ring() const;     // makes fd() readable
  void Silence() const;  // makes fd() unreadable and discards all earlier rings
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

}  // namespace starling
