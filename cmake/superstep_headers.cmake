# headers_standalone compiles every public header by itself, without the precompiled header. A test
# of the same name builds it, except under sanitizers, which make no difference here.
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS
     RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/*.hpp")
set(standalone_sources)
foreach(header IN LISTS public_headers)
  string(REPLACE "/" "__" name "${header}")
  set(source "${PROJECT_BINARY_DIR}/headers_standalone/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include <${header}>\n#include <${header}>\n")
  list(APPEND standalone_sources "${source}")
endforeach()
add_library(headers_standalone OBJECT EXCLUDE_FROM_ALL ${standalone_sources})
target_link_libraries(headers_standalone PRIVATE superstep_options superstep::superstep)
target_compile_options(headers_standalone PRIVATE -O0 -g0)

if(SUPERSTEP_SANITIZE)
  return()
endif()
add_test(NAME headers_standalone
         COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target headers_standalone)
superstep_test_properties(headers_standalone 900 project)
