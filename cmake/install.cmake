# Two components: `runtime` has the files that a program needs at run time if it is linked with a shared library,
# `development` has the rest.
include(GNUInstallDirs)
if(troupe_cuda STREQUAL "EMULATED")
  install(CODE "message(FATAL_ERROR \"A build with TROUPE_CUDA=EMULATED is for tests: programs cannot link it.\")")
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)

# Headers of the layers, without those of the backends, which are not for users.
foreach(layer ops transport actors strategies)
  install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/${layer}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe COMPONENT development
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def" PATTERN cpu EXCLUDE PATTERN cuda EXCLUDE PATTERN local EXCLUDE PATTERN linked EXCLUDE
          PATTERN zeromq EXCLUDE PATTERN mpi EXCLUDE PATTERN nccl EXCLUDE PATTERN device EXCLUDE PATTERN hierarchy EXCLUDE)
endforeach()
foreach(header device/make_device_group.hpp hierarchy/hierarchical_device_group.hpp nccl/nccl_group.hpp)
  cmake_path(GET header PARENT_PATH room)
  install(FILES transport/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe/transport/${room} COMPONENT development)
endforeach()
install(FILES "${troupe_version_header}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe COMPONENT development)
install(TARGETS troupe EXPORT troupe_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(EXPORT troupe_targets NAMESPACE troupe:: FILE troupe-targets.cmake DESTINATION ${package_folder}
        COMPONENT development)
# The version at which a dependency's next series begins: its next major version, or for CAF the next minor version.
string(REGEX REPLACE "\\..*" "" zeromq_end "${ZeroMQ_VERSION}")
string(REGEX REPLACE "\\..*" "" dnnl_end "${dnnl_VERSION}")
string(REGEX REPLACE "^[0-9]+\\.([0-9]+).*" "\\1" caf_end "${CAF_VERSION}")
foreach(end zeromq_end dnnl_end caf_end)
  math(EXPR ${end} "${${end}} + 1")
endforeach()
string(REGEX REPLACE "\\..*" ".${caf_end}" caf_end "${CAF_VERSION}")
configure_package_config_file(cmake/troupe-config.cmake.in troupe-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(troupe-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/troupe-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/troupe-config-version.cmake
              cmake/FindCAF.cmake cmake/FindCsv.cmake cmake/FindDeflate.cmake cmake/FindZeroMQ.cmake
        DESTINATION ${package_folder} COMPONENT development)
foreach(component runtime development)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()
