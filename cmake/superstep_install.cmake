# Installation of superstep::superstep, the only exported target.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# superstep_combine(): creates one static library from the objects of all components.
function(superstep_combine)
  get_property(components GLOBAL PROPERTY SUPERSTEP_COMPONENTS)
  # The target is not named `superstep`, because the program's target has this name.
  add_library(superstep_library STATIC)
  add_library(superstep::superstep ALIAS superstep_library)
  set_target_properties(superstep_library PROPERTIES
    EXPORT_NAME superstep OUTPUT_NAME superstep LINKER_LANGUAGE CXX)
  target_include_directories(superstep_library PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(superstep_library PUBLIC cxx_std_20)
  target_link_libraries(superstep_library PUBLIC Boost::headers Boost::json Threads::Threads)
  foreach(component IN LISTS components)
    get_target_property(type superstep_${component} TYPE)
    if(type STREQUAL "OBJECT_LIBRARY")
      target_sources(superstep_library PRIVATE $<TARGET_OBJECTS:superstep_${component}>)
    endif()
    get_target_property(libs superstep_${component} SUPERSTEP_LIBS)
    if(libs)
      target_link_libraries(superstep_library PRIVATE ${libs})
    endif()
  endforeach()
  superstep_install_library()
endfunction()

function(superstep_install_library)
  set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/superstep")
  install(TARGETS superstep_library EXPORT superstep-targets)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
  install(EXPORT superstep-targets NAMESPACE superstep:: DESTINATION "${folder}")
  # The package of the build folder, for the wheel of the Python package and for find_package().
  export(EXPORT superstep-targets NAMESPACE superstep:: FILE "${PROJECT_BINARY_DIR}/superstep-targets.cmake")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/superstep_dependencies.cmake"
                 "${PROJECT_BINARY_DIR}/superstep_dependencies.cmake" COPYONLY)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/superstep-config.cmake.in"
    "${PROJECT_BINARY_DIR}/superstep-config.cmake" INSTALL_DESTINATION "${folder}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/superstep-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/superstep-config.cmake"
                "${PROJECT_BINARY_DIR}/superstep-config-version.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/superstep_dependencies.cmake"
          DESTINATION "${folder}")
endfunction()
