// What the picture shows, as a sentence and as a table: for everyone, and for screen readers first.

const MOST_ROWS = 16;
const MOST_NAMED = 4;

// The other side's weights of the token that is shown, largest first, without those masked.
function ranked(shown) {
  const part = state.current();
  const map = state.map();
  const all = Array.from({length: part.count(1 - shown.side)}, (unused, i) => ({
    index: i,
    weight: shown.side === QUERY ? map.at(shown.index, i) : map.at(i, shown.index),
  }));
  const seen = all.filter((one) => one.weight !== MASKED);
  const size = (one) => Number.isNaN(one.weight) ? 2 : one.weight;
  seen.sort((a, b) => size(b) - size(a) || a.index - b.index);
  return {seen, masked: all.length - seen.length};
}

function sentence(shown) {
  const part = state.current();
  const {seen, masked} = ranked(shown);
  const other = 1 - shown.side;
  const who = `${shown.side === QUERY ? 'query' : 'key'} ${part.label(shown.side, shown.index)}`;
  const verb = shown.side === QUERY ? 'looks at' : 'is looked at by';
  const named = seen.filter((one) => !(one.weight < 0.005)).slice(0, MOST_NAMED)
      .map((one) => `${part.label(other, one.index)}: ${percent(one.weight)}`);
  let text = `${who} ${verb} ${named.length > 0 ? named.join(', ') : 'none by 0.5 % or more'}`;
  if (masked > 0) text += `; ${masked} masked`;
  if (shown.other !== null) {
    const [q, k] = shown.side === QUERY ? [shown.index, shown.other] : [shown.other, shown.index];
    text = `query ${part.label(QUERY, q)} on key ${part.label(KEY, k)}: ${percent(state.map().at(q, k))}. ` + text;
  }
  return text + '.';
}

function drawTable(shown) {
  const part = state.current();
  const {seen, masked} = ranked(shown);
  const other = 1 - shown.side;
  const caption = (shown.side === QUERY ? 'what query ' : 'who looks at key ') +
      part.label(shown.side, shown.index) + (shown.side === QUERY ? ' looks at' : '') +
      `, ${part.title(state.block, state.head)}`;
  const heading = element('tr', {},
      element('th', {scope: 'col', textContent: other === KEY ? 'key' : 'query'}),
      element('th', {scope: 'col', textContent: part.labelled(other) ? 'token' : ''}),
      element('th', {scope: 'col', className: 'number', textContent: 'weight'}), element('td'));
  const line = (at, token, weight, words) => {
    const length = element('span', {className: 'length'});
    length.style.width = `${100 * Math.min(1, weight)}%`;
    return element('tr', {}, element('th', {scope: 'row', textContent: at}),
        element('td', {className: 'token', textContent: token, title: token}),
        element('td', {className: 'number', textContent: words}),
        element('td', {className: 'measure'}, Number.isNaN(weight) ? '' : length));
  };
  const rows = seen.slice(0, MOST_ROWS).map((one) => line(part.at[other][one.index],
      part.tokens[other][one.index] ?? '', one.weight, percent(one.weight)));
  if (seen.length > MOST_ROWS) {
    const rest = seen.slice(MOST_ROWS);
    const sum = rest.reduce((total, one) => total + one.weight, 0);
    rows.push(line('', `${rest.length} others`, sum, percent(sum)));
  }
  if (masked > 0) {
    rows.push(element('tr', {}, element('th', {scope: 'row'}),
        element('td', {className: 'faint', textContent: `${masked} masked`}), element('td'), element('td')));
  }
  byId('weights').replaceChildren(element('caption', {textContent: caption}),
      element('thead', {}, heading), element('tbody', {}, ...rows));
}

function drawWords(speak) {
  const part = state.current();
  const shown = state.active();
  const text = sentence(shown);
  byId('head-name').textContent = part.title(state.block, state.head);
  byId('head-words').textContent = summary(part, state.block, state.head);
  byId('sentence').textContent = text;
  drawTable(shown);
  // Only what was done on purpose is read out: following the mouse would never end.
  if (speak) byId('said').textContent = `${part.title(state.block, state.head)}: ${text}`;
}
