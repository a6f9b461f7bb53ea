if(FEROMA_SANITIZE)
  add_compile_options(-fsanitize=${FEROMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FEROMA_SANITIZE})
endif()
