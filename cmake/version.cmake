# The header troupe/version.hpp and the name of a shared library. Until 1.0 every minor version has its own interface,
# which troupe-config-version.cmake enforces, too.
set(troupe_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(troupe PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${troupe_soversion})

# The header is not below include/troupe, because that is the source folder.
set(troupe_version_header "${PROJECT_BINARY_DIR}/generated/troupe/version.hpp")
configure_file(cmake/version.hpp.in "${troupe_version_header}" @ONLY)
target_include_directories(troupe PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
