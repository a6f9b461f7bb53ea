#include "tests/places.h"

namespace feroma::test {

const char* const kSourceFolder = FEROMA_SOURCE_DIR;
const char* const kProgram = FEROMA_BINARY;

}  // namespace feroma::test
