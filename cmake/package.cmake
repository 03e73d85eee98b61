# What is installed. The Debian package has its files where Debian wants them; a wheel (component `wheel`, seen
# from the folder of Python's packages) has all of them in the package `edl`.

# Whose code is inside, in the words of its authors. (Boost's do not ask for that.)
set(notices "Parts of other projects are in EDL's program and library. Their terms:\n")
foreach(package IN ITEMS libcli11-dev libfmt-dev libjpeg62-turbo-dev libpng-dev libspdlog-dev libsqlite3-dev
        libssl-dev libstdc++-12-dev libxxhash-dev nlohmann-json3-dev zlib1g-dev)
  set(terms "(not on the machine where this was built)\n")
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright terms)
  endif()
  string(APPEND notices "\n==== ${package}\n\n${terms}")
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/NOTICES "${notices}")
file(READ LICENSE licence)
file(WRITE ${CMAKE_BINARY_DIR}/copyright "${licence}\n\n${notices}")  # Debian has one file

set(module lib/python3/dist-packages/edl)
set(libraries lib/${CMAKE_LIBRARY_ARCHITECTURE})
install(TARGETS edl RUNTIME DESTINATION bin)
install(TARGETS libedl LIBRARY DESTINATION ${libraries})
install(FILES edl/capi/edl.h DESTINATION include/edl/capi)
install(DIRECTORY python/edl/ DESTINATION ${module} FILES_MATCHING PATTERN *.py PATTERN py.typed)
install(FILES edl/train/builtin/digits.txt DESTINATION ${module}/data)
install(FILES ${CMAKE_BINARY_DIR}/copyright DESTINATION share/doc/edl)
# The package for Python finds program and library beside itself.
install(CODE "
  set(module \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${module}\")
  file(MAKE_DIRECTORY \"\${module}/bin\" \"\${module}/lib\")
  file(CREATE_LINK ../../../../../bin/edl \"\${module}/bin/edl\" SYMBOLIC)
  file(CREATE_LINK ../../../../../${libraries}/libedl.so \"\${module}/lib/libedl.so\" SYMBOLIC)")

set(wheel COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS edl RUNTIME DESTINATION edl/bin ${wheel})
install(TARGETS libedl LIBRARY DESTINATION edl/lib ${wheel})
install(FILES edl/train/builtin/digits.txt DESTINATION edl/data ${wheel})
install(FILES LICENSE ${CMAKE_BINARY_DIR}/NOTICES DESTINATION edl ${wheel})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The maintainers of EDL <maintainers@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "elastic training of neural networks")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3 (>= 3.9)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3-torch)
include(CPack)
