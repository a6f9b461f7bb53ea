// Feeds the kept inputs to the fuzz targets, without libFuzzer: what once broke a parser stays in `make test`.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using Target = int(const std::uint8_t* data, std::size_t size);
#define FEROMA_FUZZ_TARGET(name) extern "C" Target fuzz_##name;
#include "fuzz_targets.inc"
#undef FEROMA_FUZZ_TARGET

namespace {

struct NamedTarget {
  const char* name;
  Target* run;
};

const std::vector<NamedTarget>& targets() {
  static const std::vector<NamedTarget> all{
#define FEROMA_FUZZ_TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
#undef FEROMA_FUZZ_TARGET
  };
  return all;
}

/// Feeds every file of a folder, whole and cut in half; returns how many there were.
int replay(const NamedTarget& target, const std::filesystem::path& folder) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto* data = reinterpret_cast<const std::uint8_t*>(content.data());
    target.run(data, content.size());
    target.run(data, content.size() / 2);
    ++files;
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_replay CORPUS\n");
    return 2;
  }
  for (const NamedTarget& target : targets()) {
    const int files = replay(target, std::filesystem::path(argv[1]) / target.name);
    std::printf("%-12s %d inputs\n", target.name, files);
    if (files == 0) {
      std::fprintf(stderr, "fuzz_replay: no inputs for %s\n", target.name);
      return 1;
    }
  }
  return 0;
}
