# The libraries of Starling; scripts/setup installs all of them from the distribution.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(cppzmq REQUIRED)
find_package(GTest REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(GIF REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
include(GoogleTest)

find_path(MSGPACK_INCLUDE msgpack.hpp REQUIRED)
add_library(starling_msgpack INTERFACE)
target_include_directories(starling_msgpack SYSTEM INTERFACE ${MSGPACK_INCLUDE})
target_compile_definitions(starling_msgpack INTERFACE MSGPACK_NO_BOOST)

find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(starling_xxhash INTERFACE)
target_include_directories(starling_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE})
target_link_libraries(starling_xxhash INTERFACE ${XXHASH_LIBRARY})

# Not find_package(dnnl): the distribution's file requires OpenCL, which nothing here uses.
find_path(DNNL_INCLUDE dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(starling_dnnl INTERFACE)
target_include_directories(starling_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE})
target_link_libraries(starling_dnnl INTERFACE ${DNNL_LIBRARY})

# MPI, if it is found: for starling-rank (updates.exchange = "allreduce"). Nothing else links it.
# Never under sanitizers, which find fault with the library itself.
set(STARLING_HAS_MPI OFF)
if(NOT STARLING_SANITIZE)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(STARLING_HAS_MPI ON)
  endif()
endif()
