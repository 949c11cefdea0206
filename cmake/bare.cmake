# The build without libraries: starling-bare needs a C++20 compiler and, for a GPU, the CUDA
# Toolkit. It holds the parts of an actor (net, games, rollout), from the same sources; bench/bare
# has stand-ins for their libraries, which only this build finds.
include(cmake/cuda.cmake)
find_package(Threads REQUIRED)

# Sets `out` to the .cc files of some folders of `root`: starling_bare_glob(OUT net . layers).
function(starling_bare_glob out root)
  foreach(folder ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${root}/${folder}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/no_cuda\\.cc$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

set(core action_space.cc instructions.cc memory.cc random.cc site_packages.cc state_bytes.cc
  text.cc)
list(TRANSFORM core PREPEND core/)
starling_bare_glob(envs envs . games wrappers)
list(FILTER envs EXCLUDE REGEX "/(picture|trace|trace_file)\\.cc$")  # for people and for recordings
starling_bare_glob(net net . checks)
set(actors minibatches.cc normalizer.cc pipeline.cc replica.cc rollout.cc stage.cc staged_net.cc unroll.cc)
list(TRANSFORM actors PREPEND actors/)
starling_bare_glob(bench bench bare)

file(GLOB gpu_sources CONFIGURE_DEPENDS
  core/cuda/*.cc envs/cuda/*.cc envs/cuda/*.cu net/cuda/*.cc net/cuda/*.cu)
add_executable(starling-bare ${core} ${envs} ${net} ${actors} ${bench}
  bench/actor_speed.cc bench/net_products.cc results/statistics.cc)
target_include_directories(starling-bare BEFORE PRIVATE bench/bare/stand_ins)
target_link_libraries(starling-bare PRIVATE starling_flags Threads::Threads ${CMAKE_DL_LIBS})
starling_gpu_sources(starling-bare HAVING ${gpu_sources}
  LACKING core/no_cuda.cc envs/no_cuda.cc net/no_cuda.cc)
set_source_files_properties(envs/wrappers/area_resize.cc PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off)
