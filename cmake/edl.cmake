# Build settings shared by every room, and the functions that declare rooms, programs and tests.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

set(EDL_FLAVOUR "release" CACHE STRING "release, debug, asan or tsan")
option(EDL_ONLY_PACKAGE "build nothing but what is installed: the program and the library" OFF)
set(EDL_TESTS ON)
if(EDL_ONLY_PACKAGE)
  set(EDL_TESTS OFF)
endif()
# Not under a sanitizer: it brings its own libraries.
set(EDL_INSTALLABLE OFF)
if(EDL_FLAVOUR STREQUAL "release" OR EDL_FLAVOUR STREQUAL "debug")
  set(EDL_INSTALLABLE ON)
endif()
# The sanitizers would watch torch's libraries, which were not built for that.
set(EDL_TORCH OFF)
if(EDL_INSTALLABLE AND EDL_TESTS)
  set(EDL_TORCH ON)
endif()

# Nothing may reorder or contract floating point: the same sums must give the same bits everywhere.
add_compile_options(-Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wimplicit-fallthrough -ffp-contract=off)
# Of headers that were precompiled gcc 12 forgets that they are the system's, and then warns wrongly of
# copies within its own library.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
else()
  # Clang writes the time into what it precompiles, and ccache would never find it again.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()
set(EDL_FLAGS_release -O2 -g1)
set(EDL_FLAGS_release_test -O1)  # sources of tests: a fifth less to wait for
set(EDL_FLAGS_debug -O0 -g)
# By clang, and ready for libFuzzer: tests and fuzz programs share what is compiled.
set(EDL_FLAGS_asan -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link
                   -fno-sanitize-recover=all)
set(EDL_FLAGS_tsan -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread)
add_compile_options(${EDL_FLAGS_${EDL_FLAVOUR}})
add_link_options(${EDL_FLAGS_${EDL_FLAVOUR}})
if(EDL_FLAVOUR STREQUAL "tsan")
  # gcc warns that it does not model fences; Asio has some, none of them between our threads.
  add_compile_options(-Wno-tsan)
endif()

find_program(EDL_CCACHE ccache)
if(EDL_CCACHE)
  # Paths relative to the tree: a clone or a copy elsewhere finds what this one compiled. Precompiled
  # headers are known by their bytes.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${EDL_CCACHE})
endif()
find_program(EDL_MOLD mold)
if(EDL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

include_directories(${CMAKE_SOURCE_DIR})

# edl_outside(NAME TARGET ARCHIVE [DEPS]): a library of the system, which rooms link as NAME. What is installed
# elsewhere has its archive inside (edl_carries); all else takes the shared one, TARGET, as torch does.
function(edl_outside name target archive)
  find_library(EDL_ARCHIVE_${archive} lib${archive}.a REQUIRED)
  mark_as_advanced(EDL_ARCHIVE_${archive})
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:EDL_CARRIES>>,${EDL_ARCHIVE_${archive}},${target}> ${ARGN})
endfunction()
# edl_carries(TARGET): this program or library needs nothing but the C library where it runs.
function(edl_carries target)
  if(EDL_INSTALLABLE)
    set_target_properties(${target} PROPERTIES EDL_CARRIES ON)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# edl_precompile(NAME HEADER... [DEPS lib...]): heavy headers of other projects, read once for all
# targets of a kind. The target `headers` does without, so that no header of ours relies on them.
function(edl_precompile name)
  cmake_parse_arguments(PRE "" "" "DEPS" ${ARGN})
  set(stub ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  file(GENERATE OUTPUT ${stub} CONTENT "")
  add_library(edl_precompiled_${name} OBJECT ${stub})
  target_link_libraries(edl_precompiled_${name} PRIVATE ${PRE_DEPS})
  target_compile_options(edl_precompiled_${name} PRIVATE ${EDL_FLAGS_${EDL_FLAVOUR}_${name}})
  target_precompile_headers(edl_precompiled_${name} PRIVATE ${PRE_UNPARSED_ARGUMENTS})
endfunction()
# edl_precompiled(TARGET KIND DEPS...): what TARGET with these libraries reads so. KIND: words, test.
function(edl_precompiled target kind)
  if(target STREQUAL "edl_torch" OR "edl_torch" IN_LIST ARGN OR "edl_bench_torch" IN_LIST ARGN)
    set(kind torch)
  endif()
  if(TARGET edl_precompiled_${kind})
    target_compile_options(${target} PRIVATE ${EDL_FLAGS_${EDL_FLAVOUR}_${kind}})
    target_precompile_headers(${target} REUSE_FROM edl_precompiled_${kind})
  endif()
endfunction()
# Programs are compiled like libraries, so that they share them.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})

add_custom_target(headers COMMENT "every header compiles alone")
# What `make test` runs. Programs that only sanitizers or people run are built by name.
add_custom_target(tests)
add_custom_target(threaded_tests)  # those with the label `threads`: what `make tsan` runs

# edl_room(NAME SOURCES a.cc b.cc DEPS room... ): the library edl_NAME from this folder. Headers are found
# by themselves; each is compiled alone by the target `headers`.
function(edl_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPS" ${ARGN})
  add_library(edl_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(edl_${name} PUBLIC ${ROOM_DEPS})
  edl_precompiled(edl_${name} words ${ROOM_DEPS})

  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} *.h)
  list(FILTER headers EXCLUDE REGEX "_test\\.h$")  # those need what their tests define
  file(GLOB inner CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} */CMakeLists.txt)
  foreach(room IN LISTS inner)  # a room inside this one looks after its own
    get_filename_component(folder ${room} DIRECTORY)
    list(FILTER headers EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(stubs)
  foreach(header IN LISTS headers)
    string(REPLACE "/" "_" stub ${header})
    set(stub ${CMAKE_BINARY_DIR}/headers/${stub}.cc)
    file(GENERATE OUTPUT ${stub} CONTENT "#include \"${header}\"\n")
    list(APPEND stubs ${stub})
  endforeach()
  if(stubs)
    add_library(edl_${name}_headers OBJECT EXCLUDE_FROM_ALL ${stubs})
    target_compile_options(edl_${name}_headers PRIVATE -O0 -g0)
    target_link_libraries(edl_${name}_headers PRIVATE edl_${name})
    add_dependencies(headers edl_${name}_headers)
  endif()
endfunction()

# edl_test(NAME SOURCES a_test.cc DEPS lib... [LABELS unit|world|real|scenario threads] [SECONDS n]):
# one program of GoogleTest cases, run by ctest as one test.
function(edl_test name)
  if(NOT EDL_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "SECONDS" "SOURCES;DEPS;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_DEPS} GTest::gtest GTest::gtest_main)
  edl_precompiled(${name} test ${TEST_DEPS})
  add_dependencies(tests ${name})
  add_test(NAME ${name} COMMAND ${name} ${TEST_ARGS})
  if("threads" IN_LIST TEST_LABELS)
    add_dependencies(threaded_tests ${name})
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(NOT TEST_SECONDS)
    set(TEST_SECONDS 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_SECONDS})
endfunction()

# edl_program(NAME DIR SOURCES DEPS): an executable at build/FLAVOUR/DIR/NAME.
function(edl_program name dir)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${dir})
  target_link_libraries(${name} PRIVATE ${PROGRAM_DEPS})
  edl_precompiled(${name} words ${PROGRAM_DEPS})
  if(EDL_INSTALLABLE)
    add_dependencies(tests ${name})  # sanitizers run no test that starts it
  endif()
endfunction()
