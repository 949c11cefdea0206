/* Dies before anybody can ask it anything. */
#include <signal.h>

__attribute__((constructor)) static void die(void) { raise(SIGSEGV); }

int there_must_be_something;
