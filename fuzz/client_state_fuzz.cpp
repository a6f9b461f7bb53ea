// A client's state: a whole file, or, after a first byte that is odd, what stands behind a right checksum.
#include "feroma/store/checkpoint.h"
#include "fuzz/guard.h"
#include "fuzz/scratch.h"
#include "fuzz/tiny_model.h"
#include "net/client_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::span<const std::byte> bytes = feroma::fuzz::bytes_of(data, size).subspan(1);
  std::filesystem::path folder;
  if (data[0] % 2 == 0) {
    const std::filesystem::path file = feroma::fuzz::scratch().file(bytes);
    folder = file.parent_path();
    std::filesystem::rename(file, folder / "client.state");
  } else {
    folder = feroma::fuzz::scratch().folder();
    feroma::write_checkpoint(folder / "client.state", bytes);
  }
  return feroma::fuzz::guarded([&] {
    (void)feroma::net::ClientState::peek(folder);
    feroma::net::ClientState state(folder, feroma::fuzz::tiny_model()->shared_layout(), "job", feroma::ClientId{0});
    const feroma::Round round = state.committed();
    (void)state.find(round, 0, "task");
    (void)state.before(round, 1);
    if (round < 1000) {
      state.keep({round + 1, 0, "task", {}, "failed", {}, state.before(round + 1, 0)});
      state.commit(round + 1, {round + 1, 1});
      feroma::fuzz::expect(state.committed() == round + 1, "a round is finished");
    }
  });
}
