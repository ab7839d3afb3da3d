# find_package(holdfast) defines
#   holdfast::c         the C interface, <holdfast.h>
#   holdfast::holdfast  the C++ library, <holdfast/holdfast.h>; the same shared library
#   holdfast::static    the C++ library as an archive; needs gRPC's development files
# The two C++ libraries need Abseil's development files.
get_filename_component(holdfast_libraries "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_path(holdfast_INCLUDE_DIR holdfast/holdfast.h
  PATHS "${holdfast_libraries}/../include" "${holdfast_libraries}/../../include"
  NO_DEFAULT_PATH REQUIRED)

if(NOT TARGET holdfast::c)
  # The loader looks in a program's rpath for the libraries that libholdfast.so needs, too.
  set(holdfast_link_options "LINKER:--disable-new-dtags")
  if(EXISTS "${holdfast_libraries}/libhf_c.so")
    # The bundle has copies of the distribution's libraries in the same folder. With the library's path CMake would warn
    # that they hide the distribution's, for each library that a program links with.
    add_library(holdfast::c INTERFACE IMPORTED)
    list(APPEND holdfast_link_options "LINKER:-rpath,${holdfast_libraries}")
    set_target_properties(holdfast::c PROPERTIES
      INTERFACE_LINK_LIBRARIES "-L${holdfast_libraries};-lholdfast")
  else()
    add_library(holdfast::c SHARED IMPORTED)
    set_target_properties(holdfast::c PROPERTIES
      IMPORTED_LOCATION "${holdfast_libraries}/libholdfast.so"
      IMPORTED_SONAME libholdfast.so.0)
  endif()
  set_target_properties(holdfast::c PROPERTIES
    INTERFACE_LINK_OPTIONS "${holdfast_link_options}"
    INTERFACE_INCLUDE_DIRECTORIES "${holdfast_INCLUDE_DIR}")
endif()

# The headers of the C++ library use Abseil; those of the C interface do not.
find_package(absl CONFIG QUIET)
if(NOT absl_FOUND)
  if(NOT holdfast_FIND_QUIETLY)
    message(STATUS "holdfast: no Abseil (libabsl-dev), therefore no holdfast::holdfast and no holdfast::static")
  endif()
  return()
endif()
set(holdfast_abseil absl::status absl::statusor absl::strings absl::time absl::synchronization
  absl::flat_hash_map absl::flat_hash_set absl::btree absl::inlined_vector absl::span absl::function_ref)

if(NOT TARGET holdfast::holdfast)
  add_library(holdfast::holdfast INTERFACE IMPORTED)
  set_target_properties(holdfast::holdfast PROPERTIES
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "holdfast::c;${holdfast_abseil}")
endif()

find_package(PkgConfig QUIET)
if(NOT TARGET holdfast::static AND PKG_CONFIG_FOUND AND EXISTS "${holdfast_libraries}/libholdfast.a")
  pkg_check_modules(holdfast_grpc QUIET IMPORTED_TARGET grpc++ protobuf)
  if(holdfast_grpc_FOUND)
    find_package(Threads REQUIRED)
    add_library(holdfast::static STATIC IMPORTED)
    set_target_properties(holdfast::static PROPERTIES
      IMPORTED_LOCATION "${holdfast_libraries}/libholdfast.a"
      INTERFACE_COMPILE_FEATURES cxx_std_20
      INTERFACE_INCLUDE_DIRECTORIES "${holdfast_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "PkgConfig::holdfast_grpc;${holdfast_abseil};Threads::Threads;${CMAKE_DL_LIBS}")
  endif()
endif()
