# `make deb`: two packages by CPack, attntools and attntools-dev, for the Debian that it runs on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attntools)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "programs for the transformer that pass tensors as HDF5 in pipes")
set(ATTNTOOLS_MAINTAINER "The attntools authors <authors@attntools.invalid>" CACHE STRING
    "Maintainer of the Debian packages")
set(CPACK_PACKAGE_CONTACT "${ATTNTOOLS_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL programs development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/DebianFiles.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME attntools)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION
"Ten command-line programs that check an attention kernel against the
definition and name its mistake, show what a position code or a head does,
train and run small models on a CPU, and tell what a key-value cache costs.
They pass tensors and checkpoints to each other as HDF5, also through pipes.")
# OpenBLAS is loaded when the first product needs it, so no dependency is seen in the programs.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS libopenblas0)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "python3, python3-h5py, python3-matplotlib")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "hdf5-tools, gnuplot")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME attntools-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Headers, static libraries and a CMake package (find_package(attntools)) to
write further programs: attention and its checks, small transformers, their
training, cache sizes, tensors and checkpoints as HDF5, command lines.
This package is for development; attntools has the programs.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libboost-program-options-dev, libopenblas-dev, libfmt-dev, libhdf5-dev, libaec-dev, \
libhwy-dev, nlohmann-json3-dev, libxxhash-dev, zlib1g-dev, libicu-dev")
include(CPack)
