#include "core/event_fd.h"

#include <sys/eventfd.h>

#include "core/error.h"

namespace starling {

EventFd::EventFd() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd() < 0) throw UserError("cannot make an eventfd: the limit of open files is reached");
}

void EventFd::Notify() const { eventfd_write(fd(), 1); }

void EventFd::Clear() const {
  eventfd_t count;
  eventfd_read(fd(), &count);
}

}  // namespace starling
