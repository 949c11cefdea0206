# cmake --install: the programs, the library, and what other projects need to find both.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# 1. Programs find each other beside themselves.
set(installed starling starling-learner starling-actor starling-env-worker)
if(STARLING_HAS_MPI)
  list(APPEND installed starling-rank)
endif()
install(TARGETS ${installed} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
if(TARGET starling-bench)  # the wheel does without
  install(TARGETS starling-bench OPTIONAL RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()

# 2. Starling::starling and Starling::seat, the libraries, and Starling::plugin, the headers of
#    plug-ins.
add_library(starling_plugin INTERFACE)
target_compile_features(starling_plugin INTERFACE cxx_std_17)
target_include_directories(starling_plugin INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/starling>)
set_target_properties(starling_plugin PROPERTIES EXPORT_NAME plugin)
set_target_properties(libstarling PROPERTIES EXPORT_NAME starling)
set_target_properties(libstarling-seat PROPERTIES EXPORT_NAME seat INSTALL_RPATH "$ORIGIN")
install(TARGETS libstarling libstarling-seat starling_plugin EXPORT StarlingTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES api/starling.h api/starling_seat.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES envs/plugin.h envs/plugin.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/starling
  COMPONENT library)

# 3. find_package(Starling), and pkg-config. Both work wherever the files are moved to.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Starling)
install(EXPORT StarlingTargets NAMESPACE Starling:: FILE StarlingConfig.cmake
  DESTINATION ${package_dir} COMPONENT library)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/StarlingConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/StarlingConfigVersion.cmake DESTINATION ${package_dir}
  COMPONENT library)
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name starling starling-seat starling-plugin)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endforeach()

# 4. What people run.
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/starling COMPONENT configs)

# 5. For the wheel, which cannot hold links: the libraries that all of this loads, by the names by
#    which it loads them, and their licences. Those of the C and C++ compilers are the machine's:
#    other modules of a Python need newer ones, perhaps.
install(CODE "
  file(GET_RUNTIME_DEPENDENCIES RESOLVED_DEPENDENCIES_VAR found
    PRE_EXCLUDE_REGEXES [[^libstarling]] [[^ld-linux]]
      [[^lib(c|m|mvec|dl|rt|pthread|resolv|stdc[+][+]|gcc_s)[.]so]]
    EXECUTABLES \"$<TARGET_FILE:starling>\" \"$<TARGET_FILE:starling-learner>\"
    LIBRARIES \"$<TARGET_FILE:libstarling>\" \"$<TARGET_FILE:libstarling-seat>\")
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${prefix}/lib\" \"\${prefix}/licenses\")
  foreach(path IN LISTS found)
    get_filename_component(name \"\${path}\" NAME)
    file(REAL_PATH \"\${path}\" real)
    file(COPY_FILE \"\${real}\" \"\${prefix}/lib/\${name}\")
    execute_process(COMMAND dpkg-query -S \"\${real}\" OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES \"^([^:]+):\")
      file(COPY_FILE \"/usr/share/doc/\${CMAKE_MATCH_1}/copyright\"
        \"\${prefix}/licenses/\${CMAKE_MATCH_1}\")
    endif()
  endforeach()" COMPONENT bundled EXCLUDE_FROM_ALL)
