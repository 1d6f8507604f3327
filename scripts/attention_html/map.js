// One head large: queries down, keys across, a value in each cell where there is room.

const MOST_CELL = 46;
const LEAST_CELL = 1.5;
const LABEL_FONT = '12px ui-monospace, "DejaVu Sans Mono", monospace';
const MOST_LABEL = 96;
const LABEL_HEIGHT = 13;
const LEAST_FOR_NUMBERS = 25;
const LEAST_FOR_DOTS = 14;

let layout = null;  // of the map as it was last drawn

function sizedCanvas(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  const drawing = canvas.getContext('2d');
  drawing.setTransform(ratio, 0, 0, ratio, 0, 0);
  return drawing;
}

// As much of a label as a width holds.
function clipped(drawing, text, width) {
  if (drawing.measureText(text).width <= width) return text;
  const marks = Array.from(text);
  while (marks.length > 1 && drawing.measureText(marks.join('') + '…').width > width) marks.pop();
  return marks.join('') + '…';
}

function mapLayout(drawing, part) {
  drawing.font = LABEL_FONT;
  const longest = (side) => {
    let most = 8;
    for (let i = 0; i < part.count(side); ++i) {
      most = Math.max(most, drawing.measureText(part.short(side, i)).width);
      if (most > MOST_LABEL) return MOST_LABEL;
    }
    return Math.ceil(most);
  };
  const left = longest(QUERY) + 10;
  const labels = longest(KEY);
  const room = Math.max(240, byId('head').clientWidth - 4) - left - 2;
  const high = Math.max(260, innerHeight * 0.72);
  const cellFor = (top) => {
    const fitting = Math.min(MOST_CELL, room / part.keys, (high - top) / part.queries);
    return fitting < 4 ? Math.max(LEAST_CELL, fitting) : Math.floor(fitting);
  };
  const sparse = cellFor(22) < LABEL_HEIGHT;
  const upright = sparse || cellFor(22) >= labels + 4;
  const top = upright ? 22 : labels + 12;
  const cell = cellFor(top);
  return {left, top, cell, upright, sparse, width: left + cell * part.keys + 2,
    height: top + cell * part.queries + 2};
}

// Every how many positions a label fits where not all of them do: 2, 5, 10, 20, ...
function sparseStep(room, cell) {
  for (let step = 1; ; step *= 10) {
    for (const times of [1, 2, 5]) {
      if (step * times * cell >= room) return step * times;
    }
  }
}

// Where each position has room it has its token; else some have their numbers, since every other
// token would read as another text. The ones in `strong` stand out, by their tokens.
function drawLabels(drawing, part, strong) {
  const {left, top, cell, upright, sparse} = layout;
  const steps = sparse ? [sparseStep(LABEL_HEIGHT, cell),
    sparseStep(8 * String(part.at[KEY].at(-1)).length + 10, cell)] : [1, 1];
  const lit = (side, i) => strong && ((strong.side === side && strong.index === i) ||
      (strong.side !== side && strong.other === i));
  const label = (side, i) => {
    if (!strong && i % steps[side] !== 0) return;
    if (strong && !lit(side, i)) return;
    drawing.save();
    drawing.fillStyle = pageColor(strong ? 'accent' : 'ink');
    drawing.font = (strong ? 'bold ' : '') + LABEL_FONT;
    const plain = sparse && !strong ? part.at[side][i] : part.short(side, i);
    const text = clipped(drawing, plain, MOST_LABEL);
    const middle = (i + 0.5) * cell;
    const backing = () => {
      if (!strong) return;
      drawing.fillStyle = pageColor('page');
      const wide = drawing.measureText(text).width;
      const from = drawing.textAlign === 'right' ? -wide : drawing.textAlign === 'center' ? -wide / 2 : 0;
      drawing.fillRect(from - 3, -8, wide + 6, 16);
      drawing.fillStyle = pageColor('accent');
    };
    drawing.textBaseline = 'middle';
    if (side === QUERY) {
      drawing.textAlign = 'right';
      drawing.translate(left - 6, top + middle);
    } else if (upright) {
      drawing.textAlign = 'center';
      drawing.translate(left + middle, top - 10);
    } else {
      drawing.textAlign = 'left';
      drawing.translate(left + middle, top - 6);
      drawing.rotate(-Math.PI / 2);
    }
    backing();
    drawing.fillText(text, 0, 0);
    drawing.restore();
  };
  for (let i = 0; i < part.queries; ++i) label(QUERY, i);
  for (let i = 0; i < part.keys; ++i) label(KEY, i);
}

function drawMap() {
  const part = state.current();
  const map = state.map();
  const canvas = byId('map');
  layout = mapLayout(canvas.getContext('2d'), part);
  const {left, top, cell} = layout;
  const drawing = sizedCanvas(canvas, layout.width, layout.height);
  sizedCanvas(byId('map-over'), layout.width, layout.height);
  const colors = rampColors(state.ramp);
  const masked = hexColor(maskedColor());
  const scale = new Scale(state.scale, map);
  const cells = element('canvas', {width: map.keys, height: map.queries});
  const pixels = cells.getContext('2d');
  const image = pixels.createImageData(map.keys, map.queries);
  for (let q = 0; q < map.queries; ++q) {
    for (let k = 0; k < map.keys; ++k) {
      const color = cellColor(map.at(q, k), q, scale, colors, masked);
      image.data.set([...color, 255], 4 * (q * map.keys + k));
    }
  }
  pixels.putImageData(image, 0, 0);
  drawing.fillStyle = pageColor('page');
  drawing.fillRect(0, 0, layout.width, layout.height);
  drawing.imageSmoothingEnabled = false;
  drawing.drawImage(cells, left, top, cell * map.keys, cell * map.queries);
  drawing.textAlign = 'center';
  drawing.textBaseline = 'middle';
  drawing.font = (cell < 34 ? '11px' : '13px') + ' system-ui, "DejaVu Sans", sans-serif';
  for (let q = 0; q < map.queries && cell >= LEAST_FOR_DOTS; ++q) {
    for (let k = 0; k < map.keys; ++k) {
      const weight = map.at(q, k);
      const x = left + (k + 0.5) * cell;
      const y = top + (q + 0.5) * cell;
      if (weight === MASKED) {
        drawing.fillStyle = pageColor('masked-ink');
        drawing.fillRect(x - 1, y - 1, 2, 2);
      } else if (cell >= LEAST_FOR_NUMBERS) {
        drawing.fillStyle = inkOn(cellColor(weight, q, scale, colors, masked));
        drawing.fillText(Number.isNaN(weight) ? '?' : String(Math.round(100 * weight)), x, y + 0.5);
      }
    }
  }
  if (cell >= 10) {  // a hair between the cells
    drawing.fillStyle = pageColor('page');
    for (let k = 0; k <= map.keys; ++k) drawing.fillRect(left + k * cell - 0.5, top, 1, cell * map.queries);
    for (let q = 0; q <= map.queries; ++q) drawing.fillRect(left, top + q * cell - 0.5, cell * map.keys, 1);
  }
  drawLabels(drawing, part, null);
  drawLegend(scale);
  byId('map-box').setAttribute('aria-label', `attention map of ${part.title(state.block, state.head)}, ` +
      `${map.queries} queries down by ${map.keys} keys across; the arrow keys go from cell to cell`);
  drawOver();
}

// What is pointed at, on a canvas of its own: nothing else need be drawn again.
function drawOver() {
  const canvas = byId('map-over');
  const drawing = canvas.getContext('2d');
  drawing.clearRect(0, 0, layout.width, layout.height);
  const shown = state.active();
  const part = state.current();
  const {left, top, cell} = layout;
  // Around small cells, over the edges of large ones.
  const out = cell < 10 ? 2 : 0;
  const frame = (x, y, wide, high) => {
    for (const [color, width] of [['#ffffff', 4], ['#000000', 2]]) {
      drawing.strokeStyle = color;
      drawing.lineWidth = width;
      drawing.strokeRect(x - out, y - out, wide + 2 * out, high + 2 * out);
    }
  };
  if (shown.side === QUERY) frame(left, top + shown.index * cell, part.keys * cell, cell);
  else frame(left + shown.index * cell, top, cell, part.queries * cell);
  if (shown.other !== null) {
    const [q, k] = shown.side === QUERY ? [shown.index, shown.other] : [shown.other, shown.index];
    frame(left + k * cell, top + q * cell, cell, cell);
  }
  drawLabels(drawing, part, shown);
}

// What stands under the mouse: a cell, a query's label or a key's label.
function mapTarget(event) {
  const box = byId('map').getBoundingClientRect();
  const part = state.current();
  const k = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
  const q = Math.floor((event.clientY - box.top - layout.top) / layout.cell);
  const across = k >= 0 && k < part.keys;
  const down = q >= 0 && q < part.queries;
  if (across && down) return {side: QUERY, index: q, other: k};
  if (down && k < 0) return {side: QUERY, index: q, other: null};
  if (across && q < 0) return {side: KEY, index: k, other: null};
  return null;
}

function sameTarget(a, b) {
  return a === b || (a && b && a.side === b.side && a.index === b.index && a.other === b.other);
}

function point(target) {
  if (!sameTarget(target, state.pointed)) state.set({pointed: target});
}

function moveCell(event) {
  const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
    Home: [0, -Infinity], End: [0, Infinity]}[event.key];
  if (!steps || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  const part = state.current();
  const shown = state.active();
  let [q, k] = shown.side === QUERY ? [shown.index, shown.other] : [shown.other, shown.index];
  const within = (value, step, count) =>
      value === null ? 0 : Math.max(0, Math.min(count - 1, value + step));
  const before = [q, k];
  if (steps[0] !== 0) q = within(q, steps[0], part.queries);
  if (steps[1] !== 0) k = within(k, steps[1], part.keys);
  if (before[0] === null) q ??= part.queries - 1;
  state.set({pointed: null, pinned: {side: QUERY, index: q, other: k}}, true);
}

function startMap() {
  const box = byId('map-box');
  box.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'mouse') point(mapTarget(event));
  });
  box.addEventListener('pointerleave', () => point(null));
  box.addEventListener('click', (event) => {
    const target = mapTarget(event);
    if (target) state.set({pointed: null, pinned: target}, true);
  });
  box.addEventListener('keydown', moveCell);
  byId('save').addEventListener('click', () => {
    const canvas = byId(state.view === 'map' ? 'map' : 'lines');
    const name = `${state.current().name} ${state.current().title(state.block, state.head)}`;
    canvas.toBlob((picture) => {
      const link = element('a', {href: URL.createObjectURL(picture),
        download: name.replace(/[^A-Za-z0-9]+/g, '-') + '.png'});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  });
}
