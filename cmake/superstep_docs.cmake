# docs: the API reference, made by doxygen from the installed headers without detail/. Doxygen's
# warnings are errors. The result is <build folder>/docs/html/index.html.
find_program(SUPERSTEP_DOXYGEN doxygen)
mark_as_advanced(SUPERSTEP_DOXYGEN)
if(SUPERSTEP_DOXYGEN)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
  configure_file("${PROJECT_SOURCE_DIR}/docs/Doxyfile.in" "${PROJECT_BINARY_DIR}/docs/Doxyfile"
                 @ONLY)
  add_custom_target(docs
    COMMAND "${SUPERSTEP_DOXYGEN}" "${PROJECT_BINARY_DIR}/docs/Doxyfile"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "API reference: ${PROJECT_BINARY_DIR}/docs/html/index.html"
    VERBATIM)
else()
  add_custom_target(docs
    COMMAND "${CMAKE_COMMAND}" -E echo
            "docs needs doxygen: apt-get install doxygen, then configure again"
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
endif()
