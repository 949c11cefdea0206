// The memory that malloc gives out and takes back.
#pragma once

namespace starling {

// From now on freed memory stays with the process, up to 256 MiB, and pieces of up to 32 MiB come out of
// it. By default the C library returns large pieces to the system at once; a process that takes in
// hundreds of large messages a second then has the system clear as many pages for it again. (No effect
// where the C library is not GNU's.)
void KeepFreedMemory();

}  // namespace starling
