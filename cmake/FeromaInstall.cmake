# What goes under the prefix beside the program and the torch module, which their own folders install: the library, its
# headers, and the package behind find_package(feroma).
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/feroma)
set(package_files ${PROJECT_BINARY_DIR}/package)

set_target_properties(feroma_core PROPERTIES OUTPUT_NAME feroma EXPORT_NAME feroma)
install(TARGETS feroma_core EXPORT feroma ARCHIVE DESTINATION lib INCLUDES DESTINATION include)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/feroma DESTINATION include FILES_MATCHING PATTERN *.h)
install(EXPORT feroma NAMESPACE feroma:: FILE feroma-targets.cmake DESTINATION ${package_folder})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/feroma-config.cmake.in ${package_files}/feroma-config.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${package_files}/feroma-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package_files}/feroma-config.cmake ${package_files}/feroma-config-version.cmake
        DESTINATION ${package_folder})
