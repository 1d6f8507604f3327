# What `cmake --install` puts where, in two components: programs, with all that goes with them, and
# development, the libraries for programs of others. A program needs no file beside it: presets and
# explanations are built in.
include(CMakePackageConfigHelpers)

set(docs ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${docs} COMPONENT programs)
install(DIRECTORY docs DESTINATION ${docs} COMPONENT programs PATTERN man EXCLUDE)
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs
        FILES_MATCHING PATTERN "*.1")
install(DIRECTORY data DESTINATION ${CMAKE_INSTALL_DATADIR}/attntools COMPONENT programs)
# The scripts for users; the others are for this tree.
file(GLOB scripts CONFIGURE_DEPENDS scripts/plot_*.py)
list(FILTER scripts EXCLUDE REGEX plot_style)
set(scripts_folder ${CMAKE_INSTALL_DATADIR}/attntools/scripts)
install(PROGRAMS ${scripts} scripts/attention_html.py DESTINATION ${scripts_folder}
        COMPONENT programs)
install(FILES scripts/record_attention.py scripts/hdf5_script.py scripts/plot_style.py
              scripts/attention_maps.py scripts/attention_page.py DESTINATION ${scripts_folder}
        COMPONENT programs)  # to be imported
install(DIRECTORY scripts/attention_html DESTINATION ${scripts_folder} COMPONENT programs
        PATTERN __pycache__ EXCLUDE)

# bash finds a program's completion by the program's name, zsh in a folder that differs: Debian's
# packages have one of their own.
get_property(programs GLOBAL PROPERTY ATTNTOOLS_PROGRAMS)
foreach(program IN LISTS programs)
  install(FILES scripts/completion/attntools.bash RENAME ${program}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT programs)
endforeach()
install(CODE "
  set(folder site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr/?$\")
    set(folder vendor-completions)
  endif()
  file(INSTALL \"${CMAKE_SOURCE_DIR}/scripts/completion/_attntools\"
       DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")
" COMPONENT programs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/attntools)
install(DIRECTORY lib/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attntools COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
install(EXPORT attntools NAMESPACE attntools:: DESTINATION ${package} COMPONENT development
        FILE attntools-targets.cmake)
configure_package_config_file(cmake/attntools-config.cmake.in attntools-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(attntools-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attntools-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/attntools-config-version.cmake
              cmake/Packages.cmake
        DESTINATION ${package} COMPONENT development)
