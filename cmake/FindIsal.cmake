# Finds ISA-L and defines the target Isal::isal.
find_path(ISAL_INCLUDE_DIR isa-l/igzip_lib.h)
find_library(ISAL_LIBRARY isal)
mark_as_advanced(ISAL_INCLUDE_DIR ISAL_LIBRARY)
if(ISAL_INCLUDE_DIR AND ISAL_LIBRARY)
  file(STRINGS "${ISAL_INCLUDE_DIR}/isa-l.h" Isal_VERSION REGEX "^#define ISAL_(MAJOR|MINOR|PATCH)_VERSION ")
  string(REGEX REPLACE "[^0-9;]" "" Isal_VERSION "${Isal_VERSION}")
  list(JOIN Isal_VERSION "." Isal_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Isal REQUIRED_VARS ISAL_LIBRARY ISAL_INCLUDE_DIR VERSION_VAR Isal_VERSION)

if(Isal_FOUND AND NOT TARGET Isal::isal)
  add_library(Isal::isal INTERFACE IMPORTED)
  target_link_libraries(Isal::isal INTERFACE "${ISAL_LIBRARY}")
  target_include_directories(Isal::isal INTERFACE "${ISAL_INCLUDE_DIR}")
endif()
