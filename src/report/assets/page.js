"use strict";
(() => {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const tooltip = document.getElementById("tooltip");

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const showTooltip = (event, content) => {
    tooltip.replaceChildren(content);
    tooltip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = tooltip;
    const right = event.clientX + 16 + width > window.innerWidth;
    const x = right ? event.clientX - 16 - width : event.clientX + 16;
    const y = Math.min(event.clientY + 12, window.innerHeight - height - 8);
    tooltip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
  };
  const hideTooltip = () => { tooltip.hidden = true; };

  // What a finger pointed at is told until the next touch or a scroll, for nobody reads below a finger.
  const onPointing = (target, show, leave) => {
    target.addEventListener("pointerdown", show);
    target.addEventListener("pointermove", show);
    target.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
    document.addEventListener("pointerdown", leave, true);
    document.addEventListener("scroll", leave, true);
  };

  // What is wider than its box is read by keyboard too.
  const boxes = new ResizeObserver((changed) => changed.forEach(({ target }) => {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0; else target.removeAttribute("tabindex");
  }));
  document.querySelectorAll(".scroll, pre").forEach((box) => boxes.observe(box));

  // ---- Accuracy curves: a cursor that snaps to rounds, and keys that hide a curve ----
  const hidden = new Set();
  const percent = (value) => (value === null || value === undefined ? "-" : value.toFixed(2));

  const curveRows = (chart, index) => {
    const table = element("table");
    const head = element("tr");
    head.append(element("td", `round ${chart.first + index}`),
                ...["test", "as served", "after training"].map((title) => element("td", title)));
    table.append(head);
    chart.series.forEach((series, i) => {
      if (hidden.has(i)) return;
      const row = element("tr");
      const name = element("td");
      name.append(element("i", "", `swatch c${series.color}`), series.label);
      row.append(name, ...[series.test, series.before, series.after].map((values) => element("td", percent(values[index]))));
      table.append(row);
    });
    return table;
  };

  const setUpCurves = (svg, chart) => {
    const cursor = svg.querySelector(".cursor");
    const [left, right] = [Number(svg.dataset.left), Number(svg.dataset.right)];
    const steps = Math.max(1, chart.last - chart.first);
    const show = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const index = Math.min(chart.last - chart.first, Math.max(0, Math.round(((x - left) / (right - left)) * steps)));
      const at = left + ((right - left) * index) / steps;
      cursor.setAttribute("x1", at);
      cursor.setAttribute("x2", at);
      cursor.style.visibility = "visible";
      showTooltip(event, curveRows(chart, index));
    };
    onPointing(svg, show, () => {
      cursor.style.visibility = "hidden";
      hideTooltip();
    });
    document.querySelectorAll("[data-series]").forEach((button) => {
      button.addEventListener("click", () => {
        const i = Number(button.dataset.series);
        const off = !hidden.has(i);
        if (off) hidden.add(i); else hidden.delete(i);
        button.setAttribute("aria-pressed", String(!off));
        svg.querySelectorAll(`.s${i}`).forEach((curve) => curve.classList.toggle("off", off));
      });
    });
  };
  const curves = document.getElementById("curves");
  if (curves) setUpCurves(curves, data.accuracy);

  // ---- Mixing heat maps ----
  const colour = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  let ramp = [];
  let theme = {};
  const readTheme = () => {
    const style = getComputedStyle(document.documentElement);
    ramp = [0, 1, 2, 3, 4].map((i) => colour(style.getPropertyValue(`--ramp${i}`).trim()));
    theme = { card: style.getPropertyValue("--card"), ink: style.getPropertyValue("--ink"),
              faint: style.getPropertyValue("--faint") };
  };
  readTheme();

  // The colours end with the largest weight of all maps, so that what is compared has one scale. A root spreads the
  // small ones. It is chosen so that the weight within four equal groups has the middle colour.
  const pairs = (text) => text.match(/../g) || [];
  const rounds = data.mixing.flatMap((map) => map.rounds);
  const most = rounds.reduce((top, round) => pairs(round.weights).reduce((a, b) => Math.max(a, parseInt(b, 36)), top), 0) / 1000 || 1;
  const clients = Math.max(10, ...rounds.map((round) => round.sources.length));
  const root = Math.min(0.5, Math.max(0.25, Math.log(0.5) / Math.log(Math.min(0.4, 4 / clients / most))));
  const shade = (weight) => {
    const t = Math.min(1, weight / most) ** root * (ramp.length - 1);
    const i = Math.min(ramp.length - 2, Math.floor(t));
    return `rgb(${ramp[i].map((a, k) => Math.round(a + (ramp[i + 1][k] - a) * (t - i))).join(" ")})`;
  };
  document.querySelectorAll(".ticks").forEach((ticks) => {
    const place = (value) => 100 * (value / most) ** root;
    const taken = [];
    [0, most, 0.25, 0.05, 0.5, 0.1, 0.01].forEach((value) => {
      if (value > most || taken.some((other) => Math.abs(other - place(value)) < 16)) return;
      taken.push(place(value));
      const tick = element("b", value);
      tick.style.left = `${place(value)}%`;
      ticks.append(tick);
    });
  });
  const distributionColour = (id) => (id ? `hsl(${(id * 137.5) % 360} 55% 55%)` : theme.faint);

  const order = (ids, distributions, sorted) => {
    const places = ids.map((_, i) => i);
    if (sorted) places.sort((a, b) => distributions[a] - distributions[b] || ids[a] - ids[b]);
    return places;
  };

  class HeatMap {
    constructor(figure, rounds) {
      this.rounds = rounds;
      this.canvas = figure.querySelector("canvas");
      this.slider = figure.querySelector("input");
      this.output = figure.querySelector("output");
      this.button = figure.querySelector("button");
      this.facts = figure.querySelectorAll("dd");
      this.sorted = false;
      this.timer = null;
      this.slider.addEventListener("input", () => { this.stop(); this.draw(); });
      this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
      onPointing(this.canvas, (event) => this.hover(event), hideTooltip);
    }

    get round() { return this.rounds[Number(this.slider.value)]; }
    weight(row, column) {
      const at = 2 * (row * this.round.sources.length + column);
      return parseInt(this.round.weights.slice(at, at + 2), 36) / 1000;
    }

    play() {
      if (Number(this.slider.value) === this.rounds.length - 1) this.slider.value = 0;
      this.button.textContent = "❚❚ Pause";
      this.timer = setInterval(() => {
        this.slider.value = Number(this.slider.value) + 1;
        this.draw();
        if (Number(this.slider.value) === this.rounds.length - 1) this.stop();
      }, 600);
      this.draw();
    }
    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.button.textContent = "▶ Play";
    }

    // A strip in the colour of the distribution runs along the rows and the columns; lines part the groups.
    draw() {
      const round = this.round;
      this.rows = order(round.receivers, round.receiver_distributions, this.sorted);
      this.columns = order(round.sources, round.source_distributions, this.sorted);
      const density = window.devicePixelRatio || 1;
      const width = this.canvas.clientWidth || 480;
      this.strip = 9;
      this.cell = (width - this.strip) / this.columns.length;
      this.rowHeight = Math.min(this.cell, ((width - this.strip) * 1.2) / this.rows.length);
      const height = Math.round(this.strip + this.rowHeight * this.rows.length);
      this.canvas.width = Math.round(width * density);
      this.canvas.height = Math.round(height * density);
      this.canvas.style.height = `${height}px`;
      const pen = this.canvas.getContext("2d");
      pen.scale(density, density);
      this.drawCells(pen);
      this.drawStrips(pen, round);
      this.describe(round);
    }

    drawCells(pen) {
      const gap = this.cell > 9 && this.rowHeight > 9 ? 1 : 0;
      this.rows.forEach((row, r) => {
        this.columns.forEach((column, c) => {
          pen.fillStyle = shade(this.weight(row, column));
          const x = this.strip + c * this.cell;
          const y = this.strip + r * this.rowHeight;
          pen.fillRect(x, y, this.cell - gap + (gap ? 0 : 0.5), this.rowHeight - gap + (gap ? 0 : 0.5));
        });
      });
    }

    drawStrips(pen, round) {
      const along = (places, distributions, size, horizontal) => places.forEach((place, i) => {
        pen.fillStyle = distributionColour(distributions[place]);
        const start = this.strip + i * size;
        if (horizontal) pen.fillRect(start, 0, size + 0.5, 5); else pen.fillRect(0, start, 5, size + 0.5);
        if (!this.sorted || i === 0 || distributions[place] === distributions[places[i - 1]]) return;
        pen.fillStyle = theme.faint;
        if (horizontal) pen.fillRect(start - 1, 0, 1, this.canvas.height);
        else pen.fillRect(0, start - 1, this.canvas.width, 1);
      });
      along(this.columns, round.source_distributions, this.cell, true);
      along(this.rows, round.receiver_distributions, this.rowHeight, false);
    }

    describe(round) {
      // What is small is not nothing: 0 is that all models are one.
      const number = (value) => {
        if (value === null) return "-";
        return value !== 0 && Math.abs(value) < 0.001 ? value.toPrecision(2) : value.toFixed(3);
      };
      this.output.textContent = `round ${round.round}`;
      this.slider.setAttribute("aria-valuetext", `round ${round.round}`);
      this.facts[0].textContent = number(round.contraction);
      this.facts[1].textContent = `${number(round.column_sum_min)} to ${number(round.column_sum_max)}`;
      this.canvas.setAttribute("aria-label", `Mixing weights in round ${round.round}, ` +
        `${this.rows.length} receivers by ${this.columns.length} sources, contraction ${number(round.contraction)}`);
    }

    hover(event) {
      const box = this.canvas.getBoundingClientRect();
      const c = Math.floor((event.clientX - box.left - this.strip) / this.cell);
      const r = Math.floor((event.clientY - box.top - this.strip) / this.rowHeight);
      if (c < 0 || r < 0 || c >= this.columns.length || r >= this.rows.length) return hideTooltip();
      const [row, column, round] = [this.rows[r], this.columns[c], this.round];
      const text = element("div");
      text.append(element("b", this.weight(row, column).toFixed(3)),
                  ` of client ${round.receivers[row]} comes from client ${round.sources[column]}`);
      const [to, from] = [round.receiver_distributions[row], round.source_distributions[column]];
      if (to && from) text.append(element("br"), `distribution ${to} takes from ${to === from ? "its own" : from}`);
      showTooltip(event, text);
    }
  }

  const maps = [...document.querySelectorAll("figure[data-mixing]")]
    .map((figure) => new HeatMap(figure, data.mixing[Number(figure.dataset.mixing)].rounds));
  const sortBox = document.getElementById("sort");
  const drawAll = () => maps.forEach((map) => { map.sorted = Boolean(sortBox && sortBox.checked); map.draw(); });
  if (sortBox) sortBox.addEventListener("change", drawAll);
  window.addEventListener("resize", drawAll);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); drawAll(); });
  drawAll();
})();
