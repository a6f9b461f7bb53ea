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

/** The page over a folder; `url` once it listens. */
export async function startDashboard(program, folder, ...more) {
  const page = startProgram(program, "dashboard", folder, "--listen", "127.0.0.1:0", ...more);
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

/** A page that remembers what must not happen: errors, and requests that leave the machine. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const troubles = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      troubles.push(`console: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  const origin = new URL(url).origin;
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) {
      troubles.push(`request to ${request.url()}`);
    }
  });
  await page.goto(url);
  await page.locator(".state.running, .state.stopped, .state.finished, .state.waiting").waitFor({ timeout: 60000 });
  return { page, context, troubles };
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

export async function picture(page, name) {
  if (pictures) {
    await page.mouse.move(2, 2);
    await page.screenshot({ path: join(pictures, `${name}.png`) });
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
