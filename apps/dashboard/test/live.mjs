// The page over a server that is running, with two clients on this machine: what it adds to the files. A server whose
// clients keep their accuracies to themselves. And what the page tells of each client.
//   node live.mjs FEROMA
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, expectAccessible, expectNoTrouble, openPage, openView, picture, startDashboard, startProgram, withBrowser } from "./browser.mjs";
import { SampleRun } from "./generate.mjs";

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

/** The row of a client in the table of clients. */
function rowOf(page, client) {
  return page.locator("table.clients tbody tr").filter({ has: page.locator("th", { hasText: new RegExp(`^${client}$`) }) });
}

/** What a column of it says; columns are named as the program names them. */
async function cellOf(page, client, column) {
  const columns = await page.locator("table.clients thead button").evaluateAll((all) => all.map((button) => button.dataset.key));
  assert.ok(columns.includes(column), `no column ${column} among ${columns}`);
  return (await rowOf(page, client).locator("th, td").allInnerTexts())[columns.indexOf(column)];
}

const linesOf = (file) => readFileSync(file, "utf8").trim().split("\n");
const eventsOf = (folder) => linesOf(join(folder, "state", "events.jsonl")).map((line) => JSON.parse(line));

/** After the last round: who took part, how, and what went to and fro, as the files have it. */
async function expectClients(page, folder) {
  await openView(page, "Clients");
  for (const client of [0, 1]) {
    await rowOf(page, client).locator("td", { hasText: new RegExp(`^round ${rounds}, `) }).waitFor();
    assert.equal(await cellOf(page, client, "rounds"), String(rounds));
    const line = linesOf(join(folder, "state", "clients.csv")).map((text) => text.split(",")).find(([, round, id]) => round === String(rounds) && id === String(client));
    assert.equal(await cellOf(page, client, "strategy"), line[8] || "–");
    for (const column of ["bytes_up", "bytes_down"]) {
      const bytes = eventsOf(folder)
        .filter(({ event }) => event === "clients")
        .reduce((sum, event) => sum + event[column][event.client.indexOf(client)], 0);
      const shown = /^([0-9.]+) (B|kB|MB)$/.exec(await cellOf(page, client, column));
      assert.ok(bytes > 0 && shown, `${column} of client ${client}: ${bytes}, shown as ${shown}`);
      const value = Number(shown[1]) * { B: 1, kB: 1e3, MB: 1e6 }[shown[2]];
      assert.ok(Math.abs(value - bytes) <= 0.05 * bytes, `${column} of client ${client}: ${bytes}, shown as ${shown[0]}`);
    }
  }
}

if (!execFileSync(program, ["--version"], { encoding: "utf8" }).includes("network (gRPC): yes")) {
  console.error("SKIPPED: this build has no network; the page of a server was not tested");
  process.exit(77);
}

/** A server that goes on after its last round, before, during and after its clients come. */
async function expectAServer(browser, folder) {
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

  // Before the first round those who are connected are shown, with what is known of them.
  await openView(page, "Clients");
  await rowOf(page, 0).locator("td", { hasText: /^connected, / }).waitFor();
  assert.equal(await cellOf(page, 0, "strategy"), "–");
  assert.equal(await cellOf(page, 0, "moved"), "–");
  await page.locator("#view-clients").getByText("No round is finished yet.").waitFor();
  await page.getByText("1 to 1 of 1 clients, 1 connected").waitFor();
  await expectAccessible(page, "Clients before the first round");
  await openView(page, "Server");

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
  // A federation has no test clients.
  await page.waitForFunction(() => document.querySelector("#metric").value === "accuracy_before");
  await page.locator(".tile", { hasText: "Best accuracy" }).getByText(/^as served: fedavg, round \d+$/).waitFor();
  await page.locator(".tile", { hasText: "Refusals" }).getByText(/^0 in rounds, \d+ at the door; \d+ messages refused$/).waitFor();
  assert.match(server.output(), new RegExp(`round ${rounds}/${rounds}: 2 clients, 0 dropped, accuracy [0-9.]+ as served, [0-9.]+ after training, `));
  await Promise.all(clients.map((client) => client.ended));
  await expectClients(page, open);
  await page.getByText("1 to 2 of 2 clients, 0 connected").waitFor();
  expectNoTrouble(troubles);
  await server.stop();
  await page.getByText("has lost its server").waitFor({ timeout: 30000 });
  await context.close();
}

/** Under a budget nobody tells an accuracy: nothing shows a 0 for it. */
async function expectASecretiveServer(browser, folder) {
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
    const lines = linesOf(join(guarded, "state", file)).slice(1);
    assert.ok(lines.length >= rounds && lines.every((line) => line.split(",")[column] === "nan"), lines.join("\n"));
  }
  for (const event of eventsOf(guarded).filter((event) => event.event === "round_finished")) {
    for (const key of ["loss", "accuracy_before", "accuracy_after", "validation_loss", "validation_accuracy"]) {
      assert.equal(event[key], null, key);
    }
  }
  await Promise.all(secretive.map((client) => client.ended));
  await expectClients(second.page, guarded);
  assert.match(await cellOf(second.page, 0, "strategy"), /^(global|clustered|personal)$/);
  expectNoTrouble(second.troubles);
  await second.context.close();
  await silent.stop();
}

/** A profile that moved by three noise floors is quiet, one that moved a little more is an alarm. */
async function expectDriftAlarms(browser, folder) {
  const drifting = join(folder, "drifting");
  mkdirSync(drifting);
  const moved = [3, 3.01, 0, null];
  const sample = new SampleRun(drifting, { clients: moved.length, rounds: 8, algorithms: ["feroma-auto"], moved: (client) => moved[client] });
  for (let round = 1; round <= 6; ++round) {
    sample.round("feroma-auto", round);
  }
  const files = await startDashboard(program, drifting);
  const third = await openPage(browser, files.url);
  await openView(third.page, "Clients");
  await rowOf(third.page, 1).locator(".chip.alarm", { hasText: /^▲ 3\.0×$/ }).waitFor();
  assert.equal(await cellOf(third.page, 0, "moved"), "3.0×");
  assert.equal(await cellOf(third.page, 2, "moved"), "same data");
  assert.equal(await cellOf(third.page, 3, "moved"), "–");
  assert.equal(await third.page.locator("table.clients .chip.alarm").count(), 1);
  await third.page.getByText("In round 6 the drift is known for 3 of the 4 clients so far.").waitFor();
  // Round 3 went on without client 3; files know nothing of what a server refused.
  await rowOf(third.page, 3).locator("[title='1 × dropped out']", { hasText: "round 3: no answer within 600 s" }).waitFor();
  await third.page.locator("#filter").selectOption({ label: "drift alarm now" });
  await third.page.getByText("1 to 1 of 1 (of 4) clients").waitFor();
  assert.deepEqual(await third.page.locator("table.clients tbody th").allInnerTexts(), ["1"]);
  moved[1] = 3;
  sample.round("feroma-auto", 7);
  await third.page.getByText("No client is like that.").waitFor();
  await third.page.locator("#filter").selectOption("all");
  await eventually("the alarm of the round before is remembered", async () => (await cellOf(third.page, 1, "moved")) === "3.0×, alarm in 6");
  expectNoTrouble(third.troubles);
  await third.context.close();
  assert.equal(await files.stop(), 0);
}

// Each waits for a page of its own most of the time.
await withBrowser((browser, folder) =>
  Promise.all([expectAServer, expectASecretiveServer, expectDriftAlarms].map((expect) => expect(browser, folder))),
);
