# Packages without a CMake file of their own, as imported targets: for this project's build, and, as
# a part of its package config, for who builds on its libraries. The includer defines
# attn_missing(PACKAGE), which says so.

# find_path and find_library in one, as an imported target; for packages without a CMake file.
function(attn_find_package target header)
  if(TARGET ${target})  # of another folder of a project that finds the package in several
    return()
  endif()
  cmake_parse_arguments(ARG "" "PACKAGE" "INCLUDE_HINTS;LIBRARIES;LIBRARY_HINTS" ${ARGN})
  string(MAKE_C_IDENTIFIER ${target} id)
  find_path(${id}_INCLUDE ${header} HINTS ${ARG_INCLUDE_HINTS})
  if(NOT ${id}_INCLUDE)
    attn_missing("${ARG_PACKAGE} (${header})")
    return()
  endif()
  set(libraries)
  foreach(name IN LISTS ARG_LIBRARIES)
    string(MAKE_C_IDENTIFIER ${id}_${name} library_id)
    find_library(${library_id} NAMES ${name} HINTS ${ARG_LIBRARY_HINTS})
    if(NOT ${library_id})
      attn_missing("${ARG_PACKAGE} (lib${name})")
      return()
    endif()
    list(APPEND libraries ${${library_id}})
  endforeach()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${id}_INCLUDE})
  target_link_libraries(${target} INTERFACE ${libraries})
endfunction()

set(multiarch /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})

# The static serial HDF5 where the distribution has it: the shared one drags in curl, LDAP and
# Kerberos, which is half of a program's start-up time. FindHDF5's list for it does the same.
find_library(ATTN_HDF5_STATIC NAMES libhdf5.a HINTS ${multiarch}/hdf5/serial)
if(ATTN_HDF5_STATIC)
  attn_find_package(attn_hdf5 hdf5.h PACKAGE HDF5
                    INCLUDE_HINTS /usr/include/hdf5/serial LIBRARIES libhdf5.a sz z m
                    LIBRARY_HINTS ${multiarch}/hdf5/serial)
  if(TARGET attn_hdf5)
    target_link_libraries(attn_hdf5 INTERFACE ${CMAKE_DL_LIBS})
  endif()
else()
  attn_find_package(attn_hdf5 hdf5.h PACKAGE HDF5
                    INCLUDE_HINTS /usr/include/hdf5/serial LIBRARIES hdf5
                    LIBRARY_HINTS ${multiarch}/hdf5/serial)
endif()

# OpenBLAS is loaded when the first product needs it (lib/ops/gemm_blas.h): its header, and where
# to look beside the usual name.
attn_find_package(attn_openblas cblas.h PACKAGE OpenBLAS
                  INCLUDE_HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
find_library(ATTN_OPENBLAS_FILE openblas)
if(NOT ATTN_OPENBLAS_FILE)
  attn_missing("OpenBLAS (libopenblas)")
elseif(TARGET attn_openblas)
  target_compile_definitions(attn_openblas INTERFACE ATTNTOOLS_OPENBLAS="${ATTN_OPENBLAS_FILE}")
endif()

attn_find_package(attn_highway hwy/highway.h PACKAGE Highway LIBRARIES hwy)
attn_find_package(attn_json nlohmann/json.hpp PACKAGE nlohmann-json)
attn_find_package(attn_xxhash xxhash.h PACKAGE xxHash LIBRARIES xxhash)
attn_find_package(attn_zlib zlib.h PACKAGE zlib LIBRARIES z)
# Unicode's classes of characters; the static library, of which little is used.
attn_find_package(attn_icu unicode/uchar.h PACKAGE ICU LIBRARIES libicuuc.a)
attn_find_package(attn_program_options boost/program_options.hpp PACKAGE Boost.Program_options
                  LIBRARIES libboost_program_options.a)
