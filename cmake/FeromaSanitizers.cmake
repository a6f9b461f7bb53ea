if(FEROMA_SANITIZE)
  add_compile_options(-fsanitize=${FEROMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code hides from GCC what is written before it is read, std::regex for example.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${FEROMA_SANITIZE})
  # Two checks at every use of a pointer double the time to compile tests and unrolled kernels. AddressSanitizer sees
  # null pointers too, and all other code is compiled with both.
  if(FEROMA_SANITIZE MATCHES undefined)
    set(FEROMA_FEWER_CHECKS -fno-sanitize=null,alignment)
  endif()
endif()
