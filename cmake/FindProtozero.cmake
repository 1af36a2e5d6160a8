# Finds protozero, a library of headers, and defines the target Protozero::protozero.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp)
mark_as_advanced(PROTOZERO_INCLUDE_DIR)
if(PROTOZERO_INCLUDE_DIR)
  file(STRINGS "${PROTOZERO_INCLUDE_DIR}/protozero/version.hpp" Protozero_version REGEX "^#define PROTOZERO_VERSION_STRING")
  string(REGEX MATCH "[0-9.]+" Protozero_VERSION "${Protozero_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS PROTOZERO_INCLUDE_DIR VERSION_VAR Protozero_VERSION)

if(Protozero_FOUND AND NOT TARGET Protozero::protozero)
  add_library(Protozero::protozero INTERFACE IMPORTED)
  target_include_directories(Protozero::protozero INTERFACE "${PROTOZERO_INCLUDE_DIR}")
endif()
