// What the tests in a browser share: the program, the browser, and what must hold whatever is looked at.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const browserPath = process.env.FEROMA_CHROMIUM ?? "/usr/bin/chromium";
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Where pictures go, for people; without it none are made. */
export const pictures = process.env.FEROMA_PICTURES;

export function temporaryFolder() {
  return mkdtempSync(join(tmpdir(), "feroma-page-"));
}

/** Ends with us, however we end. */
function start(...how) {
  const child = spawn(...how);
  process.on("exit", () => child.kill("SIGKILL"));
  return child;
}

/** The program with these arguments. What it prints is kept; `said` waits for a line like `pattern` and gives its groups. */
export function startProgram(program, ...argumentsOf) {
  const child = start(program, argumentsOf, { stdio: ["ignore", "pipe", "inherit"] });
  const heard = { text: "", ended: null };
  child.stdout.on("data", (data) => (heard.text += data));
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve((heard.ended = code ?? signal))));
  return {
    pid: child.pid,
    output: () => heard.text,
    ended,
    said: async (pattern) => {
      for (const until = performance.now() + 60000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
        const found = pattern.exec(heard.text);
        if (found) {
          return found;
        }
        assert.equal(heard.ended, null, `feroma ${argumentsOf[0]} ended before it said ${pattern}: ${heard.text}`);
        assert.ok(performance.now() < until, `feroma ${argumentsOf[0]} does not say ${pattern}: ${heard.text}`);
      }
    },
    /** Ctrl-C; gives its exit code. */
    stop: () => {
      child.kill("SIGINT");
      return ended;
    },
  };
}

/** Holds a run's folder as the program does that writes it, until `letGo`. */
export function holdRun(folder) {
  const child = start("flock", ["--no-fork", folder, "sleep", "3600"], { stdio: "ignore" });
  return { letGo: () => child.kill("SIGKILL") };
}

/** The page over a folder, at any port unless `more` says otherwise; `url` once it listens. */
export async function startDashboard(program, folder, ...more) {
  const listen = more.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const page = startProgram(program, "dashboard", folder, ...listen, ...more);
  const [, url] = await page.said(/^(http.*)\n/m);
  return { ...page, url };
}

/** Runs `test` with a browser; ends with 77 where there is none, which ctest shows as skipped. */
export async function withBrowser(test) {
  if (!existsSync(browserPath)) {
    console.error(`SKIPPED: ${browserPath} was not found (Debian: chromium); the page was not tested in a browser`);
    process.exit(77);
  }
  const folder = temporaryFolder();
  // As root, as in a container, chromium starts without its sandbox only; it opens nothing but our own page.
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
  let failed = false;
  const watchdog = setTimeout(() => {
    console.error("the test did not end in time");
    process.exit(1);
  }, 8 * 60 * 1000);
  try {
    await test(browser, folder);
    console.log("all is well");
  } catch (error) {
    failed = true;
    console.error(error);
  } finally {
    clearTimeout(watchdog);
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
  process.exit(failed ? 1 : 0);
}

/** Waits until something holds, which may take a while; `what` is told where it does not. */
export async function eventually(what, holds, milliseconds = 10000) {
  for (const until = performance.now() + milliseconds; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 50))) {
    assert.ok(performance.now() < until, `not so in time: ${what}`);
  }
}

/** Runs in the page, before it: keeps what charts write on their canvases, which nothing else could tell. */
function keepWriting() {
  const writing = new WeakMap();
  window.writingOn = (canvas) => writing.get(canvas) ?? [];
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...where) {
    writing.set(this.canvas, []);
    return clearRect.apply(this, where);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const { a, b, c, d, e, f } = this.getTransform();
    writing.get(this.canvas)?.push({ text, x: a * x + c * y + e, y: b * x + d * y + f, colour: this.fillStyle });
    return fillText.call(this, text, x, y, ...more);
  };
}

/** What stands on the canvases in an element: texts, where in the window, and in which colour. */
export function written(page, selector) {
  return page.evaluate(
    (inside) =>
      [...document.querySelectorAll(`${inside} canvas`)].flatMap((canvas) => {
        const box = canvas.getBoundingClientRect();
        return window.writingOn(canvas).map(({ x, y, ...more }) => ({ ...more, x: box.left + x, y: box.top + y }));
      }),
    selector,
  );
}

/** The numbers below a chart's plot, which is `bottom` pixels from its lower edge. */
export async function ticks(page, selector, bottom) {
  const box = await page.locator(selector).boundingBox();
  const edge = box.y + box.height - bottom + 4;
  return (await written(page, selector)).filter(({ text, y }) => y > edge && /^-?[0-9.]+$/.test(text)).map(({ text }) => Number(text));
}

/** Zooms in, some steps of the wheel, at a place of a chart from its left and upper edge. */
export async function zoomIn(page, selector, x, y, steps) {
  const box = await page.locator(selector).boundingBox();
  await page.mouse.move(box.x + x, box.y + y);
  await page.keyboard.down("Shift");
  for (let i = 0; i < steps; ++i) {
    await page.mouse.wheel(0, -480);
    await page.waitForTimeout(120);
  }
  await page.keyboard.up("Shift");
  await page.mouse.move(2, 2);
}

/** Selects the first cell of a row, and remembers the row; gives a function that tells whether both are as they were. */
export async function selectRow(page, selector) {
  const text = await page.evaluate((which) => {
    window.selectedRow = document.querySelector(which);
    getSelection().selectAllChildren(window.selectedRow.firstElementChild);
    return getSelection().toString();
  }, selector);
  assert.ok(text, `nothing to select in ${selector}`);
  return () => page.evaluate((before) => window.selectedRow.isConnected && getSelection().toString() === before, text);
}

/** An empty page that remembers what must not happen: errors, and requests for what is not its `own`. */
export async function watchedPage(browser, own, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: "reduce", ...options });
  await context.addInitScript(keepWriting);
  const page = await context.newPage();
  const troubles = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      troubles.push(`console: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!own(request.url()) && !request.url().startsWith("data:")) {
      troubles.push(`request to ${request.url()}`);
    }
  });
  return { page, context, troubles };
}

/** The page of the dashboard, once it shows a run; it asks nobody but its server. */
export async function openPage(browser, url, options = {}) {
  const { origin } = new URL(url);
  const opened = await watchedPage(browser, (asked) => asked.startsWith(origin), options);
  await opened.page.goto(url);
  await opened.page.locator(".state.running, .state.stopped, .state.finished, .state.waiting").waitFor({ timeout: 60000 });
  return opened;
}

export function expectNoTrouble(troubles) {
  assert.deepEqual(troubles, []);
}

/** Everything that axe finds wrong with the page as it is. The page forbids foreign scripts, so it comes from outside. */
export async function expectAccessible(page, what) {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => (await window.axe.run(document)).violations);
  const told = violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join("; ")}`);
  assert.deepEqual(told, [], `accessibility of ${what}`);
}

export async function picture(page, name, options = {}) {
  if (pictures) {
    await page.mouse.move(2, 2);
    await page.screenshot({ path: join(pictures, `${name}.png`), ...options });
  }
}

/** The heat map's cell in a row and column, counted from its corners, under the mouse; what the page then tells. */
export async function hoverCell(page, row, column, rows, columns, told) {
  const chart = page.locator("#view-mixing .chart");
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  const grid = { left: 64, right: 16, top: 56, bottom: 48 };
  const x = box.x + grid.left + ((column + 0.5) * (box.width - grid.left - grid.right)) / columns;
  const y = box.y + grid.top + ((row + 0.5) * (box.height - grid.top - grid.bottom)) / rows;
  await page.mouse.move(x - 2, y - 2);
  await page.mouse.move(x, y);
  await page.locator("#pair", { hasText: told }).waitFor();
  return page.locator("#pair").textContent();
}

export const views = ["Overview", "Profiles", "Mixing", "Clients", "Privacy", "Server"];

export async function openView(page, name) {
  await page.getByRole("tab", { name }).click();
  await page.locator(`#view-${name.toLowerCase()}`).waitFor();
}
