// The same head as lines: queries on the left, keys on the right, a line as strong as the weight.

const MOST_LINES = 20000;
const LINE_HEIGHT = 20;

let lineLayout = null;

function drawLines() {
  const part = state.current();
  const map = state.map();
  const rows = Math.max(part.queries, part.keys);
  const canvas = byId('lines');
  const measure = canvas.getContext('2d');
  measure.font = LABEL_FONT;
  const longest = (side) => Math.min(150, Array.from({length: part.count(side)},
      (unused, i) => measure.measureText(part.short(side, i)).width).reduce((a, b) => Math.max(a, b), 44));
  const leftWide = Math.ceil(longest(QUERY)) + 16;
  const rightWide = Math.ceil(longest(KEY)) + 16;
  const width = Math.max(leftWide + rightWide + 120, Math.min(560, byId('head').clientWidth - 4));
  const height = rows * LINE_HEIGHT + 24;
  lineLayout = {leftWide, rightWide, width, height};
  const drawing = sizedCanvas(canvas, width, height);
  drawing.fillStyle = pageColor('page');
  drawing.fillRect(0, 0, width, height);
  const scale = new Scale(state.scale, map);
  const shown = state.active();
  const y = (i) => 24 + (i + 0.5) * LINE_HEIGHT;
  const accent = pageColor('accent');

  // Of a token that is chosen or pointed at only its lines are drawn; else all, the strongest last.
  const lines = [];
  const add = (q, k) => {
    const weight = map.at(q, k);
    if (weight > 0) lines.push([Math.min(1, scale.place(weight, q)), q, k]);
  };
  const pointed = state.pointed !== null || state.pinned !== null;
  if (pointed) {
    for (let i = 0; i < part.count(1 - shown.side); ++i) {
      add(...(shown.side === QUERY ? [shown.index, i] : [i, shown.index]));
    }
  } else {
    for (let q = 0; q < part.queries; ++q) {
      for (let k = 0; k < part.keys; ++k) add(q, k);
    }
  }
  lines.sort((a, b) => a[0] - b[0]);
  drawing.strokeStyle = accent;
  for (const [place, q, k] of lines.slice(-MOST_LINES)) {
    if (place < 0.004) continue;
    drawing.globalAlpha = pointed ? Math.max(0.08, place) : place;
    drawing.lineWidth = 0.75 + 3.25 * place;
    drawing.beginPath();
    drawing.moveTo(leftWide, y(q));
    drawing.lineTo(width - rightWide, y(k));
    drawing.stroke();
  }
  drawing.globalAlpha = 1;

  const token = (side, i) => {
    const chosen = shown.side === side && shown.index === i;
    const x = side === QUERY ? 0 : width - rightWide;
    const wide = side === QUERY ? leftWide : rightWide;
    if (shown.side !== side) {
      const weight = side === KEY ? map.at(shown.index, i) : map.at(i, shown.index);
      if (weight > 0) {
        drawing.globalAlpha = 0.75 * Math.min(1, scale.place(weight, side === KEY ? shown.index : i));
        drawing.fillStyle = accent;
        drawing.fillRect(x, y(i) - LINE_HEIGHT / 2 + 1, wide, LINE_HEIGHT - 2);
        drawing.globalAlpha = 1;
      }
    }
    drawing.font = (chosen ? 'bold ' : '') + LABEL_FONT;
    drawing.fillStyle = pageColor('ink');
    drawing.textBaseline = 'middle';
    drawing.textAlign = side === QUERY ? 'right' : 'left';
    drawing.fillText(clipped(drawing, part.short(side, i), wide - 12), side === QUERY ? wide - 8 : x + 8, y(i));
    if (chosen) {
      drawing.strokeStyle = accent;
      drawing.lineWidth = 2;
      drawing.strokeRect(x + 1, y(i) - LINE_HEIGHT / 2 + 1, wide - 2, LINE_HEIGHT - 2);
    }
  };
  for (let i = 0; i < part.queries; ++i) token(QUERY, i);
  for (let i = 0; i < part.keys; ++i) token(KEY, i);
  drawing.fillStyle = pageColor('faint');
  drawing.font = '12px system-ui, "DejaVu Sans", sans-serif';
  drawing.textAlign = 'right';
  drawing.fillText('queries', leftWide - 8, 12);
  drawing.textAlign = 'left';
  drawing.fillText('keys', width - rightWide + 8, 12);
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `lines of ${part.title(state.block, state.head)}, from each query to ` +
      'the keys it looks at; the table and the tokens say the same');
}

function lineTarget(event) {
  const box = byId('lines').getBoundingClientRect();
  const x = event.clientX - box.left;
  const i = Math.floor((event.clientY - box.top - 24) / LINE_HEIGHT);
  const side = x < lineLayout.leftWide ? QUERY : x > lineLayout.width - lineLayout.rightWide ? KEY : null;
  if (side === null || i < 0 || i >= state.current().count(side)) return null;
  return {side, index: i, other: null};
}

function startLines() {
  const canvas = byId('lines');
  canvas.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'mouse') point(lineTarget(event));
  });
  canvas.addEventListener('pointerleave', () => point(null));
  canvas.addEventListener('click', (event) => {
    const target = lineTarget(event);
    if (target) state.set({pointed: null, pinned: target}, true);
  });
}
