// The page in a browser: it loads, follows a run, names pairs and weights, and can be used by everybody.
//   node page.mjs FEROMA
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, renameSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expectAccessible, expectNoTrouble, holdRun, hoverCell, openPage, openView, picture, startDashboard, views, withBrowser } from "./browser.mjs";
import { SampleRun } from "./generate.mjs";

const program = process.argv[2];

const hover = (page, row, column, size) => hoverCell(page, row, column, size, size, `client ${row} took`);

await withBrowser(async (browser, folder) => {
  const clients = 12;
  const run = new SampleRun(folder, { clients, rounds: 20, privacy: "off" });
  for (let round = 1; round <= 6; ++round) {
    run.round("fedavg", round);
  }
  for (let round = 1; round <= 8; ++round) {
    run.round("feroma-auto", round);
  }
  const writer = holdRun(folder);
  const dashboard = await startDashboard(program, folder);
  const { page, context, troubles } = await openPage(browser, dashboard.url);

  // It loads, and goes on while the run does.
  await page.getByRole("row", { name: /feroma-auto.*8\/20/ }).first().waitFor();
  run.round("feroma-auto", 9);
  await page.getByRole("row", { name: /feroma-auto.*9\/20/ }).first().waitFor();
  // Round 9 comes too soon after round 8 to be read out at once, and is read out all the same.
  await page.locator("#live", { hasText: "feroma-auto: round 9 of 20" }).waitFor({ state: "attached", timeout: 15000 });

  // Tabs by keyboard.
  await page.getByRole("tab", { name: "Overview" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getByRole("tab", { selected: true }).textContent(), "Mixing");

  // The heat map names the pair and the weight, to the mouse and to the keyboard.
  await page.locator("#view-mixing canvas").first().waitFor();
  await page.locator("#view-mixing output", { hasText: "round 9" }).waitFor();
  await page.waitForTimeout(300);
  const text = await hover(page, 2, 3, clients);
  const weight = run.weights[2 * clients + 3];
  const shown = /Round 9: client 2 took ([0-9.e-]+) from client 3/.exec(text);
  assert.ok(shown, text);
  // Two digits are shown, and the program tells five places.
  const rounding = weight >= 0.0995 ? 0.0051 : 0.051 * weight + 1e-5;
  assert.ok(Math.abs(Number(shown[1]) - weight) <= rounding, `${text}, the file has ${weight}`);
  await page.locator("#view-mixing .chart").focus();
  await page.keyboard.press("ArrowDown");
  await page.locator("#pair", { hasText: "client 3 took" }).waitFor();

  // Any earlier round.
  await page.locator("#view-mixing input[type=range]").focus();
  await page.keyboard.press("Home");
  await page.locator("#view-mixing output", { hasText: "round 4" }).waitFor();
  const first = await hover(page, 1, 1, clients);
  assert.match(first, /Round 4: client 1 took/);

  // A round whose file cannot be read is tried again.
  for (const [view, readout] of [["Mixing", "#pair"], ["Profiles", "#view-profiles .readout"]]) {
    const file = join(folder, view.toLowerCase(), "feroma-auto-5.npy");
    renameSync(file, `${file}.away`);
    await openView(page, view);
    await page.locator(`#view-${view.toLowerCase()} input[type=range]`).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.locator(readout, { hasText: "Round 5 cannot be shown" }).waitFor();
    run.event({ event: "nothing that the page knows" });
    await page.waitForTimeout(1500);
    renameSync(`${file}.away`, file);
    run.event({ event: "nothing that the page knows" });
    await page.locator(readout, { hasText: "Point at a c" }).waitFor();
  }
  assert.ok(troubles.length > 0 && troubles.every((trouble) => trouble.includes("404")), troubles.join("\n"));
  troubles.length = 0;

  // Clients are sorted by keyboard, and the server does it.
  await openView(page, "Clients");
  assert.equal(await page.getByRole("button", { name: "ε spent" }).count(), 0, "nobody spends a budget here");
  const samples = page.getByRole("button", { name: "samples" });
  await samples.focus();
  await page.keyboard.press("Enter");
  await page.locator("th[aria-sort=ascending]", { hasText: "samples" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("th[aria-sort=descending]", { hasText: "samples" }).waitFor();
  await page.locator("table.clients tbody tr").first().locator("th", { hasText: /^6$/ }).waitFor();
  await page.locator("#filter").selectOption("dropped");
  await page.getByText("no answer within 600 s").first().waitFor();

  // Damage is told, and the rest is shown.
  appendFileSync(join(folder, "events.jsonl"), "this is no event\n");
  await page.getByText("cannot be read; the rest is shown").waitFor();

  // Everybody: both themes, a wide screen and a phone.
  for (const view of views) {
    await openView(page, view);
    await page.waitForTimeout(250);
    await expectAccessible(page, `${view}, light`);
    await picture(page, `${view.toLowerCase()}-light`);
  }
  await page.getByRole("button", { name: "Switch to the dark theme" }).click();
  for (const view of views) {
    await openView(page, view);
    await page.waitForTimeout(250);
    await expectAccessible(page, `${view}, dark`);
    await picture(page, `${view.toLowerCase()}-dark`);
  }
  expectNoTrouble(troubles);
  await context.close();

  const phone = await openPage(browser, dashboard.url, { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true });
  for (const view of views) {
    await openView(phone.page, view);
    await phone.page.waitForTimeout(250);
    await expectAccessible(phone.page, `${view}, phone`);
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${view} is ${wide} pixels wider than a phone`);
    await picture(phone.page, `${view.toLowerCase()}-phone`);
  }
  expectNoTrouble(phone.troubles);

  // Under a budget the page shows what is spent, and no exact counts. A token that is needed comes with the address.
  const guarded = join(folder, "guarded");
  mkdirSync(guarded);
  const budget = new SampleRun(guarded, { clients, rounds: 8, privacy: "gaussian", algorithms: ["feroma-auto"] });
  for (let round = 1; round <= 6; ++round) {
    budget.round("feroma-auto", round);
  }
  const token = join(folder, "token");
  appendFileSync(token, "a-token-of-twenty-two.\n");
  const closed = await startDashboard(program, guarded, "--token-file", token);
  const secret = await openPage(browser, `${closed.url}?token=a-token-of-twenty-two.`);
  assert.ok(!secret.page.url().includes("token"), "the token stays in the address");
  await openView(secret.page, "Privacy");
  await secret.page.getByText("of 12 clients the one that told most has spent").waitFor();
  await secret.page.locator("#view-privacy tbody tr", { hasText: /10\s*3\.600.*72 %/ }).first().waitFor();
  await expectAccessible(secret.page, "Privacy with a budget");
  await picture(secret.page, "privacy-budget");
  await openView(secret.page, "Clients");
  await secret.page.getByText("clients keep them under the privacy budget").waitFor();
  assert.equal(await secret.page.getByRole("button", { name: "samples" }).count(), 0);
  await secret.page.getByRole("button", { name: "ε spent" }).click();
  await secret.page.locator("th[aria-sort=ascending]", { hasText: "ε spent" }).waitFor();
  await secret.page.locator("table.clients tbody tr", { hasText: "3.600" }).first().waitFor();
  expectNoTrouble(secret.troubles);
  await secret.context.close();
  await closed.stop();

  // A run that has ended shows what was reached; one that nobody writes any more, that it was stopped.
  const ended = join(folder, "ended");
  mkdirSync(ended);
  const whole = new SampleRun(ended, { clients, rounds: 5, algorithms: ["fedavg", "feroma-auto", "ifca"] });
  for (const algorithm of ["fedavg", "feroma-auto"]) {
    for (let round = 1; round <= 5; ++round) {
      whole.round(algorithm, round);
    }
    whole.finish(algorithm);
  }
  whole.finish("ifca", "there is one cluster");
  const old = new Date(Date.now() - 3600_000);
  utimesSync(join(ended, "events.jsonl"), old, old);
  const holder = holdRun(ended);
  const last = await startDashboard(program, ended);
  const results = await openPage(browser, last.url);
  await results.page.locator(".state.running", { hasText: "running" }).waitFor();
  holder.letGo();
  await results.page.locator(".state.stopped", { hasText: "stopped before its end" }).waitFor();
  const left = results.page.locator(".tile", { hasText: "Time left" });
  await left.getByText("stopped", { exact: true }).waitFor();
  whole.end();
  await results.page.locator(".state.finished", { hasText: "finished" }).waitFor();
  await left.getByText("done", { exact: true }).waitFor();
  await results.page.getByRole("heading", { name: "Results on test clients, percent" }).waitFor();
  const reached = results.page.getByRole("region", { name: "Results" });
  assert.match(await reached.getByRole("row", { name: /^feroma-auto/ }).innerText(), /feroma-auto\s+86\.5\s+4\.5\s+77\.5\s+88\.5\s+95\.0\s+61 s/);
  assert.match(await reached.getByRole("row", { name: /^fedavg/ }).innerText(), /fedavg\s+51\.3\s+4\.5\s+42\.3\s+–\s+–\s+61 s/);
  await reached.getByRole("row", { name: /^ifca not applicable: there is one cluster/ }).waitFor();
  await expectAccessible(results.page, "Results");
  await picture(results.page, "results");
  expectNoTrouble(results.troubles);
  await results.context.close();
  await last.stop();

  // Where the server goes, the page says so; Ctrl-C is a good end.
  writer.letGo();
  assert.equal(await dashboard.stop(), 0);
  await phone.page.getByText("has lost its server").waitFor({ timeout: 30000 });
  await phone.context.close();
});
