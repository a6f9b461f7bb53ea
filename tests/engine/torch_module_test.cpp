#include "engine/torch_module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <fstream>

#include "tests/data/synthetic.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

void expect_refused(const fs::path& path, std::string_view part) {
  expect_error(ErrorCode::unsupported, part, [&] { return load_torch_module(path).version; });
}

TEST(TorchModule, BelongsIntoTheLibFolderBesideTheProgram) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(torch_module_path(), program.parent_path().parent_path() / "lib" / "libferoma_torch.so");
}

TEST(TorchModule, AMissingFileIsNamed) {
  expect_refused("/nowhere/libferoma_torch.so", "/nowhere/libferoma_torch.so is missing; install libtorch");
}

TEST(TorchModule, AFileThatIsNoLibraryIsNamedWithTheLoadersReason) {
  const test::ScratchFolder scratch;
  const fs::path path = scratch.path() / "libferoma_torch.so";
  std::ofstream(path) << std::string(200, 'x');
  expect_refused(path, path.string() + ": invalid ELF header");
}

TEST(TorchModule, ALibraryThatIsNoModuleIsNamed) {
  // Any other library that this program has loaded.
  Dl_info other{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&hwy::SupportedTargets), &other), 0);
  expect_refused(other.dli_fname, "has no feroma_torch_module");
}

TEST(TorchModule, AModuleOfAnotherVersionIsRefused) {
  expect_refused(FEROMA_OTHER_MODULE, "is of version 0.0.0-other, this program of");
}

TEST(TorchModule, AvailableIsWhatCanBeLoaded) {
  EXPECT_EQ(engine_available(EngineKind::torch), fs::exists(torch_module_path()));
  if (engine_available(EngineKind::torch)) {
    require_engine(EngineKind::torch);
  } else {
    expect_error(ErrorCode::unsupported, "is missing", [] {
      require_engine(EngineKind::torch);
      return 0;
    });
  }
}

}  // namespace
}  // namespace feroma
