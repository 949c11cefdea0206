#include "core/bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "core/error.h"

namespace starling {

Bell::Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw UserError("cannot make an eventfd: the limit of open files is reached");
}

Bell::~Bell() { close(fd_); }

void Bell::Ring() const { eventfd_write(fd_, 1); }

void Bell::Silence() const {
  eventfd_t count;
  eventfd_read(fd_, &count);
}

}  // namespace starling
