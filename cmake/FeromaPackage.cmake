# The Debian package of what an operator needs: the program, units, an example config and documents (`make deb`). The
# library for programmers and the torch module, with all that libtorch brings along, are left to `make install`.
set(FEROMA_MAINTAINER "Feroma developers <feroma@localhost>" CACHE STRING "who stands behind a package, name and address")
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
# Not a part of `make install`: these belong under /usr and /etc whatever the prefix is.
set(operator COMPONENT operator EXCLUDE_FROM_ALL)

install(TARGETS feroma RUNTIME DESTINATION bin ${operator})
install(FILES ${packaging}/feroma.service ${packaging}/feroma-client@.service DESTINATION lib/systemd/system ${operator})
install(FILES ${packaging}/feroma.sysusers DESTINATION lib/sysusers.d RENAME feroma.conf ${operator})
install(FILES ${PROJECT_SOURCE_DIR}/configs/federation.toml DESTINATION /etc/feroma RENAME federation.toml.example ${operator})
foreach(document dashboard data federation files flower operations operations-reference privacy reliability report
        robustness scenarios sweeps)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/${document}.md DESTINATION share/doc/feroma ${operator})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/pictures ${PROJECT_SOURCE_DIR}/docs/decisions DESTINATION share/doc/feroma ${operator})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/feroma RENAME copyright ${operator})

set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};feroma;operator;/")
set(CPACK_PACKAGE_NAME feroma)
set(CPACK_PACKAGE_CONTACT "${FEROMA_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS systemd)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${packaging}/postinst ${packaging}/postrm ${packaging}/conffiles)
include(CPack)
