# Flags of all targets but the kind of processor. No -ffast-math: results must not depend on the
# vectorisation of a loop.
add_library(starling_any_processor INTERFACE)
target_include_directories(starling_any_processor INTERFACE ${PROJECT_SOURCE_DIR})
set(cxx_flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -fno-math-errno -fno-trapping-math
  -ffp-contract=fast)
target_compile_options(starling_any_processor INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${cxx_flags}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall>")
# Whether there is code for several kinds of processors (core/instructions.h). Where it is not, a
# portable build has code for every processor of its kind.
set(STARLING_HAS_LEVELS OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND NOT STARLING_SANITIZE)
  set(STARLING_HAS_LEVELS ON)
  target_compile_definitions(starling_any_processor INTERFACE STARLING_HAS_LEVELS)
endif()
add_library(starling_flags INTERFACE)
target_link_libraries(starling_flags INTERFACE starling_any_processor)
if(STARLING_NATIVE)
  target_compile_options(starling_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-march=native>")
elseif(STARLING_HAS_LEVELS)
  target_compile_options(starling_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3>")
  target_compile_definitions(starling_flags INTERFACE STARLING_PORTABLE)
endif()
if(STARLING_SANITIZE)
  target_compile_options(starling_flags INTERFACE
    -fsanitize=${STARLING_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(starling_flags INTERFACE -fsanitize=${STARLING_SANITIZE})
  if(STARLING_SANITIZE MATCHES thread)
    target_compile_options(starling_flags INTERFACE -Wno-tsan)
  else()
    target_compile_options(starling_flags INTERFACE -fno-sanitize-recover=all)
  endif()
endif()
# The rooms also go into shared libraries (api/), which show nothing but what they mark.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Makes translation units of eight files, which read the headers they share once. Helpers in anonymous
# namespaces need distinct names within a target. The warnings that go are about the names of other
# files, and about anonymous namespaces outside of the main file, which none of these files is.
function(starling_unity name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_compile_options(${name} PRIVATE -Wno-shadow -Wshadow=local -Wno-subobject-linkage)
endfunction()

# starling_library(NAME SOURCES... LINK targets... [COLD])
# COLD: its speed does not matter. It is built at -O1, and as starling_unity describes.
function(starling_library name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC starling_flags ${ARG_LINK})
  if(ARG_COLD)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    starling_unity(${name})
  endif()
endfunction()

# starling_test(NAME SOURCES... LINK targets... [IO suites...] [WHOLE] [TIMEOUT seconds] [LABEL
# label]): a GoogleTest program, built as starling_unity describes; ctest runs its cases one by one.
# Cases with the label `long` run alone.
# IO: suites that start processes, open sockets or run interpreters, "*" for all. Their cases have
# the label `io`, for which scripts/test grants a second try.
# WHOLE: all cases in one process under sanitizers, where a thousand starts take a minute.
function(starling_test name)
  cmake_parse_arguments(ARG "WHOLE" "TIMEOUT;LABEL" "SOURCES;LINK;IO" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # 1. The program.
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock_main)
  target_compile_definitions(${name} PRIVATE STARLING_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE -O0)  # it builds faster; the code under test is optimised
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  starling_unity(${name})
  # 2. Its cases, once without and once with the label `io`.
  list(TRANSFORM ARG_IO REPLACE "^[A-Za-z0-9]+$" "\\0.*:*/\\0.*:\\0/*" OUTPUT_VARIABLE io)
  list(JOIN io ":" io)
  if(NOT io STREQUAL "*")
    starling_cases(${name} ${name} "-${io}" "${ARG_LABEL}")
  endif()
  if(io)
    # ctest looks for labels by regular expressions, so that two labels may be one word, as in
    # `long_io`.
    string(REGEX REPLACE "^_" "" label "${ARG_LABEL}_io")
    starling_cases(${name} ${name}_io "${io}" "${label}")
  endif()
endfunction()

# Adds the cases of the program `name` that match the GoogleTest filter, for starling_test alone.
macro(starling_cases name list filter label)
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(NOT "${label}" STREQUAL "")
    list(APPEND properties LABELS ${label})
  endif()
  if("${ARG_LABEL}" STREQUAL "long")
    list(APPEND properties RUN_SERIAL TRUE)  # these cases measure
  endif()
  if(ARG_WHOLE AND STARLING_SANITIZE)
    add_test(NAME ${list} COMMAND ${name} --gtest_filter=${filter})
    set_tests_properties(${list} PROPERTIES ${properties} TIMEOUT 900)
  else()
    gtest_discover_tests(${name} TEST_FILTER "${filter}" TEST_LIST ${list} DISCOVERY_TIMEOUT 60
      PROPERTIES ${properties})
  endif()
endmacro()
