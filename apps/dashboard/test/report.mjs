// The report of a run and the page of `feroma report --html`, opened from disk by a browser without a network: whole, and
// to be used by everybody.
//   node report.mjs FEROMA
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually, expectAccessible, expectNoTrouble, picture, watchedPage, withBrowser } from "./browser.mjs";
import { random } from "./generate.mjs";

const program = process.argv[2];
const labels = ["fedavg", "feroma-auto"];
const clients = 6;
const rounds = 10;

/**
 * Two runs, whose clients swap labels and drift, one with a long name that never ended, figures beside which the paper has
 * some, and the pages over all of them; each page lies alone in its folder.
 */
function makePages(folder) {
  const next = random(1);
  const rows = Array.from({ length: 400 }, (_, i) => `${((i % 3) * 2 + 2 * next()).toFixed(3)},${(3 - (i % 3) + 2 * next()).toFixed(3)},${i % 3}\n`);
  mkdirSync(join(folder, "table"));
  writeFileSync(join(folder, "table", "dataset.toml"), "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'y'\n");
  writeFileSync(join(folder, "table", "rows.csv"), `a,b,y\n${rows.join("")}`);
  writeFileSync(
    join(folder, "tiny.toml"),
    `[scenario]\ndataset = '${join(folder, "table")}'\nshift = 'concept_label'\ndrift_mode = 'trDR_teDR'\ndrifts = 2\nclients = ${clients}\n` +
      `rounds = ${rounds}\nsamples_per_client = 30\ntest_clients = 3\n[training]\nmodel = 'mlp'\nlocal_epochs = 1\n` +
      "[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 1\nprofile.dimensions = 2\n",
  );
  const feroma = (...argumentsOf) => execFileSync(program, argumentsOf, { stdio: ["ignore", "pipe", "pipe"] });
  const run = (seed) => {
    feroma("run", join(folder, "tiny.toml"), "--set", `scenario.seed=${seed}`, "--out", join(folder, "runs", `seed-${seed}`), "--threads", "1");
    return join(folder, "runs", `seed-${seed}`);
  };
  const first = run(1);
  run(2);
  const unfinished = join(folder, "runs", "never-ended".repeat(10));
  cpSync(first, unfinished, { recursive: true });
  rmSync(join(unfinished, "summary.json"));
  const results = { gap_w2_low_max: { value: 0.9 }, gap_w2_high_max: { value: 1.4 } };
  writeFileSync(join(folder, "runs", "requirements.json"), JSON.stringify({ quick: false, requirements: { R1: { dataset: "mnist", results } } }));
  const alone = (name) => {
    mkdirSync(join(folder, name));
    return join(folder, name, "page.html");
  };
  const pages = { folder: first, run: alone("run"), study: alone("study"), tables: alone("tables") };
  copyFileSync(join(first, "report.html"), pages.run);
  feroma("report", join(folder, "runs"), "--html", pages.study);
  feroma("report", join(folder, "runs"), "--table", "main_table_2", "--table", "eps_R1", "--html", pages.tables);
  return pages;
}

/** A file in a browser without a network; whatever it asks for beside itself is a trouble. */
async function openFile(browser, file, options = {}) {
  const url = pathToFileURL(file).href;
  const opened = await watchedPage(browser, (asked) => asked === url, { offline: true, colorScheme: "light", ...options });
  await opened.page.routeWebSocket(/./, (socket) => {
    opened.troubles.push(`connection to ${socket.url()}`);
    void socket.close();
  });
  await opened.page.goto(url);
  return opened;
}

/** Waits until the page has been drawn as it is now, and knows of what was scrolled and resized. */
function settled(page) {
  return page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Brings something into view and gives its place. */
async function boxOf(page, target) {
  await target.scrollIntoViewIfNeeded();
  await settled(page);
  return target.boundingBox();
}

/** The lines of a table, each by the names of its columns. */
function linesOf(file) {
  const [names, ...lines] = readFileSync(file, "utf8").trim().split("\n").map((line) => line.split(","));
  return lines.map((line) => Object.fromEntries(names.map((name, i) => [name, line[i]])));
}

function eventsOf(folder, name) {
  return readFileSync(join(folder, "events.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter(({ event }) => event === name);
}

function readMatrix(file) {
  const bytes = readFileSync(file);
  const start = 10 + bytes.readUInt16LE(8);
  return Array.from({ length: (bytes.length - start) / 4 }, (_, i) => bytes.readFloatLE(start + 4 * i));
}

/** What the cells of a table of accuracies say of a round: test accuracy, as served and after training. */
function accuracies(folder, label, round) {
  const line = linesOf(join(folder, "metrics.csv")).find((found) => found.algorithm === label && found.round === String(round));
  return [line.test_accuracy, line.accuracy_before, line.accuracy_after].map((value) => (value === "" ? "-" : Number(value).toFixed(2)));
}

const tooltip = (page) => page.locator("#tooltip");

/** The cells of a table, row by row, as they are read. */
function cellsOf(table) {
  return table.locator("tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
}

/** Every figure is in sight and has marks in it; what scripts draw has more than one colour. */
async function expectDrawn(page, what, least) {
  const charts = await page.locator("svg.chart").evaluateAll((all) =>
    all.map((svg) => {
      const box = svg.getBoundingClientRect();
      const marks = [...svg.querySelectorAll("path, rect, circle, line")].filter((mark) => mark.getBoundingClientRect().width + mark.getBoundingClientRect().height > 0);
      return { name: svg.getAttribute("aria-label"), area: box.width * box.height, marks: marks.length };
    }),
  );
  assert.ok(charts.length >= least, `${what} has ${charts.length} figures`);
  for (const { name, area, marks } of charts) {
    assert.ok(name && area > 10000 && marks > 5, `figure "${name}" of ${what}: ${area} pixels, ${marks} marks`);
  }
  const colours = await page.locator("canvas").evaluateAll((all) =>
    all.map((canvas) => new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size),
  );
  assert.ok(colours.every((count) => count > 3), `canvases of ${what} have ${colours} colours`);
}

/** The middle of a round in the chart of curves, from the left edge of the window. */
async function placeOf(page, round) {
  const chart = page.locator("#curves");
  const box = await boxOf(page, chart);
  const { left, right, width } = await chart.evaluate((svg) => ({ left: Number(svg.dataset.left), right: Number(svg.dataset.right), width: svg.viewBox.baseVal.width }));
  return { x: box.x + ((left + ((right - left) * (round - 1)) / (rounds - 1)) * box.width) / width, y: box.y + box.height / 2 };
}

/** The cursor snaps to rounds and tells what the files have; keys hide a curve; all numbers are there as a table. */
async function expectCurves(page, folder) {
  const row = (label, round) => [label, ...accuracies(folder, label, round)];
  for (let round = 1; round <= rounds; ++round) {
    const { x, y } = await placeOf(page, round);
    await page.mouse.move(x + 3, y);
    assert.deepEqual(await cellsOf(tooltip(page)), [[`round ${round}`, "test", "as served", "after training"], ...labels.map((label) => row(label, round))]);
    const cursor = await page.locator("#curves .cursor").evaluate((line) => ({ x: line.getBoundingClientRect().x, visibility: getComputedStyle(line).visibility }));
    assert.equal(cursor.visibility, "visible");
    assert.ok(Math.abs(cursor.x - x) < 1, `the cursor is at ${cursor.x}, round ${round} at ${x}`);
  }
  await page.mouse.move(2, 2);
  assert.ok(await tooltip(page).isHidden(), "the text stays when the mouse has left");

  const key = page.getByRole("button", { name: "fedavg", exact: true });
  for (const shown of [false, true]) {
    await key.focus();
    await page.keyboard.press("Space");
    assert.equal(await key.getAttribute("aria-pressed"), String(shown));
    const drawn = await page.locator("#curves .s0").evaluateAll((all) => all.map((curve) => getComputedStyle(curve).display !== "none"));
    assert.deepEqual([...new Set(drawn)], [shown]);
    const { x, y } = await placeOf(page, 2);
    await page.mouse.move(x, y);
    assert.equal((await cellsOf(tooltip(page))).length, shown ? 3 : 2);
    await page.mouse.move(2, 2);
  }

  const numbers = page.locator("section", { has: page.locator("#curves") }).locator("details");
  assert.ok(await numbers.locator("table").isHidden());
  await numbers.locator("summary").click();
  const wanted = Array.from({ length: rounds }, (_, i) => [String(i + 1), ...labels.flatMap((label) => accuracies(folder, label, i + 1))]);
  assert.deepEqual((await cellsOf(numbers.locator("table"))).slice(1), wanted);
}

/** Brings the heat map into view; gives a function that tells where the middle of a cell is. */
async function findCells(page) {
  const box = await boxOf(page, page.locator("figure[data-mixing] canvas"));
  const strip = 9;
  const cell = (box.width - strip) / clients;
  return (row, column) => ({ x: box.x + strip + (column + 0.5) * cell, y: box.y + strip + (row + 0.5) * cell });
}

/** Every cell tells of the two clients, their distributions and the weight that are in the files. */
async function expectCells(page, folder, round, sorted) {
  const [event] = eventsOf(folder, "mixing").filter((found) => found.round === round);
  const weights = readMatrix(join(folder, event.file));
  const distributions = (time) => {
    const lines = linesOf(join(folder, "clients.csv")).filter((line) => line.algorithm === event.algorithm && line.round === String(time));
    return Array.from({ length: clients }, (_, id) => Number(lines.find(({ client }) => client === String(id)).distribution));
  };
  const [to, from] = [distributions(round), distributions(round - 1)];
  const order = (all) => event.sources.map((_, i) => i).sort((a, b) => (sorted ? all[a] - all[b] : 0) || a - b);
  const [receivers, sources] = [order(to), order(from)];
  const cellAt = await findCells(page);
  for (let r = 0; r < clients; ++r) {
    for (let c = 0; c < clients; ++c) {
      const { x, y } = cellAt(r, c);
      await page.mouse.move(x, y);
      const told = await tooltip(page).textContent();
      const [receiver, source] = [receivers[r], sources[c]];
      const whose = to[receiver] === from[source] ? "its own" : from[source];
      const found = /^([01]\.[0-9]{3}) (.*)$/.exec(told);
      assert.equal(found?.[2], `of client ${receiver} comes from client ${source}distribution ${to[receiver]} takes from ${whose}`);
      const weight = weights[receiver * clients + source];
      assert.ok(Math.abs(Number(found[1]) - weight) < 0.00051, `${told}, the file has ${weight}`);
    }
  }
  await page.mouse.move(2, 2);
  assert.ok(await tooltip(page).isHidden());
}

/** The colours end with the largest weight that is drawn. */
async function expectScale(page, folder) {
  const largest = Math.max(...eventsOf(folder, "mixing").flatMap(({ file }) => [...readMatrix(join(folder, file))]));
  const ticks = (await page.locator(".ticks b").allTextContents()).map(Number);
  assert.equal(Math.min(...ticks), 0);
  assert.ok(Math.abs(Math.max(...ticks) - largest) < 0.00051, `the scale ends with ${ticks}, the weights with ${largest}`);
}

/** Any round by slider, sorted or not, and one after the other. */
async function expectMixing(page, folder) {
  const figure = page.locator("figure[data-mixing]");
  const canvas = figure.locator("canvas");
  const drawn = () => canvas.evaluate((element) => element.toDataURL());
  const slider = figure.locator("input[type=range]");
  const shown = () => figure.locator("output").textContent();
  const mixed = eventsOf(folder, "mixing").map(({ round }) => round);
  const last = mixed.at(-1);
  assert.ok(mixed.length > 2, `${mixed.length} rounds were mixed`);
  assert.equal(await shown(), `round ${last}`);
  await expectScale(page, folder);
  await expectCells(page, folder, last, true);
  const sortedPicture = await drawn();
  await page.getByLabel("sort by distribution").focus();
  await page.keyboard.press("Space");
  await expectCells(page, folder, last, false);
  assert.notEqual(await drawn(), sortedPicture, "the box that sorts changes nothing");

  const lastPicture = await drawn();
  await slider.focus();
  await page.keyboard.press("Home");
  assert.equal(await shown(), `round ${mixed[0]}`);
  assert.equal(await slider.getAttribute("aria-valuetext"), `round ${mixed[0]}`);
  assert.notEqual(await drawn(), lastPicture, "another round looks the same");
  await expectCells(page, folder, mixed[0], false);
  const record = eventsOf(folder, "round_finished").find(({ algorithm, round }) => algorithm === "feroma-auto" && round === mixed[0]);
  const facts = [record.contraction, record.column_sum_min, record.column_sum_max].map((value) => value.toFixed(3));
  assert.deepEqual(await figure.locator("dd").allTextContents(), [facts[0], `${facts[1]} to ${facts[2]}`]);
  assert.match(await canvas.getAttribute("aria-label"), new RegExp(`round ${mixed[0]}, ${clients} receivers by ${clients} sources, contraction ${facts[0]}`));
  await page.keyboard.press("ArrowRight");
  assert.equal(await shown(), `round ${mixed[1]}`);

  // From where it is to the end, and from there anew; a pause is one.
  const button = figure.getByRole("button");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await shown(), `round ${mixed.at(-2)}`);
  await button.click();
  await eventually("it plays to the end", async () => (await shown()) === `round ${last}`);
  assert.equal(await button.textContent(), "▶ Play");
  await button.click();
  assert.equal(await button.textContent(), "❚❚ Pause");
  await eventually("it plays from the start", async () => (await shown()) === `round ${mixed[1]}`);
  await button.click();
  assert.equal(await button.textContent(), "▶ Play");
  const paused = await shown();
  await page.waitForTimeout(700);
  assert.equal(await shown(), paused, "a pause plays on");

  // The heat map follows the theme while it is looked at.
  const light = await drawn();
  await page.emulateMedia({ colorScheme: "dark" });
  await eventually("the heat map is drawn for the dark", async () => (await drawn()) !== light);
  await page.emulateMedia({ colorScheme: "light" });
  await eventually("and for the light", async () => (await drawn()) === light);
}

/** Both themes differ, have the figures, and hide nothing from anybody. */
async function expectThemes(page, what) {
  const backgrounds = [];
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    backgrounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await expectAccessible(page, `${what}, ${theme}`);
    await picture(page, `report-${what}-${theme}`, { fullPage: true });
  }
  assert.notEqual(backgrounds[0], backgrounds[1], `${what} has one theme`);
}

/** A phone shows all of it, without a page that is wider than the screen; so does the narrowest window. */
async function expectPhone(browser, file, what) {
  const { page, context, troubles } = await openFile(browser, file, { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true });
  await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
  await settled(page);
  await expectAccessible(page, `${what}, phone`);
  await picture(page, `report-${what}-phone`, { fullPage: true });
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${what} is ${wide} pixels wider than ${width}`);
  }
  // A finger that has left leaves the text, within the window, until it comes down elsewhere.
  if (await page.locator("figure[data-mixing]").count()) {
    const { x, y } = (await findCells(page))(1, 4);
    await page.touchscreen.tap(x, y);
    await tooltip(page).getByText(/of client \d comes from client \d/).waitFor();
    const box = await tooltip(page).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 320, `the text is at ${box.x}, ${box.width} wide`);
    await page.touchscreen.tap(2, y);
    await tooltip(page).waitFor({ state: "hidden" });
  }
  // What is wider than the screen is read in its own box, by keyboard too.
  await settled(page);
  const boxes = page.locator(".scroll, pre");
  for (let i = 0; i < (await boxes.count()); ++i) {
    const box = boxes.nth(i);
    const hiddenPart = await box.evaluate((element) => element.scrollWidth - element.clientWidth);
    if (hiddenPart > 0) {
      await box.focus();
      await page.keyboard.press("ArrowRight");
      await eventually(`box ${i} of ${what} scrolls`, () => box.evaluate((element) => element.scrollLeft > 0));
    }
  }
  expectNoTrouble(troubles);
  await context.close();
}

/** That the checks above would see a page that asks for something, and that it would get nothing. */
async function expectNoNetwork(browser, file) {
  let asked = 0;
  const server = createServer((_, answer) => answer.end(`answer ${++asked}`)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const there = `127.0.0.1:${server.address().port}`;
  const { page, context, troubles } = await openFile(browser, file);
  const refused = await page.evaluate((address) => fetch(`http://${address}/`, { mode: "no-cors" }).then(() => false, () => true), there);
  assert.ok(refused && asked === 0, "there is a network");
  await page.evaluate((address) => void new WebSocket(`ws://${address}/`), there);
  for (const trouble of [`request to http://${there}/`, `connection to ws://${there}/`]) {
    await eventually(`the test sees a ${trouble}`, () => troubles.includes(trouble));
  }
  await context.close();
  server.close();
}

await withBrowser(async (browser, folder) => {
  const pages = makePages(folder);
  await expectNoNetwork(browser, pages.run);

  const run = await openFile(browser, pages.run);
  assert.match(await run.page.title(), /Feroma report$/);
  await expectDrawn(run.page, "the report of a run", 2);
  await expectCurves(run.page, pages.folder);
  await expectMixing(run.page, pages.folder);
  await run.page.getByText("The configuration of this run").click();
  await run.page.locator("pre", { hasText: "drift_mode = \"trDR_teDR\"" }).waitFor();
  await expectThemes(run.page, "run");
  expectNoTrouble(run.troubles);
  await run.context.close();

  // Of a study the run with the least seed is drawn.
  const study = await openFile(browser, pages.study);
  await study.page.locator("section", { hasText: "Left out" }).getByText("not finished, its results are missing").waitFor();
  await expectDrawn(study.page, "a study", 8);
  for (const label of labels) {
    await study.page.getByRole("row", { name: new RegExp(`^${label} [0-9.]+ 2 [0-9.]+ ± [0-9.]+`) }).first().waitFor();
  }
  const named = await study.page.locator("svg.chart circle > title").allTextContents();
  assert.ok(named.some((text) => /^client \d, round \d, distribution \d$/.test(text)), "profiles have no names");
  assert.ok(named.some((text) => /^feroma-auto: [0-9.]+$/.test(text)), "accuracies have no names");
  await expectCells(study.page, pages.folder, rounds, true);
  await expectThemes(study.page, "study");
  expectNoTrouble(study.troubles);
  await study.context.close();

  const tables = await openFile(browser, pages.tables);
  assert.equal(await tables.page.locator("#main_table_2 td.missing").count(), 99);
  await tables.page.locator("#main_table_2").getByRole("row", { name: /^FedAvg.* 72\.10 ± 8\.00/ }).waitFor();
  await tables.page.locator("#eps_R1 td.gain", { hasText: "▲ -0.160" }).waitFor();
  await tables.page.locator("#eps_R1 td.loss", { hasText: "▼ +0.384" }).waitFor();
  await expectThemes(tables.page, "tables");
  expectNoTrouble(tables.troubles);
  await tables.context.close();

  for (const what of ["run", "study", "tables"]) {
    await expectPhone(browser, pages[what], what);
  }
});
