// Writes the built page as C++: node embed.mjs FOLDER OUTPUT.cpp
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const [folder, output] = process.argv.slice(2);

function filesIn(path) {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(join(path, entry.name)) : [join(path, entry.name)],
  );
}

/** Bytes as a string literal; three octal digits each, so that no digit after them joins in. */
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 40) {
    const line = [...bytes.subarray(at, at + 40)].map((byte) => "\\" + byte.toString(8).padStart(3, "0"));
    lines.push(`    "${line.join("")}"`);
  }
  return lines.join("\n");
}

const rows = filesIn(folder).map((file) => {
  const type = types[extname(file)];
  if (!type) {
    throw new Error(`${file}: embed.mjs does not know the type of such files`);
  }
  const name = "/" + relative(folder, file);
  const gzip = gzipSync(readFileSync(file), { level: 9 });
  return `    {"${name === "/index.html" ? "/" : name}", "${type}",\n     {\n${literal(gzip)},\n      ${gzip.length}}},`;
});
writeFileSync(
  output,
  `// Made by apps/dashboard/embed.mjs from the built page.
#include "dashboard/assets.h"

#include <array>

namespace feroma::dashboard {
namespace {

constexpr std::array<Asset, ${rows.length}> kAssets{{
${rows.join("\n")}
}};

}  // namespace

std::span<const Asset> assets() { return kAssets; }

}  // namespace feroma::dashboard
`,
);
