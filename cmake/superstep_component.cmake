# Functions for the CMakeLists.txt files of this tree.

# superstep_component(<name> SOURCES <files…> DEPENDS <components…> LIBS <targets…>)
#
# Adds one folder of the library, compiled once as the object library superstep_<name>. All object
# libraries form the static library superstep::superstep. Tests link only the components they name,
# which shows undeclared dependencies. LIBS are private to the sources, but targets that link the
# objects also link them.
function(superstep_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBS")
  superstep_check_arguments("superstep_component(${name})")
  if(arg_SOURCES)
    add_library(superstep_${name} OBJECT ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(superstep_${name} PRIVATE superstep_options ${arg_LIBS})
    target_include_directories(superstep_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_precompile_headers(superstep_${name} REUSE_FROM superstep_pch)
  else()
    add_library(superstep_${name} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(superstep_${name} INTERFACE ${arg_LIBS})
  endif()
  target_include_directories(superstep_${name} ${scope} "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(superstep_${name} ${scope} Boost::headers Boost::json Threads::Threads)
  set_target_properties(superstep_${name} PROPERTIES
    SUPERSTEP_DEPENDS "${arg_DEPENDS}" SUPERSTEP_LIBS "${arg_LIBS}")
  set_property(GLOBAL APPEND PROPERTY SUPERSTEP_COMPONENTS ${name})
endfunction()

# superstep_test(<name> SOURCES <files…> DEPENDS <components…> [LIBS <targets…>] [TIMEOUT <s>])
#
# Adds the Boost.Test executable of one component, linked with the objects of DEPENDS and their
# dependencies. All tests share one main().
function(superstep_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPENDS;LIBS")
  superstep_check_arguments("superstep_test(${name})")
  superstep_closure(components ${arg_DEPENDS})
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE
    superstep_options superstep_test_main ${components} ${arg_LIBS})
  target_include_directories(${name}_test PRIVATE
    "${PROJECT_SOURCE_DIR}" ${superstep_test_includes})
  target_precompile_headers(${name}_test REUSE_FROM superstep_test_pch)
  # The results are also written to a file for tests that check whether another test passed.
  set(results "${PROJECT_BINARY_DIR}/tests/results")
  file(MAKE_DIRECTORY "${results}")
  add_test(NAME ${name} COMMAND ${name}_test --report_level=short
           "--logger=HRF,test_suite,stdout:JUNIT,all,${results}/${name}.xml")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  superstep_test_properties(${name} ${arg_TIMEOUT} unit)
  set_tests_properties(${name} PROPERTIES FIXTURES_SETUP results_of_${name})
  if(name IN_LIST superstep_threaded)
    set_property(TEST ${name} APPEND PROPERTY LABELS threads)
    add_dependencies(threaded_tests ${name}_test)
  endif()
endfunction()

# superstep_system_test(<name> COMMAND <program> <arguments…> TIMEOUT <s> [THREADED <targets…>])
#
# Adds a test with processes, sockets and clocks. It runs alone; exit code 77 means skipped. With
# THREADED it also runs under ThreadSanitizer, where it needs the named targets.
function(superstep_system_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;THREADED")
  superstep_check_arguments("superstep_system_test(${name})")
  if(NOT arg_TIMEOUT)
    message(FATAL_ERROR "superstep_system_test(${name}): TIMEOUT <seconds> is missing")
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  superstep_test_properties(${name} ${arg_TIMEOUT} system)
  set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
  if(arg_THREADED)
    set_property(TEST ${name} APPEND PROPERTY LABELS threads)
    add_dependencies(threaded_tests ${arg_THREADED})
  endif()
endfunction()

# superstep_program(<name> SOURCES <files…> [LIBS <targets…>] [PCH <target>])
# Adds a program in bin/.
function(superstep_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PCH" "SOURCES;LIBS")
  superstep_check_arguments("superstep_program(${name})")
  if(NOT arg_PCH)
    set(arg_PCH superstep_pch)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE superstep_options superstep::superstep ${arg_LIBS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_precompile_headers(${name} REUSE_FROM ${arg_PCH})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()

# superstep_link_statically(<program> <libraries…>)
#
# Links those of the libraries statically that are installed as lib<name>.a, so that the program starts
# faster: the dynamic linker takes half of the start-up of a small job. Only for programs; the exported
# target uses the shared libraries.
function(superstep_link_statically program)
  if(SUPERSTEP_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  foreach(library IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "superstep_static_${library}" found)
    find_library(${found} NAMES lib${library}.a)
    mark_as_advanced(${found})
    if(NOT ${found})
      return()  # libraries depend on later ones in the list, so all or none are static
    endif()
    list(APPEND paths "${${found}}")
  endforeach()
  # The static libraries follow superstep and precede the shared ones, which are then not needed.
  get_target_property(linked ${program} LINK_LIBRARIES)
  list(FIND linked superstep::superstep at)
  math(EXPR at "${at} + 1")
  list(INSERT linked ${at} ${paths})
  set_target_properties(${program} PROPERTIES LINK_LIBRARIES "${linked}")
  target_link_options(${program} PRIVATE -Wl,--as-needed)
endfunction()

# superstep_load_quickly(<program> <targets…>)
#
# Reduces the work of the dynamic linker when the program starts. It searches every symbol in the
# libraries in the order in which they are linked, so the shared libraries with the most symbols are
# linked first: the given targets in their order. Relative relocations are stored in their packed form,
# which takes a hundredth of the memory.
function(superstep_load_quickly program)
  if(SUPERSTEP_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()  # the libraries of sanitizers must come first
  endif()
  list(TRANSFORM ARGN REPLACE "^[^-].*" "$<TARGET_FILE:\\0>")
  target_link_options(${program} PRIVATE
    "LINKER:--push-state,--no-as-needed" ${ARGN} "LINKER:--pop-state")
  include(CheckLinkerFlag)
  check_linker_flag(CXX "LINKER:-z,pack-relative-relocs" SUPERSTEP_PACKS_RELOCATIONS)
  if(SUPERSTEP_PACKS_RELOCATIONS)
    target_link_options(${program} PRIVATE "LINKER:-z,pack-relative-relocs")
  endif()
endfunction()

# ---- internal helpers ----

macro(superstep_check_arguments what)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${what}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

# Collects the targets of the given components and of all their dependencies.
function(superstep_closure out)
  set(todo ${ARGN})
  set(seen)
  while(todo)
    list(POP_FRONT todo component)
    if(component IN_LIST seen OR NOT TARGET superstep_${component})
      continue()
    endif()
    list(APPEND seen ${component})
    get_target_property(more superstep_${component} SUPERSTEP_DEPENDS)
    if(more)
      list(APPEND todo ${more})
    endif()
  endwhile()
  list(TRANSFORM seen PREPEND "superstep_")
  set(${out} "${seen}" PARENT_SCOPE)
endfunction()

function(superstep_test_properties name timeout label)
  set(environment
    "SUPERSTEP_SHARED=${SUPERSTEP_SHARED}"
    "SUPERSTEP_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "SUPERSTEP_BIN_DIR=${PROJECT_BINARY_DIR}/bin"
    "ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} LABELS ${label} ENVIRONMENT "${environment}")
endfunction()
