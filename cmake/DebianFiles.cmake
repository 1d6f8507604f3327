# Run by CPack before it packs: what Debian's policy wants of a package beside the installed files.
# Pages and changelogs are compressed; each package has its licence and its changelog.
set(source ${CMAKE_CURRENT_LIST_DIR}/..)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # follows SOURCE_DATE_EPOCH
file(READ ${source}/LICENSE licence)
string(REGEX MATCH "Copyright [^\n]*" copyright "${licence}")
string(REGEX REPLACE "^Copyright \\(c\\) " "" copyright "${copyright}")
string(REGEX REPLACE "^.*\n(Permission is)" "\\1" licence "${licence}")
string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
string(STRIP "${licence}" licence)
string(REGEX REPLACE "\n" "\n " licence "${licence}")

file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/programs/usr/share/man/man1/*.1)
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(component IN ITEMS programs development)
  string(TOUPPER ${component} id)
  set(package ${CPACK_DEBIAN_${id}_PACKAGE_NAME})
  set(folder ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${package})
  file(WRITE ${folder}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: attntools

Files: *
Copyright: ${copyright}
License: Expat
 ${licence}
")
  file(WRITE ${folder}/changelog.Debian
"attntools (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packaged from the source tree by its own `make deb`; changelog.gz tells
    what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  # No bug was asked for it; its scripts are extras, and python3 is recommended for them.
  file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/lintian/overrides/${package}
"${package}: initial-upload-closes-no-bugs
")
  if(component STREQUAL programs)
    file(APPEND ${CPACK_TEMPORARY_DIRECTORY}/programs/usr/share/lintian/overrides/${package}
"${package}: python3-script-but-no-python3-dep
")
  endif()
  file(COPY_FILE ${source}/CHANGELOG.md ${folder}/changelog)
  file(REMOVE ${folder}/CHANGELOG.md ${folder}/LICENSE)
  execute_process(COMMAND gzip -9n ${folder}/changelog ${folder}/changelog.Debian
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
