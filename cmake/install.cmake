# cmake --install: the programs, the library, and what other projects need to find both.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# 1. Programs find each other beside themselves.
set(installed starling starling-learner starling-actor starling-env-worker)
if(STARLING_HAS_MPI)
  list(APPEND installed starling-rank)
endif()
if(TARGET starling-bench)
  list(APPEND installed starling-bench)
endif()
install(TARGETS ${installed} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)

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
