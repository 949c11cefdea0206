// HOST_DEVICE: a function that the host's compiler and, where there is one, the GPU's both compile.
#pragma once

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif
