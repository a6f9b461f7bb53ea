// The page in a browser: it loads, follows a run, names pairs and weights, and can be used by everybody.
//   node page.mjs FEROMA
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expectAccessible, expectNoTrouble, openPage, openView, picture, startDashboard, views, withBrowser } from "./browser.mjs";
import { SampleRun } from "./generate.mjs";

const program = process.argv[2];

/** The readout after the mouse was put onto a cell of the heat map, counted from its corners. */
async function hover(page, row, column, size) {
  const box = await page.locator("#view-mixing .chart").boundingBox();
  const grid = { left: 64, right: 16, top: 56, bottom: 48 };
  const x = box.x + grid.left + ((column + 0.5) * (box.width - grid.left - grid.right)) / size;
  const y = box.y + grid.top + ((row + 0.5) * (box.height - grid.top - grid.bottom)) / size;
  await page.mouse.move(x - 2, y - 2);
  await page.mouse.move(x, y);
  await page.locator("#pair", { hasText: `client ${row} took` }).waitFor();
  return page.locator("#pair").textContent();
}

await withBrowser(async (browser, folder) => {
  const clients = 12;
  const run = new SampleRun(folder, { clients, rounds: 20, privacy: "off" });
  for (let round = 1; round <= 6; ++round) {
    run.round("fedavg", round);
  }
  for (let round = 1; round <= 8; ++round) {
    run.round("feroma-auto", round);
  }
  const dashboard = await startDashboard(program, folder);
  const { page, context, troubles } = await openPage(browser, dashboard.url);

  // It loads, and goes on while the run does.
  await page.getByRole("row", { name: /feroma-auto.*8\/20/ }).first().waitFor();
  run.round("feroma-auto", 9);
  await page.getByRole("row", { name: /feroma-auto.*9\/20/ }).first().waitFor();

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

  // Where the server goes, the page says so; Ctrl-C is a good end.
  assert.equal(await dashboard.stop(), 0);
  await phone.page.getByText("has lost its server").waitFor({ timeout: 30000 });
  await phone.context.close();
});
