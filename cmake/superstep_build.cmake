# Compile options of this tree: language, warnings, checks, sanitizers, caches. None of them is part
# of the exported target.

# As a subdirectory of another project, the build type is that of the project.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
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
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast
  $<$<BOOL:${SUPERSTEP_WERROR}>:-Werror>)
# Disables the deprecated names of Asio.
target_compile_definitions(superstep_options INTERFACE BOOST_ASIO_NO_DEPRECATED)
# g++ 12 with inlining reports these warnings falsely in its own library, mainly in std::string's
# operator+ (GCC bugs 105329, 105651, 105562). The dev and clang builds keep the warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(inlines "$<NOT:$<CONFIG:Debug>>")
  if(SUPERSTEP_SANITIZE)
    set(inlines 1)
  endif()
  foreach(warning IN ITEMS array-bounds maybe-uninitialized restrict stringop-overflow stringop-overread)
    target_compile_options(superstep_options INTERFACE "$<${inlines}:-Wno-${warning}>")
  endforeach()
endif()

# Compiles several sources as one translation unit, which halves the build time. Unnamed namespaces
# are then in included files, so g++ warns about members of their types as if they were in a header.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(superstep_options INTERFACE -Wno-subobject-linkage)
endif()

# The programs read data of models and servers, so overflows abort, and the tables of the dynamic
# linker are read-only. Sanitizers check more and cannot be combined with these options.
add_compile_options("$<$<CONFIG:Release>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
add_link_options("$<$<CONFIG:Release>:-Wl,-z,relro,-z,now>")
add_compile_definitions("$<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS;SUPERSTEP_ASSERTIONS>")

# Position-independent code that costs executables next to nothing: the compiler may inline functions,
# and the linker turns accesses to thread-local variables into those of an executable. The model
# initial-exec would be faster in shared libraries, but these could then not be loaded by a process that
# has used up its static TLS, for example a worker of Ray. Not CMAKE_POSITION_INDEPENDENT_CODE, which
# compiles programs with -fPIE, for which the precompiled headers are not valid.
if(SUPERSTEP_PIC)
  add_compile_options(-fPIC -fno-semantic-interposition)
endif()

# Asio uses a fence that g++'s ThreadSanitizer does not support; a lock gives the same order.
if(SUPERSTEP_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(superstep_options INTERFACE -Wno-tsan)
endif()

if(SUPERSTEP_SANITIZE)
  # g++ compiles with -Og in three quarters of the time of -O1.
  add_compile_options(-fsanitize=${SUPERSTEP_SANITIZE} -fno-omit-frame-pointer
                      $<IF:$<CXX_COMPILER_ID:GNU>,-Og,-O1>)
  add_link_options(-fsanitize=${SUPERSTEP_SANITIZE})
  if(SUPERSTEP_SANITIZE MATCHES "undefined")
    # The check of virtual calls opens a pipe, which fails in tests that use up all descriptors.
    # AddressSanitizer reports null pointers and objects that are too small when they are accessed;
    # their own checks take a quarter of the time to compile. The check of alignment takes a sixth of
    # the rest, and a test program has only half of its size without it. The processors allow accesses
    # that are not aligned.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=vptr,null,object-size,alignment)
  endif()
endif()
# g++ starts to collect garbage when it has allocated 600 MB, which nearly no file does. The compilation
# then takes a tenth less time. By default it starts with 128 MB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-heapsize=600000")
endif()
if(SUPERSTEP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -O1)
  add_link_options(-fsanitize=address,undefined)
endif()

# Paths of sources in objects (__FILE__, debug information) are relative to the tree. Objects are then
# the same in all clones, which is what lets them share a cache.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")

# Uses ccache if present. Precompiled headers need these sloppiness options. Paths below the tree are
# relative, so that all clones share the cache.
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
# nearly every file includes and which do not change. headers_standalone is built without it and
# finds missing includes.
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
