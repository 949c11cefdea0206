// A wake-up that any thread may ring and one thread polls.
//
// Thread safety: Ring from any thread; Silence from the polling one.
#pragma once

namespace starling {

class Bell {
 public:
  Bell();  // throws UserError if no descriptor is left
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void Ring() const;     // makes fd() readable
  void Silence() const;  // makes it unreadable; what was rung before is forgotten
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace starling
