# Warnings are errors everywhere; libtorch's headers are system headers and do not count.
add_library(feroma_warnings INTERFACE)
target_compile_options(feroma_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual
  -Wconversion -Wsign-conversion -Wdouble-promotion -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 takes sums of strings for writes that overlap, depending on what else it has inlined.
  target_compile_options(feroma_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND FEROMA_SANITIZE STREQUAL "")
  # Debian hardens its packages the same way.
  target_compile_options(feroma_warnings INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
# No contraction: a multiply and an add stay two roundings unless the code says fma, so results do not depend on flags.
target_compile_options(feroma_warnings INTERFACE -ffp-contract=off)
