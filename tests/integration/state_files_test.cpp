// What the program leaves on the disk, as an operator finds it.
#include <sys/stat.h>

#include "tests/integration/federation_files.h"
#include "tests/places.h"

namespace feroma::test {
namespace {

class StateFiles : public FederationFiles {
 protected:
  /// Plays a whole federation of one client; the server's state is in `federation`, the client's in `site`.
  Result play() const {
    const mode_t before = ::umask(S_IWGRP | S_IWOTH);  // as most shells have it
    Result result = beside_a_server(
        "$feroma client --data visits --server 127.0.0.1:$port --client 0 --insecure --state site >client.out 2>&1; "
        "wait");
    ::umask(before);
    return result;
  }
  [[nodiscard]] Result in_folder(const std::string& commands) const {
    return shell("cd " + path("") + "; feroma=" + kProgram + "; umask 022; " + commands);
  }
};

TEST_F(StateFiles, AreOpenToTheirOwnerAlone) {
  ASSERT_EQ(play().exit_code, 0) << text_of(path("server.err")) << text_of(path("client.out"));
  EXPECT_EQ(in_folder("find federation/results/store.db federation/journal site/client.state site/data.versions -perm "
                      "600 | wc -l")
                .output,
            "4\n");
  EXPECT_EQ(in_folder("find federation site -perm /077").output, "");
  EXPECT_EQ(in_folder("$feroma cert authority >/dev/null && $feroma cert server fed.example.org >/dev/null && "
                      "$feroma cert client a >/dev/null && $feroma cert revoke a >/dev/null && find certs -perm /077")
                .output,
            "");
}

TEST_F(StateFiles, WhatIsWiderIsNamed) {
  write_files();
  const Result client = in_folder(
      "mkdir -m 750 site; $feroma cert authority >/dev/null; $feroma cert client a >/dev/null; "
      "chmod 640 certs/clients/a.key; timeout 1 $feroma client --data visits --server 127.0.0.1:1 --ca certs/ca.pem "
      "--cert certs/clients/a.pem --key certs/clients/a.key --state site 2>&1");
  EXPECT_TRUE(contains(client.output, "site: is open to others than its owner (chmod 700 site)")) << client.output;
  EXPECT_TRUE(contains(client.output, "a.key: is open to others than its owner (chmod 600 ")) << client.output;
}

TEST_F(StateFiles, ACheckOfADamagedFolderLosesNothingAndSaysTheWayBack) {
  ASSERT_EQ(play().exit_code, 0) << text_of(path("server.err")) << text_of(path("client.out"));
  const std::string check = "$feroma server config.toml --insecure --state federation --listen 127.0.0.1:0 --check";
  EXPECT_EQ(in_folder(check).exit_code, 0);
  ASSERT_EQ(in_folder("cp -r federation whole && printf 'and some garbage' >> federation/journal && "
                      "cp -r federation damaged")
                .exit_code,
            0);
  const Result refused = in_folder(check + " 2>/dev/null");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.output, "federation/journal: is damaged: the 16 bytes from byte ")) << refused.output;
  EXPECT_TRUE(contains(refused.output, "whole up to round 2: `feroma server --set-damage-aside`")) << refused.output;
  EXPECT_EQ(in_folder("diff -r federation damaged").output, "");
  const Result aside = in_folder("$feroma server config.toml --state federation --set-damage-aside");
  EXPECT_TRUE(contains(aside.output, "what was damaged is in federation/journal.damaged-2")) << aside.output;
  EXPECT_EQ(in_folder("diff -r federation whole | sed 's/damaged-.*//'").output, "Only in federation: journal.\n");
  EXPECT_EQ(in_folder(check).exit_code, 0);
}

}  // namespace
}  // namespace feroma::test
