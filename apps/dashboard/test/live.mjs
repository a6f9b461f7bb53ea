// The page over a server that is running, with two clients on this machine: what it adds to the files. And a server
// whose clients keep their accuracies to themselves.
//   node live.mjs FEROMA
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectAccessible, expectNoTrouble, openPage, openView, picture, startProgram, withBrowser } from "./browser.mjs";

const program = process.argv[2];
const rounds = 4;

/** Writes a federation of two clients over sixty rows of a table. */
function federation(folder, more = "") {
  mkdirSync(join(folder, "table"), { recursive: true });
  writeFileSync(join(folder, "table", "dataset.toml"), "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'y'\n");
  const rows = Array.from({ length: 60 }, (_, i) => `${i % 7},${i % 2}\n`);
  writeFileSync(join(folder, "table", "rows.csv"), `x,y\n${rows.join("")}`);
  const config = join(folder, "federation.toml");
  writeFileSync(
    config,
    `[scenario]\ndataset = '${join(folder, "table")}'\nshift = 'iid'\ndrift_mode = 'static'\nclients = 2\nrounds = ${rounds}\ndrifts = 1\n` +
      `[training]\nmodel = 'mlp'\n[server]\ninput = '1'\nclasses = 2\nmin_clients = 2\n${more || "[[algorithm]]\nname = 'fedavg'\n"}`,
  );
  return config;
}

/** A server that goes on after its last round, so that there is time to look. */
async function startServer(folder, config) {
  const server = startProgram(program, "server", config, "--insecure", "--stay", "--state", join(folder, "state"), "--listen", "127.0.0.1:0", "--dashboard", "127.0.0.1:0");
  const [, port] = await server.said(/listening on port (\d+)/);
  const [, url] = await server.said(/^dashboard: (.*)\n/m);
  const client = (id) =>
    startProgram(program, "client", config, "--client", String(id), "--insecure", "--server", `127.0.0.1:${port}`, "--state", join(folder, `client-${id}`));
  return { ...server, url, client };
}

if (!execFileSync(program, ["--version"], { encoding: "utf8" }).includes("network (gRPC): yes")) {
  console.error("SKIPPED: this build has no network; the page of a server was not tested");
  process.exit(77);
}

await withBrowser(async (browser, folder) => {
  const open = join(folder, "open");
  const server = await startServer(open, federation(open));
  const { page, context, troubles } = await openPage(browser, server.url);
  await openView(page, "Server");
  const pair = (name, value) => page.locator("#view-server .pair", { hasText: name }).locator("dd", { hasText: value });
  await page.locator("#view-server .health.good", { hasText: "Well:" }).waitFor();
  await pair("Clients connected", /^0$/).waitFor();
  await pair("Rounds", `0 of ${rounds}`).waitFor();
  const clients = [server.client(0)];
  await pair("Clients connected", /^1$/).waitFor({ timeout: 60000 });
  clients.push(server.client(1));
  await pair("Rounds", `${rounds} of ${rounds}`).waitFor({ timeout: 60000 });
  await page.getByRole("row", { name: `accepted ${2 * rounds}` }).waitFor();
  await pair("Connections made", /^2$/).waitFor();
  await page.locator("#view-server tr", { hasText: "scenario.clients" }).waitFor();
  await expectAccessible(page, "Server of a server");
  await picture(page, "server-live");
  await page.locator(".state.finished").waitFor();
  await openView(page, "Overview");
  await page.getByRole("row", { name: new RegExp(`fedavg.*${rounds}/${rounds}.* %`) }).first().waitFor();
  assert.match(server.output(), new RegExp(`round ${rounds}/${rounds}: 2 clients, 0 dropped, accuracy [0-9.]+ -> [0-9.]+, `));
  expectNoTrouble(troubles);
  await Promise.all(clients.map((client) => client.ended));
  await server.stop();
  await page.getByText("has lost its server").waitFor({ timeout: 30000 });
  await context.close();

  // Under a budget nobody tells an accuracy: nothing shows a 0 for it.
  const guarded = join(folder, "guarded");
  const budget = "[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 1\nprofile.dimensions = 1\n[privacy]\nmode = 'gaussian'\n";
  const silent = await startServer(guarded, federation(guarded, budget));
  const secretive = [silent.client(0), silent.client(1)];
  await silent.said(new RegExp(`round ${rounds}/${rounds}: 2 clients, 0 dropped, [0-9.]+ s\n`));
  const second = await openPage(browser, silent.url);
  await second.page.getByRole("row", { name: new RegExp(`feroma-auto.*${rounds}/${rounds}`) }).first().waitFor();
  await second.page.locator(".tile", { hasText: "Best accuracy" }).getByText("clients keep it to themselves").waitFor();
  assert.doesNotMatch(await second.page.locator("#view-overview").innerText(), /(^|\s)0\.0 %/, "an accuracy that nobody told");
  for (const [file, column] of [["metrics.csv", 4], ["clients.csv", 7]]) {
    const lines = readFileSync(join(guarded, "state", file), "utf8").trim().split("\n").slice(1);
    assert.ok(lines.length >= rounds && lines.every((line) => line.split(",")[column] === "nan"), lines.join("\n"));
  }
  const told = readFileSync(join(guarded, "state", "events.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  for (const event of told.filter((event) => event.event === "round_finished")) {
    for (const key of ["loss", "accuracy_before", "accuracy_after", "validation_loss", "validation_accuracy"]) {
      assert.equal(event[key], null, key);
    }
  }
  expectNoTrouble(second.troubles);
  await second.context.close();
  await Promise.all(secretive.map((client) => client.ended));
  await silent.stop();
});
