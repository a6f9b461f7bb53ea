// Large runs stay usable: 100 clients over 200 rounds, and 10 000 clients with bounded memory on both sides.
//   node large.mjs FEROMA
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expectNoTrouble, hoverCell, openPage, openView, picture, startDashboard, withBrowser } from "./browser.mjs";
import { SampleRun } from "./generate.mjs";

const program = process.argv[2];
/** A view that is there already, and one that has much to fetch and draw; the machine may be busy with other tests. */
const soon = 2000;
const patience = 3000;

function residentMegabytes(pid) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

async function timed(what, limit, action) {
  const began = performance.now();
  await action();
  const took = performance.now() - began;
  console.log(`${what}: ${took.toFixed(0)} ms`);
  assert.ok(took < limit, `${what} took ${took} ms, more than ${limit}`);
}

/** Waits for the matrix itself: the slider names a round before its weights are there. */
async function matrixOf(page, round) {
  await page.locator("#view-mixing .chart").focus();
  const until = performance.now() + 3 * patience;
  for (let told = ""; !told.startsWith(`Round ${round}:`); told = await page.locator("#pair").textContent()) {
    assert.ok(performance.now() < until, `round ${round} is not drawn; the page says: ${told}`);
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(20);
  }
}

/** The mouse on a cell names what is under it, clients or blocks of clients, and the weight that the file has. */
async function pointed(page, run, rounds) {
  const most = 128; // cells that are drawn in a row
  const step = Math.ceil(run.mixed / most);
  const cells = Math.ceil(run.mixed / step);
  const [row, column] = [5, Math.min(20, cells - 1)];
  const named = (cell) => (step === 1 ? `client ${cell}` : `clients ${cell * step}–${cell * step + step - 1}`);
  const text = await hoverCell(page, row, column, cells, cells, `${named(row)} took`);
  const shown = new RegExp(`^Round ${rounds}: ${named(row)} took,?(?: each,)? ([0-9.e-]+) from ${named(column)}$`).exec(text);
  assert.ok(shown, text);
  let sum = 0;
  for (let r = row * step; r < (row + 1) * step; ++r) {
    for (let s = column * step; s < (column + 1) * step; ++s) {
      sum += run.weights[r * run.mixed + s];
    }
  }
  const weight = sum / step;
  assert.ok(Math.abs(Number(shown[1]) - weight) <= 0.051 * weight + 1e-5, `${text}, the file has ${weight}`);
}

async function looks(page, run, rounds, clients) {
  await timed("profiles", patience, async () => {
    await openView(page, "Profiles");
    await page.locator("#view-profiles canvas").first().waitFor();
    await page.locator("#view-profiles output", { hasText: `round ${rounds}` }).waitFor();
  });
  await timed("mixing", patience, async () => {
    await openView(page, "Mixing");
    await page.locator("#view-mixing canvas").first().waitFor();
    await matrixOf(page, rounds);
  });
  await timed("pointing at a cell", soon, () => pointed(page, run, rounds));
  await timed("ten rounds back, one key each", patience, async () => {
    await page.locator("#view-mixing input[type=range]").focus();
    for (let i = 0; i < 10; ++i) {
      await page.keyboard.press("ArrowLeft");
    }
    await matrixOf(page, rounds - 10);
  });
  await timed("clients, sorted", soon, async () => {
    await openView(page, "Clients");
    await page.getByRole("button", { name: "accuracy" }).click();
    await page.getByText(new RegExp(`of ${clients} clients`)).waitFor();
  });
  await timed("overview", soon, async () => {
    await openView(page, "Overview");
    await page.locator("#view-overview canvas").first().waitFor();
  });
}

await withBrowser(async (browser, folder) => {
  const middle = join(folder, "middle");
  mkdirSync(middle);
  const run = new SampleRun(middle, { clients: 100, rounds: 200, kinds: 6 });
  for (const algorithm of run.algorithms) {
    for (let round = 1; round <= 200; ++round) {
      run.round(algorithm, round);
    }
  }
  const first = await startDashboard(program, middle);
  const small = await openPage(browser, first.url);
  await small.page.getByRole("row", { name: /feroma-auto.*200\/200/ }).first().waitFor({ timeout: 60000 });
  await looks(small.page, run, 200, 100);
  await picture(small.page, "large-overview");
  expectNoTrouble(small.troubles);
  await small.context.close();
  assert.equal(await first.stop(), 0);

  const many = join(folder, "many");
  mkdirSync(many);
  const rounds = 40;
  const big = new SampleRun(many, { clients: 10000, rounds, kinds: 6, mixed: 1500, algorithms: ["feroma-auto"] });
  for (let round = 1; round <= rounds; ++round) {
    big.round("feroma-auto", round);
  }
  const second = await startDashboard(program, many);
  const large = await openPage(browser, second.url);
  await large.page.getByRole("row", { name: new RegExp(`feroma-auto.*${rounds}/${rounds}`) }).first().waitFor({ timeout: 120000 });
  await looks(large.page, big, rounds, "10\u202f000");
  await picture(large.page, "many-overview");
  const heap = await large.page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  const resident = residentMegabytes(second.pid);
  console.log(`10 000 clients: the program used at most ${resident.toFixed(0)} MB, the page holds ${heap.toFixed(0)} MB`);
  assert.ok(resident < 300, `the program used ${resident} MB`);
  assert.ok(heap < 150, `the page holds ${heap} MB`);
  expectNoTrouble(large.troubles);
  await large.context.close();
  assert.equal(await second.stop(), 0);
});
