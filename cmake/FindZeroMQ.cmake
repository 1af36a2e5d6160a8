# libzmq and cppzmq, whose CMake configs not every distribution has: the target ZeroMQ::ZeroMQ.
find_path(ZEROMQ_INCLUDE_DIR zmq.hpp)
find_library(ZEROMQ_LIBRARY zmq)
mark_as_advanced(ZEROMQ_INCLUDE_DIR ZEROMQ_LIBRARY)

if(ZEROMQ_INCLUDE_DIR)
  file(STRINGS "${ZEROMQ_INCLUDE_DIR}/zmq.h" zeromq_numbers REGEX "^#define ZMQ_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX REPLACE "[^0-9;]" "" zeromq_numbers "${zeromq_numbers}")
  list(JOIN zeromq_numbers "." ZeroMQ_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZeroMQ REQUIRED_VARS ZEROMQ_LIBRARY ZEROMQ_INCLUDE_DIR VERSION_VAR ZeroMQ_VERSION)

if(ZeroMQ_FOUND AND NOT TARGET ZeroMQ::ZeroMQ)
  add_library(ZeroMQ::ZeroMQ UNKNOWN IMPORTED)
  set_target_properties(ZeroMQ::ZeroMQ PROPERTIES IMPORTED_LOCATION "${ZEROMQ_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${ZEROMQ_INCLUDE_DIR}")
endif()
