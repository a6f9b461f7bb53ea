// The page in a browser: it loads, follows a run, names pairs and weights, and can be used by everybody.
//   node page.mjs FEROMA
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, renameSync, utimesSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import {
  eventually, expectAccessible, expectNoTrouble, holdRun, hoverCell, openPage, openView, picture, selectRow, startDashboard, ticks, views,
  withBrowser, written, zoomIn,
} from "./browser.mjs";
import { SampleRun } from "./generate.mjs";

const program = process.argv[2];

const hover = (page, row, column, size) => hoverCell(page, row, column, size, size, `client ${row} took`);

/** Makes the program speak though it has nothing new, and gives the page time to listen. */
async function noNews(page, run) {
  run.event({ event: "nothing that the page knows" });
  await page.waitForTimeout(1500);
}

/** Takes a place among those who are told of news; gives the status and how to leave. */
function takePlace(url) {
  return new Promise((resolve, reject) => {
    const request = get(new URL("/api/v1/stream", url), (answer) => {
      answer.on("error", () => {}).resume();
      resolve({ status: answer.statusCode, leave: () => request.destroy() });
    });
    request.on("error", reject);
  });
}

/** What somebody chose in the legend, how far they zoomed in and what they selected outlives news. */
async function expectChoicesKept(page, run, round) {
  const curves = "#view-overview .two .chart";
  const legend = async () => (await written(page, curves)).find(({ text }) => text === "fedavg");
  const isZoomed = async () => {
    const shown = await ticks(page, curves, 44);
    return shown.length > 0 && Math.min(...shown) >= 4 && shown.every(Number.isInteger);
  };
  await page.getByText("Accuracy over the rounds as a table").click();
  await eventually("the legend is drawn", legend);
  const chosen = await legend();
  await page.mouse.click(chosen.x + 6, chosen.y);
  await page.mouse.move(2, 2);
  const isHidden = async () => {
    const item = await legend();
    return item !== undefined && item.colour !== chosen.colour;
  };
  await eventually("the legend hides a line", isHidden);
  assert.ok(!(await isZoomed()), "all rounds are shown at first");
  const box = await page.locator(curves).boundingBox();
  await zoomIn(page, curves, box.width - 20, box.height / 2, 6);
  await eventually("the wheel shows the last rounds", isZoomed);
  const isKept = await selectRow(page, "table.progress tbody tr:nth-child(2)");

  run.round("feroma-auto", round);
  await page.locator("#view-overview .two tbody th", { hasText: new RegExp(`^${round}$`) }).waitFor();
  assert.ok(await isHidden(), "a new round shows a line that was hidden");
  assert.ok(await isZoomed(), "a new round undoes the zoom");
  assert.ok(await isKept(), "a new round replaces rows of the progress");
  await noNews(page, run);
  assert.ok((await isHidden()) && (await isZoomed()) && (await isKept()), "a message without news undoes what was chosen");
}

/** A client of the profile map under the mouse is told of, beside it and below; how far one zoomed in outlives a round. */
async function expectProfileMap(page, run, round) {
  const plane = "#view-profiles .chart";
  const view = page.locator("#view-profiles");
  await view.locator("input[type=range]").focus();
  await page.keyboard.press("End");
  await view.locator("output", { hasText: `round ${round - 1}` }).waitFor();
  await view.getByText(`Trails go back to round ${round - 7}.`).waitFor();
  const chart = page.locator(plane);
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  const isInside = ({ x, y }) => x > box.x + 60 && y > box.y + 40 && y < box.y + box.height - 48;
  const names = (await written(page, plane)).filter((label) => /^[0-9]+$/.test(label.text) && isInside(label));
  let pointed = "";
  for (const { text, x, y } of names) {
    // A name stands ten pixels to the right of its client; another client may lie upon it.
    await page.mouse.move(x - 14, y - 4);
    await page.mouse.move(x - 10, y);
    await page.waitForTimeout(50);
    if ((await view.locator(".readout").textContent()).includes(`Round ${round - 1}: client ${text}, `)) {
      pointed = text;
      break;
    }
  }
  assert.ok(pointed, `none of ${names.length} clients is told of`);
  await eventually("the tooltip names the client and how far it moved", async () => {
    const texts = (await written(page, plane)).map(({ text }) => text);
    return texts.includes(`client ${pointed}`) && texts.some((text) => /noise floors$|^same data as before$|^not known to have moved$/.test(text));
  });

  const height = async () => (await written(page, plane)).filter(({ text, x }) => x < box.x + 60 && /^-?[0-9.]+$/.test(text)).length;
  const span = async () => {
    const shown = await ticks(page, plane, 48);
    return shown.length < 2 ? Infinity : Math.max(...shown) - Math.min(...shown);
  };
  const whole = await span();
  assert.ok(Number.isFinite(whole), "the map has no axis");
  await zoomIn(page, plane, box.width / 2, box.height / 2, 6);
  await eventually("the wheel zooms into the map", async () => (await span()) < 0.6 * whole);
  assert.ok((await height()) >= 2, "a map without anybody in the middle loses its other axis");
  run.round("feroma-auto", round);
  await view.getByText(`Trails go back to round ${round - 6}.`).waitFor();
  assert.ok((await span()) < 0.75 * whole, "a new round undoes the zoom");
}

const clients = 12;

/** A run that goes on is followed in every view, by everybody. */
async function expectARunToBeFollowed(browser, folder) {
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

  await page.waitForFunction(() => document.querySelector("#metric").value === "test_accuracy");
  await page.locator(".tile", { hasText: "Best accuracy" }).getByText(/^on test clients: feroma-auto, round \d$/).waitFor();
  await expectChoicesKept(page, run, 10);

  // Tabs by keyboard.
  await page.getByRole("tab", { name: "Overview" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getByRole("tab", { selected: true }).textContent(), "Mixing");

  // By an address that somebody types, too; one that names no view changes nothing.
  for (const [hash, name] of [["#clients", "Clients"], ["#nowhere", "Clients"], ["#mixing", "Mixing"]]) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.getByRole("tab", { name, selected: true }).waitFor();
  }

  // The heat map names the pair and the weight, to the mouse and to the keyboard.
  await page.locator("#view-mixing canvas").first().waitFor();
  await page.locator("#view-mixing output", { hasText: "round 10" }).waitFor();
  await page.waitForTimeout(300);
  const text = await hover(page, 2, 3, clients);
  const weight = run.weights[2 * clients + 3];
  const shown = /Round 10: client 2 took ([0-9.e-]+) from client 3/.exec(text);
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

  // What was loaded for the slider is not loaded again with the next message, which would lose the place in the matrix.
  await page.locator("#view-mixing .chart").focus();
  await page.keyboard.press("ArrowDown");
  await page.locator("#pair", { hasText: "Round 4: client 2 took" }).waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await noNews(page, run);
  assert.deepEqual(asked.filter((url) => url.includes("/mixing")), []);
  assert.match(await page.locator("#pair").textContent(), /^Round 4: client 2 took/);

  // An answer that comes while another algorithm is looked at is asked for again on return.
  await page.locator("#view-mixing input[type=range]").focus();
  await page.keyboard.press("End");
  await page.locator("#view-mixing output", { hasText: "round 10" }).waitFor();
  await page.waitForTimeout(500);
  const aboutMixing = /\/api\/v1\/mixing\?/;
  await page.route(aboutMixing, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await route.continue();
  });
  const question = page.waitForRequest(/mixing\?.*round=11/);
  run.round("feroma-auto", 11);
  await question;
  await page.locator("#algorithm").selectOption("fedavg");
  await page.getByText("fedavg has mixed nothing by profile yet").waitFor();
  await page.waitForTimeout(1500);
  await page.locator("#algorithm").selectOption("feroma-auto");
  await page.locator("#view-mixing .chart").focus();
  await eventually("round 11 is drawn after all", async () => {
    await page.keyboard.press("ArrowRight");
    return (await page.locator("#pair").textContent()).startsWith("Round 11:");
  });
  await page.unroute(aboutMixing);

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
  await expectProfileMap(page, run, 12);

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
  const isKept = await selectRow(page, "table.clients tbody tr");
  run.round("feroma-auto", 13);
  await page.locator("table.clients tbody tr").first().locator("td", { hasText: /^round 13, / }).waitFor();
  assert.ok(await isKept(), "a new round replaces rows of clients");
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

  // Twelve pages are told of news, the phone is one of them. One more shows the run all the same, and says what is wrong.
  const places = await Promise.all(Array.from({ length: 12 }, () => takePlace(dashboard.url)));
  assert.deepEqual(places.map(({ status }) => status).sort(), [...Array(11).fill(200), 503]);
  const crowded = await openPage(browser, dashboard.url);
  const tooMany = crowded.page.getByText("Too many pages are open");
  await tooMany.waitFor();
  await crowded.page.getByRole("row", { name: /feroma-auto.*13\/20/ }).first().waitFor();
  run.round("feroma-auto", 14);
  await crowded.page.getByRole("row", { name: /feroma-auto.*14\/20/ }).first().waitFor();
  assert.ok(await tooMany.isVisible(), "the page is told of news though there was no place");
  await expectAccessible(crowded.page, "a page too many");
  places.forEach(({ leave }) => leave());
  await tooMany.waitFor({ state: "detached", timeout: 30000 });
  assert.ok(crowded.troubles.length > 0 && crowded.troubles.every((trouble) => /503|EventSource/.test(trouble)), crowded.troubles.join("\n"));
  await crowded.context.close();

  // Where the server goes, the page says so; Ctrl-C is a good end.
  writer.letGo();
  assert.equal(await dashboard.stop(), 0);
  const lost = phone.page.getByText("has lost its server");
  await lost.waitFor({ timeout: 30000 });

  // And where it is started again, the page comes back by itself.
  const again = await startDashboard(program, folder, "--listen", new URL(dashboard.url).host);
  await lost.waitFor({ state: "detached", timeout: 30000 });
  await openView(phone.page, "Overview");
  run.round("feroma-auto", 15);
  await phone.page.getByRole("row", { name: /feroma-auto.*15\/20/ }).first().waitFor();
  await phone.context.close();
  assert.equal(await again.stop(), 0);
}

/** A run that is cut and written again, as one is that goes on from a checkpoint, while somebody looks at a late round. */
async function expectARewrittenRun(browser, folder) {
  const cut = join(folder, "cut");
  mkdirSync(cut);
  const plan = { clients, rounds: 20, algorithms: ["feroma-auto"] };
  const before = new SampleRun(cut, plan);
  for (let round = 1; round <= 9; ++round) {
    before.round("feroma-auto", round);
  }
  const rewritten = await startDashboard(program, cut);
  const looker = await openPage(browser, rewritten.url);
  await openView(looker.page, "Mixing");
  const looksAt = (round) => looker.page.locator("#view-mixing output", { hasText: new RegExp(`^round ${round}$`) }).waitFor();
  await looksAt(9);
  await looker.page.locator("#view-mixing input[type=range]").focus();
  await looker.page.keyboard.press("ArrowLeft");
  await looksAt(8);
  const after = new SampleRun(cut, { ...plan, seed: 2 });
  for (let round = 1; round <= 6; ++round) {
    after.round("feroma-auto", round);
  }
  // The nearest one that is there, and the one that was looked at as soon as it is there again.
  await looksAt(6);
  await eventually("the new round 6 is drawn", async () => {
    const found = /^Round 6: client 0 took ([0-9.e-]+) from client 0$/.exec(await hover(looker.page, 0, 0, clients));
    return found && Math.abs(Number(found[1]) - after.weights[0]) <= 0.051 * after.weights[0] + 1e-5;
  });
  for (let round = 7; round <= 10; ++round) {
    after.round("feroma-auto", round);
  }
  await looksAt(8);
  await openView(looker.page, "Overview");
  await looker.page.getByRole("row", { name: /feroma-auto.*10\/20/ }).first().waitFor();
  await looker.page.getByText("Accuracy over the rounds as a table").click();
  const accuracies = readFileSync(join(cut, "events.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line))
    .filter(({ event }) => event === "round_finished").map(({ round, test_accuracy }) => `${round}: ${test_accuracy === null ? "–" : test_accuracy.toFixed(1)}`);
  await eventually("the curves are those of the new run", async () => {
    const rows = await looker.page.locator("#view-overview .two tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent).join(": ")));
    return rows.join() === accuracies.join();
  });
  assert.equal(await looker.page.locator(".notice").count(), 0, "something is wrong with the run");
  // What is asked for in the moment in which the files are cut is not there.
  assert.ok(looker.troubles.every((trouble) => /40[04]/.test(trouble)), looker.troubles.join("\n"));
  await looker.context.close();
  assert.equal(await rewritten.stop(), 0);
}

/** Under a budget the page shows what is spent, and no exact counts. A token that is needed comes with the address. */
async function expectABudget(browser, folder) {
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

  // After a new start with another token the page says what it lacks, and goes on once it is there.
  await closed.stop();
  const otherToken = join(folder, "other-token");
  appendFileSync(otherToken, "a-token-of-today-at-noon\n");
  const changed = await startDashboard(program, guarded, "--token-file", otherToken, "--listen", new URL(closed.url).host);
  const refused = secret.page.getByText("The server refuses this page: a token is needed");
  await refused.waitFor({ timeout: 30000 });
  await secret.page.locator(".state.lost", { hasText: "not connected" }).waitFor();
  const visitor = await secret.context.newPage();
  await visitor.goto(`${changed.url}?token=a-token-of-today-at-noon`);
  await visitor.close();
  await refused.waitFor({ state: "detached", timeout: 30000 });
  await secret.context.close();
  await changed.stop();
}

/** A run that has ended shows what was reached; one that nobody writes any more, that it was stopped. */
async function expectAnEndedRun(browser, folder) {
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
  // What was passed over had no rounds to play.
  await results.page.locator(".tile", { hasText: "Rounds" }).getByText("10 / 10", { exact: true }).waitFor();
  await results.page.locator("table.progress").getByRole("row", { name: /^ifca not applicable/ }).waitFor();
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
}

// Each waits for a page of its own most of the time.
await withBrowser((browser, folder) =>
  Promise.all([expectARunToBeFollowed, expectARewrittenRun, expectABudget, expectAnEndedRun].map((expect) => expect(browser, folder))),
);
