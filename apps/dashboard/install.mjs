// Brings node_modules to what the lockfile says, once: node install.mjs NPM
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const marker = "node_modules/.feroma-lock";

if (Number(process.versions.node.split(".")[0]) < 18) {
  console.error(`the page needs node 18 or later, this is ${process.versions.node}`);
  process.exit(1);
}

const wanted = readFileSync("package-lock.json", "utf8");
let installed = "";
try {
  installed = readFileSync(marker, "utf8");
} catch {
  // Nothing is there yet.
}
if (installed !== wanted) {
  // No package needs its install script, so none is run.
  const npm = spawnSync(process.argv[2] ?? "npm", ["ci", "--ignore-scripts", "--prefer-offline", "--loglevel=error"], {
    stdio: "inherit",
  });
  if (npm.status !== 0) {
    console.error("npm ci failed in apps/dashboard: is the registry within reach?");
    process.exit(1);
  }
  writeFileSync(marker, wanted);
}
