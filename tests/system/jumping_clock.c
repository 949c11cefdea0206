/* A library to load before others (LD_PRELOAD): it adds a number of seconds to the wall clock of the
   process. The file named by JUMPING_CLOCK holds two 64-bit integers: the seconds, which may change at
   any time, and the number of readings of a changed clock by all processes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct jump {
  _Atomic int64_t seconds;
  _Atomic int64_t seen;
};

static struct jump nowhere, *jump = &nowhere;

__attribute__((constructor)) static void open_file(void) {
  const char* const path = getenv("JUMPING_CLOCK");
  const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* const at = mmap(NULL, sizeof *jump, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) jump = at;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int result = (int)syscall(SYS_clock_gettime, clock, out);
  const int64_t seconds = atomic_load(&jump->seconds);
  if (result == 0 && seconds != 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    out->tv_sec += seconds;
    atomic_fetch_add(&jump->seen, 1);
  }
  return result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
