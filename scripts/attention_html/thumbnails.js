// All heads at once: a row for each block, a column for each head.

const MOST_THUMBNAIL = 96;

function thumbnailSize(part) {
  // Beside the names of the blocks and within the width that page.css leaves to the overview.
  const room = (innerWidth > 720 ? Math.min(460, 0.34 * innerWidth) : innerWidth - 40) - 100;
  return Math.max(24, Math.min(MOST_THUMBNAIL, Math.floor(room / part.heads.length) - 4));
}

// Small enough for a thumbnail: each pixel the largest of the cells under it.
function drawThumbnail(canvas, map, scale, colors, masked) {
  const rows = Math.min(map.queries, MOST_THUMBNAIL);
  const cols = Math.min(map.keys, MOST_THUMBNAIL);
  canvas.width = cols;
  canvas.height = rows;
  const drawing = canvas.getContext('2d');
  const image = drawing.createImageData(cols, rows);
  for (let row = 0; row < rows; ++row) {
    for (let col = 0; col < cols; ++col) {
      let color = masked;
      let most = MASKED;
      const lastQuery = Math.ceil((row + 1) * map.queries / rows);
      const lastKey = Math.ceil((col + 1) * map.keys / cols);
      for (let q = Math.floor(row * map.queries / rows); q < lastQuery; ++q) {
        for (let k = Math.floor(col * map.keys / cols); k < lastKey; ++k) {
          const weight = map.at(q, k);
          if (weight > most || Number.isNaN(weight)) {
            most = weight;
            color = cellColor(weight, q, scale, colors, masked);
          }
        }
      }
      image.data.set([...color, 255], 4 * (row * cols + col));
    }
  }
  drawing.putImageData(image, 0, 0);
}

function drawThumbnails() {
  const part = state.current();
  const size = thumbnailSize(part);
  const colors = rampColors(state.ramp);
  const masked = hexColor(maskedColor());
  // Thumbnails keep the proportions of a map, as far as it can still be seen.
  const wide = Math.max(8, Math.round(size * Math.min(1, part.keys / part.queries)));
  const high = Math.max(8, Math.round(size * Math.min(1, part.queries / part.keys)));
  const heading = element('tr', {}, element('td'), ...part.heads.map((head, i) => element(
      'th', {scope: 'col', textContent: size < 44 || i > 0 ? String(head) : 'head ' + head})));
  const rows = part.blocks.map((number, block) => {
    const cells = part.heads.map((unused, head) => {
      const canvas = element('canvas');
      const map = part.head(block, head);
      drawThumbnail(canvas, map, new Scale(state.scale, map), colors, masked);
      canvas.style.width = wide + 'px';
      canvas.style.height = high + 'px';
      const button = element('button', {type: 'button', title: part.title(block, head)}, canvas);
      button.dataset.block = block;
      button.dataset.head = head;
      button.setAttribute('aria-label', `${part.title(block, head)}: ${summary(part, block, head)}`);
      return element('td', {}, button);
    });
    return element('tr', {}, element('th', {scope: 'row', textContent: `${part.outer} ${number}`}), ...cells);
  });
  byId('thumbnails').replaceChildren(element('thead', {}, heading), element('tbody', {}, ...rows));
  markThumbnail(false);
}

function markThumbnail(focus) {
  for (const button of byId('thumbnails').querySelectorAll('button')) {
    const chosen = Number(button.dataset.block) === state.block && Number(button.dataset.head) === state.head;
    button.setAttribute('aria-pressed', chosen);
    button.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) button.focus();  // which also scrolls to it
  }
}

// Arrows go along the heads and the blocks.
function moveHead(event) {
  const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  if (!steps || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  const part = state.current();
  const turn = (value, count) => (value + count) % count;
  const focus = byId('thumbnails').contains(document.activeElement);
  state.set({block: turn(state.block + steps[0], part.blocks.length),
    head: turn(state.head + steps[1], part.heads.length)}, !focus);
  markThumbnail(focus);
}

function startThumbnails() {
  const table = byId('thumbnails');
  table.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (button) state.set({block: Number(button.dataset.block), head: Number(button.dataset.head)});
  });
  table.addEventListener('keydown', moveHead);
  state.listeners.push((changed, all) => {
    if (all || ['part', 'scale', 'ramp', 'theme'].some((name) => changed.has(name))) drawThumbnails();
    else if (changed.has('block') || changed.has('head')) markThumbnail(false);
  });
}
