// Large runs stay usable: 100 clients over 200 rounds, also while more are added, and 10 000 clients with bounded memory
// on both sides.
//   node large.mjs FEROMA
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, expectNoTrouble, hoverCell, openPage, openView, picture, startDashboard, withBrowser } from "./browser.mjs";
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

/** Waits for the matrix itself, of a round or of a later one: the slider names a round before its weights are there. */
async function matrixOf(page, round, orLater = false) {
  await page.locator("#view-mixing .chart").focus();
  const until = performance.now() + 3 * patience;
  const isThere = (told) => {
    const shown = Number(/^Round (\d+): /.exec(told)?.[1] ?? 0);
    return orLater ? shown >= round : shown === round;
  };
  for (let told = ""; !isThere(told); told = await page.locator("#pair").textContent()) {
    assert.ok(performance.now() < until, `round ${round} is not drawn; the page says: ${told}`);
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(20);
  }
}

/** The round that a view's slider is at. */
async function roundOf(page, view) {
  return Number(/^round (\d+)$/.exec(await page.locator(`#view-${view} output`).textContent())?.[1] ?? 0);
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

/** The last round that the overview tells of. */
async function toldRound(page) {
  const row = page.locator("table.progress tr", { hasText: "feroma-auto" });
  return Number(/(\d+)\/\d+/.exec(await row.textContent())?.[1] ?? 0);
}

/** As quick while rounds are added as before, and nobody is taken away from what they look at. */
async function looksWhileItGrows(page, run, rounds, clients) {
  const written = { round: rounds };
  const writer = setInterval(() => run.round("feroma-auto", ++written.round), 400);
  const slider = page.locator("#view-mixing input[type=range]");
  try {
    await timed("growing: the next round", patience, async () => {
      await eventually("one more round", async () => (await toldRound(page)) > rounds);
    });
    await timed("growing: profiles", patience, async () => {
      const newest = written.round;
      await openView(page, "Profiles");
      await eventually("the newest profiles", async () => (await roundOf(page, "profiles")) >= newest);
    });
    await timed("growing: mixing", patience, async () => {
      const newest = written.round;
      await openView(page, "Mixing");
      await slider.focus();
      await page.keyboard.press("End");
      await matrixOf(page, newest, true);
    });
    await timed("growing: ten rounds back, one key each", patience, async () => {
      await slider.focus();
      for (let i = 0; i < 10; ++i) {
        await page.keyboard.press("ArrowLeft");
      }
      await matrixOf(page, await roundOf(page, "mixing"));
    });
    const [looked, told, most] = [await roundOf(page, "mixing"), await page.locator("#pair").textContent(), await slider.getAttribute("max")];
    await eventually("three more rounds", async () => Number(await slider.getAttribute("max")) >= Number(most) + 3);
    assert.deepEqual([await roundOf(page, "mixing"), await page.locator("#pair").textContent()], [looked, told]);
    await timed("growing: clients, sorted", soon, async () => {
      await openView(page, "Clients");
      await page.getByRole("button", { name: "accuracy" }).click();
      await page.getByText(new RegExp(`of ${clients} clients`)).waitFor();
    });
    await timed("growing: overview", soon, async () => {
      const newest = written.round;
      await openView(page, "Overview");
      await eventually("the newest round", async () => (await toldRound(page)) >= newest);
    });
    console.log(`growing: ${written.round - rounds} rounds were added`);
  } finally {
    clearInterval(writer);
  }
}

await withBrowser(async (browser, folder) => {
  const middle = join(folder, "middle");
  mkdirSync(middle);
  const run = new SampleRun(middle, { clients: 100, rounds: 1000, kinds: 6 });
  for (const algorithm of run.algorithms) {
    for (let round = 1; round <= 200; ++round) {
      run.round(algorithm, round);
    }
  }
  const first = await startDashboard(program, middle);
  const small = await openPage(browser, first.url);
  await small.page.getByRole("row", { name: /feroma-auto.*200\/1000/ }).first().waitFor({ timeout: 60000 });
  await looks(small.page, run, 200, 100);
  await picture(small.page, "large-overview");
  await looksWhileItGrows(small.page, run, 200, 100);
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
