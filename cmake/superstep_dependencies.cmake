# The dependencies of superstep. This is the only list: the project reads it and, after installation,
# superstep-config.cmake. All of them are Debian 12 packages (scripts/common has their names); the
# build downloads nothing.

include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Boost 1.81 COMPONENTS json)
find_dependency(OpenSSL 3.0)
find_dependency(SQLite3 3.40)
find_dependency(ZLIB)
find_dependency(fmt 9)
find_dependency(simdjson 3)
find_dependency(yaml-cpp 0.7)
find_dependency(valijson)

# For libraries without a CMake package in Debian, or with one that differs between versions:
# superstep_find_library(<target> <library> <header> [<folder>]) creates an imported target. <folder>
# is the subfolder of the include folder with the header.
function(superstep_find_library target library header)
  if(TARGET ${target})
    return()
  endif()
  string(MAKE_C_IDENTIFIER "superstep_${library}" prefix)
  find_library(${prefix}_library ${library})
  find_path(${prefix}_include ${header} PATH_SUFFIXES ${ARGN})
  mark_as_advanced(${prefix}_library ${prefix}_include)
  if(NOT ${prefix}_library OR NOT ${prefix}_include)
    string(CONCAT reason "superstep needs lib${library} with <${header}>: scripts/test installs it on "
                         "Debian, or set CMAKE_PREFIX_PATH to where it is")
    if(superstep_FIND_REQUIRED)
      message(FATAL_ERROR "${reason}")
    endif()
    set(superstep_FOUND FALSE PARENT_SCOPE)
    set(superstep_NOT_FOUND_MESSAGE "${reason}" PARENT_SCOPE)
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${${prefix}_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${${prefix}_include}")
endfunction()

superstep_find_library(CAF::core caf_core caf/all.hpp)
superstep_find_library(re2::re2 re2 re2/re2.h)
superstep_find_library(zstd::zstd zstd zstd.h)
# PostgreSQL's client library is loaded when it is used (postgres/libpq.cpp). Only its header is
# needed, and only to build superstep.
find_path(superstep_pq_include libpq-fe.h PATH_SUFFIXES postgresql)
mark_as_advanced(superstep_pq_include)
if(NOT TARGET libpq::headers)
  add_library(libpq::headers INTERFACE IMPORTED)
  if(superstep_pq_include)
    target_include_directories(libpq::headers INTERFACE "${superstep_pq_include}")
  endif()
endif()

# yaml-cpp 0.7 exports `yaml-cpp`, 0.8 `yaml-cpp::yaml-cpp`; this project uses `yaml-cpp`.
if(NOT TARGET yaml-cpp)
  add_library(yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp INTERFACE yaml-cpp::yaml-cpp)
endif()
