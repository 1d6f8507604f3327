// The controls above the pictures, the keys that work everywhere, and the start.

function radios(box, name, choices, chosen, choose) {
  for (const [value, words] of choices) {
    const button = element('input', {type: 'radio', name, value, checked: value === String(chosen)});
    button.addEventListener('change', () => choose(value));
    byId(box).append(element('label', {}, button, ' ' + words));
  }
}

function selection(id, choices, choose) {
  const box = byId(id);
  for (const [value, words] of choices) box.append(element('option', {value, textContent: words}));
  box.addEventListener('change', () => choose(box.value));
}

function startControls() {
  byId('title').textContent = given.title;
  byId('notes').textContent = given.notes.join('; ');
  byId('history').textContent = given.history.join(' | ') || 'an unknown program';
  radios('parts', 'part', parts.map((part, i) => [String(i), part.name]), state.part,
      (value) => state.set({part: Number(value), pinned: null}, true));
  byId('parts').hidden = parts.length === 1;
  radios('views', 'view', [['map', 'map'], ['lines', 'lines']], state.view, (view) => state.set({view}));
  selection('scale', Object.entries(SCALES), (scale) => state.set({scale}));
  selection('ramp', Object.keys(RAMPS).map((name) => [name, name]), (ramp) => state.set({ramp}));
  selection('theme', [['auto', 'as the system'], ['light', 'light'], ['dark', 'dark']],
      (theme) => state.set({theme}));
  const keys = [['Tab', 'from part to part of the page'],
    ['arrows', 'another head or block; inside the map another cell, inside a text another token'],
    ['Home, End', 'first or last token'], ['Esc', 'let go of the chosen token']];
  byId('keys').replaceChildren(...keys.flatMap(([key, what]) =>
    [element('dt', {textContent: key}), element('dd', {textContent: what})]));
  const bits = Math.min(...given.parts.map((part) => part.bits));
  byId('accuracy').textContent = `Weights are stored as ${bits} bits and lie within ` +
      `${bits === 16 ? '0.002' : '0.4'} points of percent of the file's.`;
}

function showControls() {
  for (const name of ['scale', 'ramp', 'theme']) byId(name).value = state[name];
  for (const input of document.querySelectorAll('input[type=radio]')) {
    input.checked = input.value === String(state[input.name]);
  }
  document.documentElement.dataset.theme = state.dark() ? 'dark' : 'light';
  byId('map-box').hidden = state.view !== 'map';
  byId('lines-box').hidden = state.view !== 'lines';
}

function redraw(changed, all, speak) {
  const any = (...names) => all || names.some((name) => changed.has(name));
  const head = ['part', 'block', 'head', 'scale', 'ramp', 'theme', 'view'];
  if (any(...head)) {
    if (state.view === 'map') drawMap();
    else drawLegend(new Scale(state.scale, state.map()));
  }
  if (any('part')) drawTexts();
  else if (any(...head, 'pinned', 'pointed')) colorTexts();
  if (any('pinned', 'pointed') && state.view === 'map') drawOver();
  if (any(...head, 'pinned', 'pointed') && state.view === 'lines') drawLines();
  if (any(...head, 'pinned', 'pointed')) drawWords(speak);
}

startControls();
state.listeners.push(showControls);
startThumbnails();
startMap();
startLines();
startTexts();
state.listeners.push(redraw);
document.addEventListener('keydown', (event) => {
  if (event.target.matches?.('input, select')) return;
  if (event.key === 'Escape') state.set({pointed: null, pinned: null}, true);
  moveHead(event);
});
addEventListener('resize', () => state.set({all: true}));
addEventListener('hashchange', () => state.set(state.fromAddress()));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => state.set({all: true}));
state.set(state.fromAddress());
