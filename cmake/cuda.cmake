# Code for GPUs, if nvcc is found; all else builds without it. Never under sanitizers.
set(STARLING_CUDA AUTO CACHE STRING
  "Code for GPUs: ON, OFF, or AUTO (if nvcc, 12 or newer, is found)")
set(STARLING_HAS_CUDA OFF)

# Sets `lacks` if nvcc and the host's compiler do not fit together, which is an error for CMake.
function(starling_try_nvcc lacks)
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH
      "The compiler of the host's code for nvcc")
  endif()
  if(NOT STARLING_NVCC_WORKS STREQUAL "${STARLING_NVCC} ${CMAKE_CUDA_HOST_COMPILER}")
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/nvcc_probe)
    file(WRITE ${probe}.cu "#include <vector>\n"
      "__global__ void Kernel(int* x) { *x = 1; }\nstd::vector<int> host;\n")
    execute_process(COMMAND ${STARLING_NVCC} -std=c++20 -ccbin ${CMAKE_CUDA_HOST_COMPILER}
      -c ${probe}.cu -o ${probe}.o
      RESULT_VARIABLE failed OUTPUT_FILE ${probe}.log ERROR_FILE ${probe}.log)
    if(failed)
      string(CONCAT why "${STARLING_NVCC} does not compile C++20 with ${CMAKE_CUDA_HOST_COMPILER} "
        "(${probe}.log): take another by -DCMAKE_CUDA_HOST_COMPILER")
      set(${lacks} "${why}" PARENT_SCOPE)
      return()
    endif()
    set(STARLING_NVCC_WORKS "${STARLING_NVCC} ${CMAKE_CUDA_HOST_COMPILER}" CACHE INTERNAL "")
  endif()
endfunction()

if(NOT STARLING_CUDA STREQUAL "OFF" AND NOT STARLING_SANITIZE)
  find_program(STARLING_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda/bin)
  if(STARLING_NVCC)
    execute_process(COMMAND ${STARLING_NVCC} --version OUTPUT_VARIABLE nvcc_says)
    string(REGEX MATCH "release ([0-9.]+)" nvcc_says "${nvcc_says}")
    set(STARLING_NVCC_RELEASE ${CMAKE_MATCH_1})
    get_filename_component(cuda_root ${STARLING_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
    find_path(STARLING_CUBLAS_INCLUDE cublas_v2.h HINTS ${cuda_root}/include)
  endif()
  if(NOT STARLING_NVCC)
    set(lacks "there is no nvcc on PATH nor in /usr/local/cuda/bin: install the CUDA Toolkit")
  elseif(STARLING_NVCC_RELEASE VERSION_LESS 12)
    set(lacks "${STARLING_NVCC} is release ${STARLING_NVCC_RELEASE}, it takes 12 or newer")
  elseif(NOT STARLING_CUBLAS_INCLUDE)
    set(lacks "cublas_v2.h is not in ${cuda_root}/include: install cuBLAS's headers")
  else()
    starling_try_nvcc(lacks)
  endif()
  if(NOT lacks)
    set(STARLING_HAS_CUDA ON)
  endif()
  if(STARLING_CUDA STREQUAL "ON" AND lacks)
    message(FATAL_ERROR "STARLING_CUDA is ON, but ${lacks}")
  elseif(lacks)
    message(STATUS "No code for GPUs: ${lacks}")
  endif()
endif()

if(STARLING_HAS_CUDA)
  set(CMAKE_CUDA_COMPILER ${STARLING_NVCC})
  # Ampere and Ada, Hopper, Blackwell; the driver translates for newer ones.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND STARLING_NVCC_RELEASE VERSION_LESS 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 120)
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know the option of nvcc 13 for C++20.
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo")
  # The linked runtime opens the driver by itself, so the programs start on any machine.
  find_package(CUDAToolkit REQUIRED)
  add_library(starling_cuda INTERFACE)
  target_link_libraries(starling_cuda INTERFACE CUDA::cudart_static)
  string(REPLACE ";" "\\;" architectures "${CMAKE_CUDA_ARCHITECTURES}")
  target_compile_definitions(starling_cuda INTERFACE
    "STARLING_CUDA_ARCHITECTURES=\"${architectures}\""
    "STARLING_CUDA_MAJOR=\"${CUDAToolkit_VERSION_MAJOR}\""
    STARLING_CUDA_LIBRARIES="${CUDAToolkit_LIBRARY_DIR}")
endif()

# starling_gpu_sources(LIBRARY HAVING sources... LACKING sources...): adds one of the lists.
function(starling_gpu_sources library)
  cmake_parse_arguments(ARG "" "" "HAVING;LACKING" ${ARGN})
  if(STARLING_HAS_CUDA)
    target_sources(${library} PRIVATE ${ARG_HAVING})
    target_link_libraries(${library} PRIVATE starling_cuda)
  else()
    target_sources(${library} PRIVATE ${ARG_LACKING})
  endif()
endfunction()
