# How everything in this tree is compiled: language, warnings, checks, sanitizers, caches.
# Nothing here reaches the exported target.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# Line tables are enough for a stack trace and halve the time and size of a debug build.
set(CMAKE_CXX_FLAGS_DEBUG "-g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(superstep_options INTERFACE)
target_compile_options(superstep_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  $<$<BOOL:${SUPERSTEP_WERROR}>:-Werror>)
# Asio only; its deprecated names are refused.
target_compile_definitions(superstep_options INTERFACE BOOST_ASIO_NO_DEPRECATED)
# g++ 12, when it inlines, reports these inside its own library, in std::string's operator+ above
# all (its bugs 105329, 105651, 105562). They are false there; dev and clang builds keep theirs.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13
   AND (SUPERSTEP_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Release"))
  target_compile_options(superstep_options INTERFACE
    -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()

# Several sources a translation unit, in half the time. What an unnamed namespace holds is then in an
# included file, and the members of that type are warned of as if a header had them.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(superstep_options INTERFACE -Wno-subobject-linkage)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # The programs read what models and servers send: overflows end in an abort, and the tables of
  # the dynamic linker are read-only. Sanitizers check more and do not combine with these.
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  add_link_options(-Wl,-z,relro,-z,now)
else()
  add_compile_definitions(_GLIBCXX_ASSERTIONS SUPERSTEP_ASSERTIONS)
endif()

# Asio uses a fence where g++'s ThreadSanitizer sees none; what it orders is ordered by a lock as well.
if(SUPERSTEP_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(superstep_options INTERFACE -Wno-tsan)
endif()

if(SUPERSTEP_SANITIZE)
  add_compile_options(-fsanitize=${SUPERSTEP_SANITIZE} -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${SUPERSTEP_SANITIZE})
  if(SUPERSTEP_SANITIZE MATCHES "undefined")
    # The check of virtual calls opens a pipe, which fails in tests that leave no descriptor free.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=vptr)
  endif()
endif()
if(SUPERSTEP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -O1)
  add_link_options(-fsanitize=address,undefined)
endif()

# ccache, when present. It needs these sloppinesses to work with precompiled headers at all. What one
# clone has compiled serves every other: paths below the tree count as relative.
find_program(SUPERSTEP_CCACHE ccache)
mark_as_advanced(SUPERSTEP_CCACHE)
if(SUPERSTEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${SUPERSTEP_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# One precompiled header for all components and tests: the standard library and Boost.JSON, which
# nearly every file includes and which do not change. headers_standalone is built without it, so
# that a missing include still shows.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/superstep_pch.cpp"
     CONTENT "// Gives the precompiled header a target.\n")
set(superstep_pch_headers
  <algorithm> <array> <atomic> <chrono> <coroutine> <cstddef> <cstdint> <deque> <exception>
  <filesystem> <functional> <map> <memory> <mutex> <optional> <set> <span> <stop_token> <string>
  <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector> <boost/json.hpp>
  <boost/system/result.hpp>)
add_library(superstep_pch OBJECT "${PROJECT_BINARY_DIR}/superstep_pch.cpp")
target_link_libraries(superstep_pch PRIVATE superstep_options Boost::headers Boost::json)
target_precompile_headers(superstep_pch PRIVATE ${superstep_pch_headers})
