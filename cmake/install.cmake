include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers of the floors; those of the backends inside them are not for users.
foreach(floor ops transport actors strategies)
  install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/${floor}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe
          FILES_MATCHING PATTERN "*.hpp" PATTERN cpu EXCLUDE PATTERN cuda EXCLUDE PATTERN local EXCLUDE PATTERN linked EXCLUDE
          PATTERN zeromq EXCLUDE PATTERN mpi EXCLUDE PATTERN nccl EXCLUDE PATTERN device EXCLUDE PATTERN hierarchy EXCLUDE)
endforeach()
install(TARGETS troupe EXPORT troupe_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT troupe_targets NAMESPACE troupe:: FILE troupe-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
configure_package_config_file(cmake/troupe-config.cmake.in troupe-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
write_basic_package_version_file(troupe-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/troupe-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/troupe-config-version.cmake
              cmake/FindCAF.cmake cmake/FindCsv.cmake cmake/FindZeroMQ.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
