// Weights as colours. The ramps get brighter along the way and differ for every kind of colour
// vision: viridis (van der Walt and Smith 2015), cividis (Nuñez, Anderton and Renslow 2018), greys.

const RAMPS = {
  viridis: ['440154', '482878', '3e4a89', '31688e', '26828e', '1f9e89', '35b779', '6dcd59', 'b4de2c', 'fde725'],
  cividis: ['00224e', '123570', '3b496c', '575d6d', '707173', '8a8678', 'a59c74', 'c3b369', 'e1cc55', 'fee838'],
  grey: ['000000', 'ffffff'],
};

const SCALES = {
  'fixed': '0 to 100 %, all heads alike',
  'row': 'to the largest of each query',
  'head': 'bright: to the head’s 98th percentile',
  'root': 'root: small weights apart',
};

function rampColors(name) {
  const stops = RAMPS[name].map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return Array.from({length: 256}, (unused, i) => {
    const place = i / 255 * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((from, c) => Math.round(from + (stops[low + 1][c] - from) * (place - low)));
  });
}

function cssColor([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

// Black or white, whichever is read better on a colour (relative luminance of WCAG 2).
function inkOn(color) {
  const [red, green, blue] = color.map((byte) => {
    const part = byte / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000000' : '#ffffff';
}

function pageColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function hexColor(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

// Greys are values on a grey ramp, so what is masked is sand there.
function maskedColor() {
  return state.ramp === 'grey' ? (state.dark() ? '#7a5a2e' : '#e9cf9f') : pageColor('masked');
}

const NOT_FINITE = '#d81b60';

// How a head's weights become places on the ramp, 0 to 1.
class Scale {
  constructor(kind, map) {
    this.kind = kind;
    this.rows = null;  // the largest of each query
    this.most = 1;     // the weight at the ramp's end, and of all beyond
    if (kind === 'row') {
      this.rows = Array.from({length: map.queries}, (unused, q) => {
        let most = 0;
        for (let k = 0; k < map.keys; ++k) {
          const weight = map.at(q, k);
          if (weight > most) most = weight;
        }
        return most;
      });
    }
    if (kind === 'head') {
      // Not the largest: a causal map's first query has but one key, at 100 %.
      const seen = [];
      for (let q = 0; q < map.queries; ++q) {
        for (let k = 0; k < map.keys; ++k) {
          const weight = map.at(q, k);
          if (weight >= 0) seen.push(weight);
        }
      }
      seen.sort((a, b) => a - b);
      this.most = seen[Math.floor(0.98 * (seen.length - 1))] || 1;
    }
  }

  place(weight, query) {
    if (this.kind === 'root') return Math.sqrt(weight);
    if (this.kind === 'row') return weight / (this.rows[query] || 1);
    return weight / this.most;
  }

  // The weight at a place, for the marks under the colour bar.
  mark(place) {
    if (this.kind === 'row') return place === 0 ? '0' : place === 1 ? 'row’s largest' : '';
    const weight = this.kind === 'root' ? place * place : place * this.most;
    const more = this.kind === 'head' && place === 1 && weight < 1 ? '≥ ' : '';
    return more + +(100 * weight).toPrecision(3) + ' %';
  }
}

// The colour of a cell as [red, green, blue].
function cellColor(weight, query, scale, colors, masked) {
  if (weight === MASKED) return masked;
  if (Number.isNaN(weight)) return hexColor(NOT_FINITE);
  return colors[Math.round(255 * Math.min(1, scale.place(weight, query)))];
}

function drawLegend(scale) {
  const box = byId('legend');
  const colors = rampColors(state.ramp);
  const canvas = element('canvas', {width: 256, height: 1});
  const drawing = canvas.getContext('2d');
  colors.forEach((color, i) => {
    drawing.fillStyle = cssColor(color);
    drawing.fillRect(i, 0, 1, 1);
  });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'colour bar: ' + SCALES[state.scale]);
  const bar = element('span', {className: 'bar'}, canvas,
      element('span', {}, ...[0, 0.25, 0.5, 0.75, 1].map((place) => {
        const mark = element('span', {textContent: scale.mark(place)});
        mark.style.left = 100 * place + '%';
        return mark;
      })));
  const masked = element('span', {className: 'swatch', textContent: '·'});
  masked.style.background = maskedColor();
  const lines = state.view === 'lines';
  box.replaceChildren(lines ? 'a line is as strong as its weight' : bar,
      lines ? '' : 'rows: queries, columns: keys' + (layout.cell >= LEAST_FOR_NUMBERS ? ', numbers: percent' : ''),
      element('span', {}, masked, 'masked: may not be seen'));
}
