// The tokens as two texts, queries and keys. The one that is chosen colours the other text: what a
// query looks at, or who looks at a key.

function drawTexts() {
  const part = state.current();
  const texts = [QUERY, KEY].map((side) => {
    const name = side === QUERY ? 'queries: choose one to see what it looks at'
                                : 'keys: choose one to see who looks at it';
    const box = element('div', {className: 'text', id: 'text-' + side});
    box.setAttribute('role', 'listbox');
    box.setAttribute('aria-label', name);
    box.setAttribute('aria-orientation', 'horizontal');
    for (let i = 0; i < part.count(side); ++i) {
      const token = element('span', {className: 'token', textContent: part.short(side, i),
        title: part.label(side, i)});
      token.setAttribute('role', 'option');
      token.dataset.index = i;
      box.append(token);
    }
    return element('div', {}, element('div', {className: 'faint', textContent: name}), box);
  });
  byId('texts').replaceChildren(...texts);
  colorTexts();
}

function textTokens(side) {
  return byId('text-' + side).children;
}

function colorTexts() {
  const part = state.current();
  const map = state.map();
  const shown = state.active();
  const scale = new Scale(state.scale, map);
  const colors = rampColors(state.ramp);
  const masked = hexColor(maskedColor());
  for (const side of [QUERY, KEY]) {
    const tokens = textTokens(side);
    for (let i = 0; i < tokens.length; ++i) {
      const token = tokens[i];
      const chosen = side === shown.side && i === shown.index;
      const held = i === (state.pinned?.side === side ? state.pinned.index : 0);
      token.setAttribute('aria-selected', chosen);
      token.tabIndex = held ? 0 : -1;
      if (side === shown.side) {
        token.style.background = token.style.color = '';
        token.classList.remove('masked');
        token.setAttribute('aria-label', part.label(side, i));
        continue;
      }
      const [q, k] = side === KEY ? [shown.index, i] : [i, shown.index];
      const weight = map.at(q, k);
      token.classList.toggle('masked', weight === MASKED);
      token.setAttribute('aria-label', `${part.label(side, i)}, ${percent(weight)}`);
      if (weight === MASKED) {
        token.style.background = token.style.color = '';
        continue;
      }
      const color = cellColor(weight, q, scale, colors, masked);
      token.style.background = cssColor(color);
      token.style.color = inkOn(color);
    }
  }
}

function tokenOf(event) {
  const token = event.target.closest?.('.token');
  const box = token?.closest('.text');
  return box ? {side: Number(box.id.at(-1)), index: Number(token.dataset.index), other: null} : null;
}

// Along a text, and from one to the other.
function moveToken(event) {
  const at = tokenOf(event);
  if (!at || event.ctrlKey || event.altKey || event.metaKey) return;
  const last = textTokens(at.side).length - 1;
  let {side, index} = at;
  switch (event.key) {
    case 'ArrowLeft': index = Math.max(0, index - 1); break;
    case 'ArrowRight': index = Math.min(last, index + 1); break;
    case 'Home': index = 0; break;
    case 'End': index = last; break;
    case 'ArrowDown':
    case 'ArrowUp':
      side = event.key === 'ArrowDown' ? KEY : QUERY;
      index = Math.min(index, textTokens(side).length - 1);
      break;
    default: return;
  }
  event.preventDefault();
  event.stopPropagation();
  textTokens(side)[index].focus();
}

function startTexts() {
  const box = byId('texts');
  // Not pointerover, which comes too when the page moves under a mouse that rests.
  box.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'mouse') point(tokenOf(event));
  });
  box.addEventListener('pointerleave', () => point(null));
  box.addEventListener('focusin', (event) => {
    const token = tokenOf(event);
    if (token) state.set({pointed: null, pinned: token});
  });
  box.addEventListener('click', (event) => {
    const token = tokenOf(event);
    if (token) state.set({pointed: null, pinned: token}, true);
  });
  box.addEventListener('keydown', moveToken);
}
