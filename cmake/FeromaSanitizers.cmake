if(FEROMA_SANITIZE)
  add_compile_options(-fsanitize=${FEROMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code hides from GCC what is written before it is read, std::regex for example.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${FEROMA_SANITIZE})
endif()
